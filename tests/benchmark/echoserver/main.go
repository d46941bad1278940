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
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

func main() {
	core := flag.Int("core", 0, "the CPU core on which the servers run")
	rounds := flag.Int("rounds", 5, "the number of times that each server is measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, flag.Args(), *core, *rounds)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "echoserver benchmark: "+err.Error())
		os.Exit(1)
	}
}

// In each round, each server receives this number of requests over this number of parallel connections.
const requests, connections = 100_000, 50

// run measures the servers in turn on one CPU core, so that other load on the machine affects all of them alike.
func run(ctx context.Context, named []string, core, rounds int) (err error) {
	var servers []*server
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
	for _, s := range servers {
		if s.loaded, err = s.residentMiB(); err != nil {
			return err
		}
	}
	report(servers)
	return nil
}

// report prints a row for each server, and a row with the limits in force for the echo server.
func report(servers []*server) {
	fmt.Println("| server | binary MB | idle / loaded RSS MiB | CPU µs per request | CPU x hello | requests per second on one core | p99 ms |\n" +
		"|---|---|---|---|---|---|---|")
	for _, s := range servers {
		cost := s.costs.median().Seconds()
		fmt.Printf("| %s | %.1f | %.1f / %.1f | %.1f | %.2f | %.0f | %.1f |\n", s.name, s.binaryMB, s.idle, s.loaded,
			1e6*cost, cost/servers[0].costs.median().Seconds(), 1/s.times.median().Seconds(), 1e3*s.slow.median().Seconds())
	}
	fmt.Println("| the goals of echo-server | 12 | 14 / 24 | - | 2.5 | 6/7 of go-httpbin's | - |")
}

type server struct {
	name, address, path string
	command             *exec.Cmd
	binaryMB            float64
	idle, loaded        float64 // RSS before and after all requests, in MiB
	// Each of these fields has one value per round: the CPU time and the time per request, and the 99th percentile of the latency.
	costs, times, slow durations
}

type durations []time.Duration

func (d durations) median() time.Duration { return d.percentile(50) }

func (d durations) percentile(p int) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	return sorted[len(sorted)*p/100]
}

// start starts a server on one core, and waits until it responds. The server's output goes to a file, as under a container runtime.
func start(ctx context.Context, name, path string, command []string, core int) (*server, error) {
	address, err := loopback.ReserveAddress(ctx)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	for i, word := range command {
		command[i] = strings.NewReplacer("{address}", address, "{port}", port).Replace(word)
	}
	program := slices.IndexFunc(command, func(word string) bool { return !strings.Contains(word, "=") }) // after environment variables
	if program < 0 {
		return nil, errors.New("no program")
	}
	info, err := os.Stat(command[program])
	if err != nil {
		return nil, err
	}
	s := &server{name: name, address: address, path: path, binaryMB: float64(info.Size()) / 1e6}
	s.command = exec.CommandContext(ctx, "taskset", append([]string{"--cpu-list", strconv.Itoa(core)}, command[program:]...)...)
	s.command.Env = append(os.Environ(), command[:program]...)
	log, err := os.CreateTemp("", "echoserver-benchmark")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(log.Close(), os.Remove(log.Name())) }() // the server keeps its own file descriptor
	s.command.Stdout, s.command.Stderr = log, log
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	if err := s.awaitAnswer(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	s.idle, err = s.residentMiB()
	return s, err
}

func (s *server) awaitAnswer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		_, err := load(ctx, s.address, s.path, 1, 1)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the server does not respond: %w", err)
		}
	}
}

func (s *server) stop() error {
	if err := s.command.Process.Kill(); err != nil {
		return err
	}
	_ = s.command.Wait() // Wait returns an error because the process was killed
	return nil
}

// round sends requests to the server, and records the times.
func (s *server) round(ctx context.Context) error {
	before, err := process.CPUTime(s.command.Process.Pid)
	if err != nil {
		return err
	}
	began := time.Now()
	took, err := load(ctx, s.address, s.path, connections, requests)
	if err != nil {
		return err
	}
	s.times = append(s.times, time.Since(began)/requests)
	s.slow = append(s.slow, durations(took).percentile(99))
	after, err := process.CPUTime(s.command.Process.Pid)
	s.costs = append(s.costs, (after-before)/requests)
	return err
}

func (s *server) residentMiB() (float64, error) {
	resident, err := process.Resident(s.command.Process.Pid)
	return float64(resident) / (1 << 20), err
}
