// coredns is CoreDNS with only the plugins that the test cluster's Corefile uses. Including all plugins would triple the build time.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// Plugins handle a query in the order of this list.
	dnsserver.Directives = []string{"bind", "ready", "errors", "cache", "hosts", "template", "kubernetes"}
	coremain.Run()
}
