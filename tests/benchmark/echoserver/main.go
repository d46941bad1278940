// echoserver measures what a request costs the echo server and its peers, against a bare net/http hello on the same core in
// the same run. It prints a table in Markdown. Run it by `make benchmark-echoserver`.
//
// usage: echoserver [flags] "NAME PATH COMMAND"...
//
// PATH is what is asked for. In a command, {address} and {port} stand for where to listen, on 127.0.0.1. The first server is what the others are compared with.
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
	rounds := flag.Int("rounds", 5, "how many rounds; in each, every server gets its turn")
	requests := flag.Int("requests", 100000, "how many requests a server gets in a round")
	connections := flag.Int("connections", 50, "over how many connections")
	core := flag.Int("core", 0, "the core that the servers run on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, flag.Args(), plan{*rounds, *requests, *connections, *core})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "echoserver benchmark: "+err.Error())
		os.Exit(1)
	}
}

type plan struct{ rounds, requests, connections, core int }

// run measures all servers by turns, so that what else the machine does hits them alike.
func run(ctx context.Context, named []string, p plan) (err error) {
	if len(named) == 0 {
		return errors.New("no server is named: give NAME PATH COMMAND for each")
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
		s, err := start(ctx, words[0], words[1], words[2:], p.core)
		if err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
		servers = append(servers, s)
	}
	for range p.rounds {
		for _, s := range servers {
			if err := s.round(ctx, p); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return report(servers)
}

func report(servers []*server) error {
	fmt.Println("| server | binary MB | idle / loaded RSS MiB | CPU µs a request | CPU x hello |\n|---|---|---|---|---|")
	for _, s := range servers {
		loaded, err := s.residentMiB()
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.1f | %.1f / %.1f | %.1f | %.2f |\n", s.name, s.binaryMB, s.idle, loaded,
			float64(s.costs.median())/float64(time.Microsecond), float64(s.costs.median())/float64(servers[0].costs.median()))
	}
	return nil
}
