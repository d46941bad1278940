// hello is a minimal HTTP server with which the benchmark compares other servers.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	server := &http.Server{Addr: os.Args[1], ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") })}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}
