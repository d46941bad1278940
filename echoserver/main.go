// The echo server responds to every HTTP request with the request that it received.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "dev"

func main() {
	settings, err := parseSettings(os.Args[1:], os.Environ(), os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo-server: "+err.Error())
		os.Exit(2)
	}
	limitMemory(os.DirFS("/sys/fs/cgroup"))
	if err := run(untilSignal(), settings, slog.New(slog.NewJSONHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "echo-server: "+err.Error())
		os.Exit(1)
	}
}

// untilSignal returns a context that is cancelled at the first SIGINT or SIGTERM. A second one exits the process immediately.
func untilSignal() context.Context {
	signals := make(chan os.Signal, 2) // signal.NotifyContext could miss an early second signal
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(1)
	}()
	return ctx
}
