// The echo server answers every HTTP request with what reached it.
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, settings, slog.New(slog.NewJSONHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "echo-server: "+err.Error())
		os.Exit(1)
	}
}
