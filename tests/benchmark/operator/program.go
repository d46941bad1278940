package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/process"
)

// program is a running process that is measured: an operator or a raw writer.
type program struct {
	command *exec.Cmd
	log     string
	began   time.Time
	metrics string // where its metrics are, empty for none

	// Those of a raw writer.
	start  io.WriteCloser
	output *bufio.Reader
	used   time.Duration // before it was told to start
}

// launch starts a program. It gets the environment of the benchmark, so that GOGC and the like can be tried.
func launch(ctx context.Context, p *controlPlane, environment []string, path string, arguments ...string) (*program, error) {
	log, err := os.CreateTemp(p.folder, filepath.Base(path)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the program still has it open
	command := exec.CommandContext(ctx, path, arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stderr = log
	g := &program{command: command, log: log.Name()}
	if g.start, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	g.output = bufio.NewReader(output)
	g.began = time.Now()
	return g, command.Start()
}

// startOperator starts the operator with the permissions of its roles, given where the API server is.
func startOperator(ctx context.Context, p *controlPlane, path, kubeconfig string, arguments ...string) (*program, error) {
	metrics, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	environment := []string{"KUBECONFIG=" + kubeconfig, "RELATED_IMAGE_ECHO_SERVER=" + echoServerImage, "POD_NAMESPACE=" + namespace}
	g, err := launch(ctx, p, environment, path,
		append([]string{"--metrics-bind-address=" + metrics, "--metrics-cert-path=" + p.folder, "--health-probe-bind-address=0"},
			arguments...)...)
	if err != nil {
		return nil, err
	}
	g.metrics = metrics
	return g, nil
}

// startRaw starts a raw writer and waits until it is ready.
func startRaw(ctx context.Context, p *controlPlane, path, user string, arguments ...string) (*program, error) {
	g, err := launch(ctx, p, nil, path, append([]string{"-target=" + p.target(user)}, arguments...)...)
	if err != nil {
		return nil, err
	}
	if _, err := g.output.ReadString('\n'); err != nil {
		return nil, errors.Join(g.failure(err), g.kill())
	}
	g.used, err = process.CPUTime(g.pid())
	return g, err
}

// rawFlags are those for a number of Echoes.
func rawFlags(count int, more ...string) []string {
	return append([]string{"-count=" + strconv.Itoa(count)}, more...)
}

// timing is what a raw writer prints for an Echo.
type timing struct{ Deployment, Last time.Duration }

// write tells a raw writer to start.
func (g *program) write() error {
	_, err := g.start.Write([]byte("\n"))
	return err
}

// finish waits until a raw writer has ended. It returns the CPU time that writing took, and how long each Echo took.
func (g *program) finish() (time.Duration, []timing, error) {
	var times []timing
	problem := json.NewDecoder(g.output).Decode(&times)
	if err := g.command.Wait(); err != nil || problem != nil {
		return 0, nil, g.failure(errors.Join(err, problem))
	}
	return g.command.ProcessState.UserTime() + g.command.ProcessState.SystemTime() - g.used, times, nil
}

func (g *program) pid() int { return g.command.Process.Pid }

// failure adds the end of the log to an error.
func (g *program) failure(err error) error {
	const end = 2000
	text, problem := os.ReadFile(g.log)
	return errors.Join(fmt.Errorf("%s: %w\n%s", filepath.Base(g.command.Path), err, text[max(0, len(text)-end):]), problem)
}

// kill ends a program at once.
func (g *program) kill() error {
	if err := g.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = g.command.Wait() // it returns an error because the process was killed
	return nil
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
