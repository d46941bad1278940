package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// settingsOf returns the settings specified by environment variables.
func settingsOf(t testing.TB, environ ...string) Settings {
	t.Helper()
	s, err := ParseSettings("dev", nil, environ, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.version = "dev"
	return s
}

func handlerOf(t testing.TB, environ ...string) *handler {
	t.Helper()
	life := newLifecycle()
	return newHandler(settingsOf(t, environ...), "8080", life,
		newMetrics("dev", transport.NewBudget(transport.AvailableMemory()), life.draining.Load), echotest.Quiet())
}

// held returns how many bytes of the budget requests hold, in addition to what a new handler holds.
func held(t testing.TB, h *handler) int64 {
	t.Helper()
	return h.budget.Requests.Used.Load() - handlerOf(t).budget.Requests.Used.Load()
}

// loggedHandler returns a handler and its log.
func loggedHandler(t testing.TB, environ ...string) (*handler, *echotest.LockedBuffer) {
	t.Helper()
	h, log := handlerOf(t, environ...), &echotest.LockedBuffer{}
	h.log = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: h.LogLevel}))
	return h, log
}

// serve serves a handler as the program does, over real connections.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	b := boundsFor(t, h)
	server.Config = newServer(h, transport.DefaultHeaderBytes, b.Reporter)
	server.Listener = transport.NewBoundedListener(server.Listener, transport.Cost, b)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// boundsFor returns the default bounds for connections to a handler, with the handler's metrics and log.
func boundsFor(t *testing.T, h http.Handler) *transport.Bounds {
	own, ok := h.(*handler)
	if !ok {
		own = handlerOf(t)
	}
	return &transport.Bounds{Budget: own.budget, OpenConnections: &own.metrics.connections, MaxHeaderBytes: transport.DefaultHeaderBytes,
		Reporter: transport.NewReporter(own.log, own.metrics.Rejected), Log: own.log}
}

// decoded is a decoded response, in which the applied controls are a plain map.
type decoded struct {
	describe.Response
	Applied map[string]any `json:"applied"`
}

func decode(t testing.TB, text string) decoded {
	t.Helper()
	var d decoded
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return d
}

// programFolder is the directory that the function program created, if it was called.
var programFolder string

// program builds the real program once, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "echo-server")
	if err != nil {
		return "", err
	}
	programFolder = folder
	path := filepath.Join(folder, "echo-server")
	_, _ = os.ReadDir("../../cmd/echo-server") // so that go test does not use a cached result after a change to the program
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", path, "../../cmd/echo-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(output)))
	}
	return path, nil
})

// serverProcess is a running process of the real program.
type serverProcess struct {
	command     *exec.Cmd
	url, admin  string
	https       string // the host and port for HTTPS, if it is enabled
	log         *echotest.LockedBuffer
	ended       chan struct{} // closed when the process exits
	endedStatus error
}

// start starts the real program with the given environment variables, and waits until it listens.
func start(t *testing.T, environ ...string) *serverProcess {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &serverProcess{command: exec.Command(path), log: &echotest.LockedBuffer{}, ended: make(chan struct{})}
	p.command.Env = append([]string{"ECHO_HTTP_ADDR=127.0.0.1:0", "ECHO_ADMIN_ADDR=127.0.0.1:0"}, environ...)
	stderr, err := p.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stderr)
	first, err := reader.ReadBytes('\n')
	go func() {
		_, _ = io.Copy(p.log, reader)
		p.endedStatus = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.ended
	})
	var line struct{ Msg, Address, Admin, HTTPS string }
	if err != nil || json.Unmarshal(first, &line) != nil || line.Msg != "listening" {
		t.Fatalf("it begins with %q, %v", first, err)
	}
	p.url, p.admin, p.https = "http://"+line.Address, "http://"+line.Admin, line.HTTPS
	return p
}

func (p *serverProcess) signal(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// wait waits until the process exits, and returns its error.
func (p *serverProcess) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-p.ended:
		return p.endedStatus
	case <-time.After(echotest.Patience):
		t.Fatalf("it does not end; its log: %s", p.log)
		return nil
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(programFolder)
	os.Exit(code)
}
