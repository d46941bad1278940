// The echo server answers every HTTP request with what reached it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	// shutdownCap bounds how long requests in flight may take once the server has stopped listening.
	shutdownCap   = 20 * time.Second
	headerTimeout = 10 * time.Second
	// idleTimeout is longer than load balancers keep their connections, so that they and not the server close them.
	idleTimeout = 620 * time.Second
	maxHeaders  = 64 << 10
)

func main() {
	settings, err := parseSettings(os.Args[1:], os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo-server: "+err.Error())
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, settings, slog.New(slog.NewJSONHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, "echo-server: "+err.Error())
		os.Exit(1)
	}
}

// settings are what the server is told when it starts.
type settings struct {
	address    string
	drainDelay time.Duration
	identity   identity
	response   response
}

// parseSettings reads the command line; where a flag is not given, the environment counts.
func parseSettings(arguments []string, getenv func(string) string, usage io.Writer) (settings, error) {
	s := settings{identity: identity{
		Namespace: getenv("POD_NAMESPACE"),
		Ingress:   getenv("INGRESS_NAME"),
		Service:   getenv("SERVICE_NAME"),
		Pod:       getenv("POD_NAME"),
		Node:      getenv("NODE_NAME"),
		PodIP:     getenv("POD_IP"),
		HostIP:    getenv("HOST_IP"),
	}}
	flags := flag.NewFlagSet("echo-server", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&s.address, "http-addr", orDefault(getenv("ECHO_HTTP_ADDR"), ":8080"), "where to listen (environment: ECHO_HTTP_ADDR)")
	delay := flags.String("drain-delay", orDefault(getenv("ECHO_DRAIN_DELAY"), "5s"),
		"how long to go on answering after SIGTERM (environment: ECHO_DRAIN_DELAY)")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if s.response, err = parseResponse(getenv); err != nil {
		return s, err
	}
	if s.drainDelay, err = time.ParseDuration(*delay); err != nil || s.drainDelay < 0 {
		return s, fmt.Errorf("ECHO_DRAIN_DELAY: %q is not a duration such as 5s or 500ms", *delay)
	}
	return s, nil
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// run serves until ctx ends, then drains and returns nil.
func run(ctx context.Context, s settings, log *slog.Logger) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	handler := newHandler(s.identity, s.response, log)
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaders,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	log.Info("listening", "address", listener.Addr().String())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return drain(server, handler, s.drainDelay, log)
	}
}

// drain fails the readiness probe and goes on answering until the endpoints have lost this pod; then it stops listening and
// lets the requests in flight end.
func drain(server *http.Server, handler *handler, delay time.Duration, log *slog.Logger) error {
	log.Info("draining", "delay", delay.String())
	handler.draining.Store(true)
	<-time.After(delay)
	ctx, cancel := context.WithTimeout(context.Background(), shutdownCap)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		log.Warn("ending with requests in flight", "error", err.Error())
		return server.Close()
	}
	log.Info("drained")
	return nil
}
