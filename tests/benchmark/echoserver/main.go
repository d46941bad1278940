// echoserver measures the CPU time, the throughput, and the latency of the echo server and of similar servers. It compares them with the
// first server, a minimal net/http server. It prints a Markdown table. Run it with `make benchmark-echoserver`.
//
// usage: echoserver [flags] "NAME PATH COMMAND"...
//
// PATH is the URL path of the requests. A command may begin with environment variables, such as PORT={port}. The benchmark replaces
// {address} with the address to listen on, and {port} with its port.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	core := flag.Int("core", 0, "the CPU core on which the servers run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, flag.Args(), *core)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "echoserver benchmark: "+err.Error())
		os.Exit(1)
	}
}

// In each of the rounds, each server receives this number of requests over this number of parallel connections.
const rounds, requests, connections = 5, 100_000, 50

// run measures the servers in turn on one CPU core, so that other load on the machine affects all of them alike.
func run(ctx context.Context, named []string, core int) (err error) {
	if len(named) == 0 {
		return errors.New("no servers: specify NAME PATH COMMAND for each server")
	}
	servers := make([]*server, 0, len(named))
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.stop())
		}
	}()
	for _, argument := range named {
		words := strings.Fields(argument)
		if len(words) < 3 {
			return fmt.Errorf("%q is not NAME PATH COMMAND", argument)
		}
		s, err := start(ctx, words[0], words[1], words[2:], core)
		if err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
		servers = append(servers, s)
	}
	for range rounds {
		for _, s := range servers {
			if err := s.round(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return report(servers)
}

func report(servers []*server) error {
	fmt.Println("| server | binary MB | idle / loaded RSS MiB | CPU µs per request | CPU x hello | requests per second on one core | p99 ms |\n" +
		"|---|---|---|---|---|---|---|")
	for _, s := range servers {
		loaded, err := s.residentMiB()
		if err != nil {
			return err
		}
		cost := s.costs.median()
		fmt.Printf("| %s | %.1f | %.1f / %.1f | %.1f | %.2f | %.0f | %.1f |\n", s.name, s.binaryMB, s.idle, loaded,
			float64(cost)/float64(time.Microsecond), float64(cost)/float64(servers[0].costs.median()), 1/s.times.median().Seconds(),
			float64(s.slow.median())/float64(time.Millisecond))
	}
	return nil
}
