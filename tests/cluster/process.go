package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// readyTimeout is how long the program waits for an expected state.
	readyTimeout = 2 * time.Minute
	// pollPeriod is the interval between two checks of a state.
	pollPeriod = 100 * time.Millisecond
	// quotedLines is how many log lines are printed if a process fails.
	quotedLines = 15
)

// process is one of a cluster's processes.
type process struct {
	name  string
	path  string
	args  []string
	env   []string
	ready func(context.Context) error // if nil, the process is ready as soon as it has started
}

// launch starts a process, writes its output to a log, and waits until it is ready. The process continues to run after this program exits.
// prefix is a command that runs the process, such as a command that enters a network namespace.
func (s *settings) launch(ctx context.Context, p process, prefix ...string) error {
	done := step("starting " + p.name)
	log := filepath.Join(s.Logs, p.name+".log")
	if err := os.MkdirAll(s.Logs, 0o700); err != nil {
		return err
	}
	output, err := os.Create(log)
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()
	line := slices.Concat(prefix, []string{p.path}, p.args)
	command := exec.Command(line[0], line[1:]...) //nolint:noctx // outlives this program
	command.Stdout, command.Stderr = output, output
	command.Env = append(os.Environ(), p.env...)
	command.Dir = s.Data
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	if err := s.record(p.name, command.Process.Pid); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if err := awaitReady(ctx, p, ended); err != nil {
		return fmt.Errorf("%s: %w\n%s\n(from %s)", p.name, err, lastLines(log), log)
	}
	done()
	return nil
}

func awaitReady(ctx context.Context, p process, ended <-chan error) error {
	if p.ready == nil {
		p.ready = func(context.Context) error { return nil }
	}
	return await(ctx, func(ctx context.Context) error {
		select {
		case err := <-ended:
			return final{fmt.Errorf("exited immediately: %v", err)} //nolint:errorlint // may be nil
		default:
			return p.ready(ctx)
		}
	})
}

// final is an error that makes further waiting pointless.
type final struct{ error }

// await calls a function until it succeeds or readyTimeout has elapsed.
func await(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if permanent := (final{}); errors.As(err, &permanent) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w", readyTimeout, err)
		case <-time.After(pollPeriod):
		}
	}
}

func lastLines(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-quotedLines):], "\n")
}

// record writes a process's PID file, which contains the PID and, because the system reuses PIDs, the start time.
func (s *settings) record(name string, pid int) error {
	return writeFile(s.pidFile(name), []byte(strconv.Itoa(pid)+"\n"+startTime(pid)))
}

func (s *settings) pidFile(name string) string { return filepath.Join(s.Run, name+".pid") }

// startTime returns the time when a process started, or "" if the process does not exist or is a zombie. On Linux, startTime reads the time
// from /proc, because the time that ps prints can vary by a second between calls.
func startTime(pid int) string {
	if runtime.GOOS == "linux" {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// The process's name is in parentheses, and can contain any characters. The process's state is the first field after the name, and
		// the start time is the twentieth.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if err != nil || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
			return ""
		}
		return fields[19]
	}
	output, err := exec.CommandContext(context.Background(), "ps", "-o", "stat=", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	state, since, _ := strings.Cut(strings.TrimSpace(string(output)), " ")
	if err != nil || strings.HasPrefix(state, "Z") {
		return ""
	}
	return strings.TrimSpace(since)
}

// recorded returns the IDs of the running processes recorded in the PID file with the given name, or in any if the name is *.
func (s *settings) recorded(name string) []int {
	files, _ := filepath.Glob(s.pidFile(name)) // Glob returns an error only if the pattern is malformed
	var running []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		number, since, _ := strings.Cut(string(text), "\n")
		pid, err := strconv.Atoi(number)
		if err == nil && since != "" && startTime(pid) == since {
			running = append(running, pid)
		}
	}
	return running
}

// killRecorded kills the processes that are recorded in the PID file with the given name, or in any PID file if the name is *. It then
// waits until these processes have exited.
func (s *settings) killRecorded(ctx context.Context, name string) error {
	for _, pid := range s.recorded(name) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have exited already
	}
	return await(ctx, func(context.Context) error {
		if left := s.recorded(name); len(left) > 0 {
			return fmt.Errorf("processes %v still run", left)
		}
		return nil
	})
}

// run runs a command. If the command fails, the error contains the command's output.
func run(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// step prints the name of an action, and returns a function that prints how long the action took.
func step(what string) func() {
	started := time.Now()
	fmt.Fprintf(os.Stderr, "cluster: %-34s", what)
	return func() { fmt.Fprintf(os.Stderr, "%5.1f s\n", time.Since(started).Seconds()) }
}
