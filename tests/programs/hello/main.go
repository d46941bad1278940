// hello is a server for a test image. It must run as root, because it writes to its root file system and listens on port 80.
package main

import (
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hello: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Errorf("this program must run as root, but runs as user %d", uid)
	}
	if err := os.MkdirAll("/var/cache/hello", 0o700); err != nil {
		return err
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	server := &http.Server{Addr: ":80", ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = fmt.Fprintf(w, "Server name: %s\nURI: %s\n", name, r.RequestURI)
		})}
	return server.ListenAndServe()
}
