package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

const startTimeout = 10 * time.Second

type server struct {
	name     string
	address  string
	path     string // URL path of the requests
	command  *exec.Cmd
	binaryMB float64
	idle     float64 // RSS before any load, in MiB
	// Each of these fields holds one value per round: the CPU time per request, the time per request, and the 99th percentile of the
	// latency.
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
	environ := os.Environ()
	for strings.Contains(command[0], "=") && len(command) > 1 {
		environ, command = append(environ, command[0]), command[1:]
	}
	info, err := os.Stat(command[0])
	if err != nil {
		return nil, err
	}
	s := &server{name: name, address: address, path: path, binaryMB: float64(info.Size()) / 1e6}
	s.command = exec.CommandContext(ctx, "taskset", append([]string{"--cpu-list", strconv.Itoa(core)}, command...)...)
	s.command.Env = environ
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
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
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
	memory, err := process.MemoryOf(s.command.Process.Pid)
	return float64(memory.Resident) / (1 << 20), err
}
