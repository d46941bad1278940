package testbed

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

// EchoServerImage is the image that Echoes run unless a flag specifies another image.
const EchoServerImage = "quay.io/echo-operator/echo-server:v0.1.0"

// Program is a process that the benchmark has started.
type Program struct {
	Command *exec.Cmd
	log     string
	Began   time.Time
	metrics string // address of the metrics endpoint, or "" if there is none

	// These fields are only for raw writers.
	start  io.WriteCloser
	output *bufio.Reader
	used   time.Duration // CPU time used before the writes started
}

// launch starts a program that inherits the benchmark's environment, so that you can experiment with variables such as GOGC.
func launch(ctx context.Context, p *ControlPlane, environment []string, path string, arguments ...string) (*Program, error) {
	log, err := os.CreateTemp(p.folder, filepath.Base(path)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the program has its own file descriptor
	command := exec.CommandContext(ctx, path, arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stderr = log
	g := &Program{Command: command, log: log.Name()}
	if g.start, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g.output = bufio.NewReader(output)
	g.Began = time.Now()
	return g, command.Start()
}

// StartOperator starts an operator. The kubeconfig specifies the API server and the user.
func StartOperator(ctx context.Context, p *ControlPlane, path, kubeconfig string, arguments ...string) (*Program, error) {
	metrics, err := loopback.ReserveAddress(ctx)
	if err != nil {
		return nil, err
	}
	environment := []string{"KUBECONFIG=" + kubeconfig, "RELATED_IMAGE_ECHO_SERVER=" + EchoServerImage, "POD_NAMESPACE=" + Namespace}
	g, err := launch(ctx, p, environment, path,
		append([]string{"--metrics-bind-address=" + metrics, "--metrics-cert-path=" + p.folder, "--health-probe-bind-address=0"},
			arguments...)...)
	if err != nil {
		return nil, err
	}
	g.metrics = metrics
	return g, nil
}

// StartRaw starts a raw writer and waits until it is ready.
func StartRaw(ctx context.Context, p *ControlPlane, path, user string, arguments ...string) (*Program, error) {
	g, err := launch(ctx, p, nil, path, append([]string{"-target=" + p.target(user)}, arguments...)...)
	if err != nil {
		return nil, err
	}
	if _, err := g.output.ReadString('\n'); err != nil {
		return nil, errors.Join(g.Failure(err), g.Kill())
	}
	g.used, err = process.CPUTime(g.PID())
	return g, err
}

// RawFlags returns a raw writer's flags for a number of Echoes.
func RawFlags(count int, more ...string) []string {
	return append([]string{"-count=" + strconv.Itoa(count)}, more...)
}

// Timing is the result that a raw writer prints for each Echo.
type Timing struct{ Deployment, Last time.Duration }

// Write makes a raw writer start writing.
func (g *Program) Write() error {
	_, err := g.start.Write([]byte("\n"))
	return err
}

// Finish waits until a raw writer has exited. It returns the CPU time of all writes, and how long each Echo took.
func (g *Program) Finish() (time.Duration, []Timing, error) {
	var times []Timing
	problem := json.NewDecoder(g.output).Decode(&times)
	if err := g.Command.Wait(); err != nil || problem != nil {
		return 0, nil, g.Failure(errors.Join(err, problem))
	}
	return g.Command.ProcessState.UserTime() + g.Command.ProcessState.SystemTime() - g.used, times, nil
}

// PID returns the ID of the process.
func (g *Program) PID() int { return g.Command.Process.Pid }

// Failure adds the end of the program's log to an error.
func (g *Program) Failure(err error) error {
	const end = 2000
	text, problem := os.ReadFile(g.log)
	return errors.Join(fmt.Errorf("%s: %w\n%s", filepath.Base(g.Command.Path), err, text[max(0, len(text)-end):]), problem)
}

// Kill kills a program.
func (g *Program) Kill() error {
	if err := g.Command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = g.Command.Wait() // Wait returns an error, because the process was killed
	return nil
}
