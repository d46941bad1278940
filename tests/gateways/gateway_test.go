// Package gateways examines real gateways with pathcheck. It checks the facts that each gateway's documentation states, and the facts that
// the gateway's settings change.
package gateways

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/server"
	"github.com/echo-operator/echo-operator/pathcheck"
)

// clientAddress is the source address of pathcheck's requests. Gateways use a different source address for their own requests.
const clientAddress = "127.0.0.9"

// gateway is a reverse proxy that runs as a foreground process.
type gateway struct {
	name    string
	version []string // the command that prints its version
	// config returns the gateway's configuration file with a setting. An empty string means no setting. In config and run, placeholders
	// stand for the address to listen on (LISTEN, HOST, PORT), the echo server's address (ECHO, ECHO_PORT), the address of a second echo
	// server (OTHER), a directory (DIR), and the configuration file (CONFIG).
	config func(setting string) string
	run    []string // the command
	// arguments returns the arguments that a setting adds to the command. It is nil if no setting adds arguments.
	arguments func(setting string) []string
	prepare   func(t *testing.T, folder string) // creates other files in DIR; nil if there are none
	facts     []promise
	turns     []turn
	varies    string // a fact that depends on the order in which packets arrive, so that it may have no value
}

// promise is the value of a fact according to a gateway's documentation.
type promise struct{ fact, value, source string }

// turn is a setting that changes the values of some facts.
type turn struct {
	setting string
	echo    []string // the echo server's environment variables
	groups  string
	facts   map[string]string
	varies  string // a fact that depends on the order in which packets arrive, so that it may have no value
}

var (
	folder  string
	started atomic.Int64
)

func TestMain(m *testing.M) {
	if os.Getenv("GATEWAYS") == "" {
		os.Exit(0) // make test-gateways, test-traefik, and test-envoy install the gateways and set this variable
	}
	made, err := os.MkdirTemp("", "gateways")
	if err != nil {
		panic(err)
	}
	folder = made
	code := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(code)
}

// startEcho starts an echo server and returns its address.
func startEcho(t *testing.T, environ ...string) string {
	t.Helper()
	s, err := server.ParseSettings("0", nil, append([]string{"ECHO_HTTP_ADDR=127.0.0.1:0", "ECHO_ADMIN_ADDR=127.0.0.1:0", "ECHO_DRAIN_DELAY=0s",
		"ECHO_POD_NAMESPACE=shop", "ECHO_SERVICE_NAME=web", "ECHO_POD_NAME=web-1", "ECHO_CONTROLS=Full"}, environ...), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	output, writer := io.Pipe()
	go func() {
		_ = writer.CloseWithError(server.Run(t.Context(), s, "0", slog.New(slog.NewJSONHandler(writer, nil))))
	}()
	var first struct{ Address string }
	if err := json.NewDecoder(output).Decode(&first); err != nil || first.Address == "" {
		t.Fatalf("the echo server begins with %+v, %v", first, err)
	}
	go func() { _, _ = io.Copy(io.Discard, output) }() // until the server ends
	return first.Address
}

// start starts a gateway with a setting, and returns its URL.
func (g *gateway) start(t *testing.T, setting string, environ ...string) string {
	t.Helper()
	number := started.Add(1) // one address per gateway, because ports are not reserved
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.%d.%d:0", 1+number/256, number%256))
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close() // the listener serves only to find a free port, because no gateway can listen on port 0
	host, port, _ := net.SplitHostPort(address)
	work, err := os.MkdirTemp(folder, "gateway")
	if err != nil {
		t.Fatal(err)
	}
	for path := work; path != filepath.Dir(folder); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o777); err != nil { // some gateways switch to another user
			t.Fatal(err)
		}
	}
	echo, config := startEcho(t, environ...), filepath.Join(work, "config.yaml") // some gateways require this extension, and none reject it
	_, echoPort, _ := net.SplitHostPort(echo)
	text, other := g.config(setting), ""
	if strings.Contains(text, "OTHER") {
		other = startEcho(t, append(environ, "ECHO_POD_NAME=web-2")...)
	}
	fill := strings.NewReplacer("ECHO_PORT", echoPort, "HOST", host, "LISTEN", address, "PORT", port, "ECHO", echo, "OTHER", other,
		"DIR", work, "CONFIG", config)
	if err := os.WriteFile(config, []byte(fill.Replace(text)), 0o644); err != nil {
		t.Fatal(err)
	}
	if g.prepare != nil {
		g.prepare(t, work)
	}
	var arguments []string
	for _, each := range g.command(setting) {
		arguments = append(arguments, fill.Replace(each))
	}
	log, err := os.Create(filepath.Join(work, "log"))
	if err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	process.Env = append(os.Environ(), "HOME="+work)
	process.Stdout, process.Stderr = log, log
	process.Cancel = func() error { return process.Process.Signal(os.Interrupt) } // lets the gateway stop its own processes
	process.WaitDelay = 10 * time.Second
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Wait() }) // Wait returns an error, because the process is interrupted
	await(t, address, log.Name())
	return "http://" + address
}

// command returns the command that starts a gateway with a setting.
func (g *gateway) command(setting string) []string {
	if g.arguments == nil {
		return g.run
	}
	return slices.Concat(g.run, g.arguments(setting))
}

// await waits until a gateway is listening and knows the echo server's address.
func await(t *testing.T, address, log string) {
	t.Helper()
	for range 600 { // Varnish compiles its configuration with a C compiler
		answer, err := http.Get("http://" + address)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusNotFound {
				return
			}
		}
		<-time.After(100 * time.Millisecond)
	}
	text, err := os.ReadFile(log)
	t.Fatalf("it does not listen: %s, %v", text, err)
}

// check examines the path through a gateway. All facts must have a value, except one that varies.
func check(t *testing.T, url, groups, varies string) *pathcheck.Report {
	t.Helper()
	o := pathcheck.Options{URL: url, Deadline: 2 * time.Minute, Source: netip.MustParseAddr(clientAddress)}
	if groups != "" {
		o.Groups = strings.Split(groups, ",")
	}
	report, err := pathcheck.Run(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	if report.Problem != "" {
		t.Error(report.Problem)
	}
	overHTTP2 := valueOf(report, "request.version") == "HTTP/2.0"
	for _, each := range report.NotTested {
		isOfEcho := strings.HasSuffix(each.Name, ".by") && strings.HasPrefix(each.Reason, "the Echo refuses") || // as the gateway does
			overHTTP2 && strings.HasPrefix(each.Reason, "the Echo does not report the ") // case and order of names
		if each.Name != "tls" && each.Name != varies && !isOfEcho {
			t.Errorf("%s is not tested: %s", each.Name, each.Reason)
		}
	}
	return report
}

// writeReport writes a report in HTML, if REPORTS specifies a directory.
func writeReport(t *testing.T, name string, report *pathcheck.Report) {
	t.Helper()
	folder := os.Getenv("REPORTS")
	if folder == "" {
		return
	}
	var page bytes.Buffer
	if err := errors.Join(report.WriteHTML(&page), os.WriteFile(filepath.Join(folder, name+".html"), page.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func valueOf(r *pathcheck.Report, name string) string {
	for _, each := range r.Facts {
		if each.Name == name {
			return each.Value
		}
	}
	return "not known"
}

// versionOf returns the version that a gateway's command prints.
func (g *gateway) versionOf(t *testing.T) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), g.version[0], g.version[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", g.name, err, output)
	}
	return regexp.MustCompile(`\d+(\.\d+)+`).FindString(string(output))
}

// gateways returns the gateways that the make target has installed.
func gateways() []gateway {
	switch os.Getenv("GATEWAYS") {
	case "traefik":
		return []gateway{traefik()}
	case "envoy":
		return envoys()
	}
	return []gateway{nginx(), haproxy(), openshift(), apache(), varnish(), squid(), caddy()}
}

// TestGateways examines each gateway without a setting, and with each of its settings. Without a setting, it compares the facts with the
// gateway's documentation.
func TestGateways(t *testing.T) {
	reports := map[string]*pathcheck.Report{}
	var mutex sync.Mutex
	t.Run("gateways", func(t *testing.T) {
		for _, g := range gateways() {
			t.Run(g.name, func(t *testing.T) {
				t.Parallel()
				report := check(t, g.start(t, ""), "", g.varies)
				for _, each := range g.facts {
					if got := valueOf(report, each.fact); got != each.value {
						t.Errorf("%s is %q, want %q by %s", each.fact, got, each.value, each.source)
					}
				}
				writeReport(t, g.name, report)
				mutex.Lock()
				reports[g.name] = report
				mutex.Unlock()
			})
			for _, turned := range g.turns {
				t.Run(g.name+" with "+turned.setting, func(t *testing.T) {
					t.Parallel()
					report := check(t, g.start(t, turned.setting, turned.echo...), turned.groups, turned.varies)
					for name, want := range turned.facts {
						if got := valueOf(report, name); got != want {
							t.Errorf("%s is %q, want %q", name, got, want)
						}
					}
				})
			}
		}
	})
	checkTable(t, reports)
}
