package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestOptions(t *testing.T) {
	type said struct {
		kind, namespace, selector string
		json                      bool
	}
	for name, c := range map[string]struct {
		arguments string
		want      said
		wrong     string // the error
	}{
		"a kind": {arguments: "pods", want: said{kind: "Pod"}},
		"flags after the kind": {arguments: "echoes -n default -l app=web,tier!=cache -o json",
			want: said{"Echo", "default", "app=web,tier!=cache", true}},
		"flags before the kind": {arguments: "--namespace=default --selector app -ojson deployments",
			want: said{"Deployment", "default", "app", true}},
		"nodes":                  {arguments: "nodes -l x=y", want: said{kind: "Node", selector: "x=y"}},
		"no kind":                {wrong: "watch requires one of pods, nodes, deployments, echoes, but got nothing"},
		"an unknown kind":        {arguments: "secrets", wrong: `watch requires one of pods, nodes, deployments, echoes, but got "secrets"`},
		"two kinds":              {arguments: "pods nodes", wrong: `but got "pods nodes"`},
		"an unknown flag":        {arguments: "pods --follow", wrong: "unknown flag: --follow"},
		"an unknown letter":      {arguments: "pods -f", wrong: "unknown shorthand flag: 'f' in -f"},
		"a flag without a value": {arguments: "pods -n", wrong: "flag needs an argument: 'n' in -n"},
		"a namespace of nodes":   {arguments: "nodes -n default", wrong: "--namespace: nodes are not namespaced: omit the flag"},
		"an invalid namespace":   {arguments: "pods -n A_B", wrong: `--namespace: "A_B" is not a valid namespace name`},
		"an empty namespace":     {arguments: "pods --namespace=", wrong: `--namespace: "" is not a valid namespace name`},
		"a bad selector": {arguments: "pods -l a=b=c",
			wrong: `--selector: "a=b=c" is not a valid label selector, such as app=web,tier!=cache`},
		"another format": {arguments: "pods -o yaml", wrong: `--output: "yaml" is not a known format: use json`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o := Options{}
			flags := pflag.NewFlagSet("watch", pflag.ContinueOnError)
			o.AddFlags(flags)
			err := flags.Parse(strings.Fields(c.arguments))
			if err == nil {
				err = o.Complete(flags.Args(), flags)
			}
			if c.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.wrong)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(said{o.kind.kind, o.namespace, o.selector, o.output == "json"}).To(BeComparableTo(c.want, cmp.AllowUnexported(said{})))
		})
	}
}
