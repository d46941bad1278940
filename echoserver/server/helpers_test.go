package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
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
)

var quiet = slog.New(slog.DiscardHandler)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// settingsOf returns the settings that an environment gives.
func settingsOf(t testing.TB, environ ...string) Settings {
	t.Helper()
	s, err := ParseSettings(nil, environ, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.version = "dev"
	return s
}

func handlerOf(t testing.TB, environ ...string) *handler {
	t.Helper()
	life := newLifecycle()
	return newHandler(settingsOf(t, environ...), "8080", life, newMetrics("dev", newBudget(unlimitedMemory), life.draining.Load), quiet)
}

// loggedHandler returns a handler, and its log.
func loggedHandler(t testing.TB, environ ...string) (*handler, *lockedBuffer) {
	t.Helper()
	h, log := handlerOf(t, environ...), &lockedBuffer{}
	h.log = slog.New(slog.NewJSONHandler(log, nil))
	return h, log
}

// metricsOf returns the metrics of a server that does not drain.
func metricsOf(b *budget) *metrics { return newMetrics("dev", b, func() bool { return false }) }

// serve serves a handler as the program does, over real connections.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.Config = newServer(h, defaultHeaderBytes, quiet)
	b := boundsOf(metricsOf(newBudget(unlimitedMemory)))
	if h, ok := h.(*handler); ok {
		b.metrics, b.log = h.metrics, h.log
	}
	server.Listener = newBoundedListener(server.Listener, connectionCost, b)
	server.Start()
	t.Cleanup(server.Close)
	return server
}

// boundsOf returns the default bounds of connections.
func boundsOf(m *metrics) *bounds {
	return &bounds{metrics: m, maxHeaderBytes: defaultHeaderBytes, log: quiet}
}

// clients returns a client for each protocol that the server speaks.
func clients(t *testing.T) map[string]*http.Client {
	t.Helper()
	h1, h2 := &http.Transport{}, &http.Transport{Protocols: onlyHTTP2()}
	t.Cleanup(h1.CloseIdleConnections)
	t.Cleanup(h2.CloseIdleConnections)
	return map[string]*http.Client{"HTTP/1.1": {Transport: h1, Timeout: 2 * patience}, "HTTP/2.0": {Transport: h2, Timeout: 2 * patience}}
}

// onlyHTTP2 makes clients use HTTP/2 without TLS.
func onlyHTTP2() *http.Protocols {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// reply is a response, and its body if it has been read.
type reply struct {
	*http.Response
	body string
}

func send(t testing.TB, client *http.Client, method, url, body string, headers ...string) reply {
	t.Helper()
	return open(t, client, method, url, strings.NewReader(body), headers...).whole(t)
}

// open sends a request, whose response is not read yet. It is closed at the end of the test.
func open(t testing.TB, client *http.Client, method, url string, body io.Reader, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	addHeaders(r, headers)
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return reply{Response: response}
}

func addHeaders(r *http.Request, headers []string) {
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
}

// whole returns the response with its body.
func (r reply) whole(t testing.TB) reply {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return reply{r.Response, string(data)}
}

// answered returns what a handler answers without any connection.
func answered(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	addHeaders(r, headers)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decode(t testing.TB, text string) answer {
	t.Helper()
	var a answer
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// status returns the status code of a GET on a connection of its own, 0 for none.
func status(url string) int {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Get(url)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// programFolder is what program has made, if it was called.
var programFolder string

// program builds the real program, once for all tests that need it.
var program = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "echo-server")
	if err != nil {
		return "", err
	}
	programFolder = folder
	path := filepath.Join(folder, "echo-server")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", path, "../../cmd/echo-server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(output)))
	}
	return path, nil
})

// process is the real program at work.
type process struct {
	command     *exec.Cmd
	url, admin  string
	https       string // host and port, if there is one
	log         *lockedBuffer
	ended       chan struct{} // closed when the process has ended
	endedStatus error
}

// lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mutex sync.Mutex
	data  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.data.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.data.String()
}

// start starts the real program with an environment and waits until it listens.
func start(t *testing.T, environ ...string) *process {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{command: exec.Command(path), log: &lockedBuffer{}, ended: make(chan struct{})}
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

func (p *process) signal(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// wait waits for the end and returns its status.
func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-p.ended:
		return p.endedStatus
	case <-time.After(patience):
		t.Fatalf("it does not end; its log: %s", p.log)
		return nil
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(programFolder)
	os.Exit(code)
}

// exchanged sends text on a connection, and returns all that comes until the connection ends.
func exchanged(t *testing.T, connection net.Conn, text string) string {
	t.Helper()
	go func() { _, _ = io.WriteString(connection, text) }() // the server may answer before it has read all
	got, err := io.ReadAll(connection)
	if err != nil {
		t.Error(err)
	}
	return string(got)
}
