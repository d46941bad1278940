// The echo server responds to every HTTP request with the request that it received.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/echo-operator/echo-operator/echoserver/server"
	"github.com/echo-operator/echo-operator/internal/process"
)

// version is set by the linker.
var version = "dev"

func main() {
	if len(os.Args) > 1 && os.Args[1] == "healthcheck" {
		exitOn(healthcheck(context.Background(), os.Args[2:], os.Environ(), os.Stdout), 1) // Docker reserves exit codes other than 0 and 1
		return
	}
	settings, err := server.ParseSettings(version, os.Args[1:], os.Environ(), os.Stdout)
	exitOn(err, 2)
	process.SetMemoryLimit(os.DirFS("/sys/fs/cgroup"))
	process.CollectSeldom()
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: settings.LogLevel}))
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // signal.NotifyContext could miss an early second signal
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals // the second signal stops the process immediately
		os.Exit(1)
	}()
	exitOn(server.Run(ctx, settings, version, log), 1)
}

// exitOn prints an error and exits with the given code, unless the error is nil. If the error only reports that the help or the version was
// printed, exitOn exits with code 0.
func exitOn(err error, code int) {
	switch {
	case err == nil:
	case errors.Is(err, pflag.ErrHelp):
		os.Exit(0)
	default:
		process.ReportError(os.Stderr, "echo-server", err)
		os.Exit(code)
	}
}
