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
	// readyTimeout is how long something may take that is waited for.
	readyTimeout = 2 * time.Minute
	// pollPeriod is how often something is looked at that is waited for.
	pollPeriod = 100 * time.Millisecond
	// quotedLines is how much of a log is shown when its process fails.
	quotedLines = 15
)

// process is a program that a cluster runs.
type process struct {
	name  string
	path  string
	args  []string
	env   []string
	ready func(context.Context) error // nil: as soon as it is started
}

// launch starts a process that outlives this one, with its output in a log, and waits until it is ready. prefix is a
// command that the process is started through, for instance to put it into a network namespace.
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
	if err := s.remember(p.name, command.Process.Pid); err != nil {
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
			return final{fmt.Errorf("ended at once: %v", err)} //nolint:errorlint // may be nil
		default:
			return p.ready(ctx)
		}
	})
}

// final is an error that waiting does not mend.
type final struct{ error }

// await calls until it returns no error, for readyTimeout at most.
func await(ctx context.Context, until func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := until(ctx)
		if err == nil {
			return nil
		}
		if hopeless := (final{}); errors.As(err, &hopeless) {
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

// remember notes a process, by its number and by when it began: a number may be another's later.
func (s *settings) remember(name string, pid int) error {
	return writeFile(s.pidFile(name), []byte(strconv.Itoa(pid)+"\n"+began(pid)))
}

func (s *settings) pidFile(name string) string { return filepath.Join(s.Run, name+".pid") }

// began tells when a process began; empty when there is none, or only what its parent has not yet collected. Linux counts it
// exactly in /proc, where ps may be a second off from one call to the next; elsewhere ps is all there is.
func began(pid int) string {
	if runtime.GOOS == "linux" {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// The name, in parentheses, may hold anything; after it come the state and, as the twentieth, the time.
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

// remembered are the processes that were noted under a name, * for all, and still run.
func (s *settings) remembered(name string) []int {
	files, _ := filepath.Glob(s.pidFile(name)) // the only error is a bad pattern
	var running []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		number, since, _ := strings.Cut(string(text), "\n")
		pid, err := strconv.Atoi(number)
		if err == nil && since != "" && began(pid) == since {
			running = append(running, pid)
		}
	}
	return running
}

// intact tells whether a start came to its end and every process of it still runs.
func (s *settings) intact(ctx context.Context) bool {
	files, err := filepath.Glob(s.pidFile("*"))
	return err == nil && exists(s.startedFile()) && len(s.remembered("*")) == len(files) && s.apiServerReady(ctx) == nil
}

// startedFile is there when a start came to its end.
func (s *settings) startedFile() string { return filepath.Join(s.Run, "started") }

// endRemembered ends the processes that were noted under a name, * for all, and waits until they are gone.
func (s *settings) endRemembered(ctx context.Context, name string) error {
	for _, pid := range s.remembered(name) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
	return await(ctx, func(context.Context) error {
		if left := s.remembered(name); len(left) > 0 {
			return fmt.Errorf("processes %v do not end", left)
		}
		return nil
	})
}

// run runs a command to its end, with what it says in the error if it fails.
func run(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// step says what is being done, and when called again, how long it took.
func step(what string) func() {
	started := time.Now()
	fmt.Fprintf(os.Stderr, "cluster: %-34s", what)
	return func() { fmt.Fprintf(os.Stderr, "%5.1f s\n", time.Since(started).Seconds()) }
}
