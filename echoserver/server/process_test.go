package server

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestMain_drains checks the probes, a WebSocket, and the exit of the real program while it drains.
func TestMain_drains(t *testing.T) {
	t.Parallel()
	p := start(t, "ECHO_DRAIN_DELAY=3s") // enough time for the probes, even on a busy machine
	webSocket, _ := dialWebSocket(t, p.url+"/-/ws", nil)
	p.signal(t)
	echotest.Until(t, "readiness fails", func() bool { return echotest.Status(p.url+"/-/readyz") == http.StatusServiceUnavailable })
	for url, want := range map[string]int{p.url + "/-/livez": 200, p.admin + "/livez": 200, p.admin + "/readyz": 503, p.url + "/late": 200} {
		if got := echotest.Status(url); got != want {
			t.Errorf("%s is %d while draining", url, got)
		}
	}
	if _, _, err := webSocket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the WebSocket is closed with %v", err)
	}
	if err := p.wait(t); err != nil || !strings.Contains(p.log.String(), `"msg":"drained"`) {
		t.Errorf("it ends with %v, its log is %s", err, p.log)
	}
}

// TestMain_exitsOnSecondSignal also checks that the program logs at the level of the settings.
func TestMain_exitsOnSecondSignal(t *testing.T) {
	p := start(t, "ECHO_DRAIN_DELAY=1h", "ECHO_LOG_LEVEL=debug")
	echotest.Status(p.url + "/-/ws")
	echotest.Until(t, "the handshake is logged", func() bool {
		return strings.Contains(p.log.String(), `"level":"DEBUG","msg":"handshake"`)
	})
	p.signal(t)
	echotest.Until(t, "readiness fails", func() bool { return echotest.Status(p.url+"/-/readyz") == http.StatusServiceUnavailable })
	p.signal(t)
	if exit, ok := errors.AsType[*exec.ExitError](p.wait(t)); !ok || exit.ExitCode() != 1 {
		t.Errorf("it ends with %v", exit)
	}
}

// TestMain_exitCodes runs commands that end by themselves, among them health checks of another process.
func TestMain_exitCodes(t *testing.T) {
	p := start(t)
	for name, c := range map[string]struct {
		arguments   []string
		exit, lines int
		output      string
	}{
		"an unknown flag":               {[]string{"--nonsense"}, 2, 3, "unknown flag"}, // with the usage text
		"an invalid value":              {[]string{"--drain-delay=soon"}, 2, 1, "is not a duration"},
		"an address of another machine": {[]string{"--http-addr=127.0.0.1:0", "--admin-addr=192.0.2.1:1"}, 1, 1, "cannot listen: "},
		"help":                          {[]string{"--help"}, 0, 0, "-trusted-proxies"},
		"a ready server":                {[]string{"healthcheck", "--admin-addr=" + strings.TrimPrefix(p.admin, "http://")}, 0, 0, ""},
		"no server":                     {[]string{"healthcheck", "--admin-addr=127.0.0.1:1"}, 1, 1, "cannot reach"},
	} {
		output, err := exec.Command(p.command.Path, c.arguments...).CombinedOutput()
		exit := 0
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			exit = failed.ExitCode()
		}
		if lines := bytes.Count(output, []byte("\n")); exit != c.exit || name != "help" && lines != c.lines ||
			!strings.Contains(string(output), c.output) {
			t.Errorf("%s: exits with %d, %s", name, exit, output)
		}
	}
}

// TestStreamBody_usesConstantMemory streams 1 GiB through the real program.
func TestStreamBody_usesConstantMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("1 GiB takes some seconds")
	}
	t.Parallel()
	p := start(t)
	for proto, client := range echotest.Clients(t) {
		sent, got := sha256.New(), sha256.New()
		response := echotest.Open(t, client, http.MethodPost, p.url+"/-/body", io.TeeReader(io.NewSectionReader(filler{}, 0, maxStreamed), sent))
		n, err := io.Copy(got, response.Body)
		if err != nil || n != maxStreamed || !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
			t.Errorf("%s: %d bytes came back, %v", proto, n, err)
		}
	}
	// The memory pages of the executable are not counted, because the kernel can evict them at any time.
	peak := (memoryKiB(t, p.command.Process.Pid, "VmHWM") - memoryKiB(t, p.command.Process.Pid, "RssFile")) >> 10
	t.Logf("the peak is %d MiB of memory, not counting the program itself", peak)
	if peak > 13 {
		t.Error("the peak is more than 13 MiB")
	}
}

// memoryKiB returns the value of a field in /proc/[pid]/status.
func memoryKiB(t *testing.T, pid int, field string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Skip("no /proc here")
	}
	_, after, _ := strings.Cut(string(text), field+":")
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// TestMain_revealsNoSecrets checks that no output of the real program contains a secret from the environment.
func TestMain_revealsNoSecrets(t *testing.T) {
	const canary = "canary-4f1c9a"
	p := start(t, "SECRET="+canary, "ECHO_SECRET="+canary, "ECHO_INF="+canary, "INFO_X="+canary, "POD_SECRET="+canary,
		"AWS_SECRET_ACCESS_KEY="+canary, "HOME="+canary, canary+"=x", "ECHO_INFO_SHOWN=shown", "ECHO_DRAIN_DELAY=0s")
	var given strings.Builder
	for _, client := range echotest.Clients(t) {
		for _, path := range []string{"/", "/env", "/%24SECRET", "/$SECRET", "/${SECRET}", "/../../proc/self/environ", "/-/env", "/debug/vars",
			"/debug/pprof/", "/metrics", "/-/body", "/-/ws", "/-/livez", "/?env=true", "/?echo.env=true", "/?echo.status=x",
			"/?echo.set-header=X-A:$SECRET", "/?x={{.Env}}"} {
			for _, format := range []string{"json", "text", "html"} {
				got := echotest.Send(t, client, http.MethodPost, p.url+path, "${SECRET} {{env}}", "X-Echo-Format", format, "X-A", "${SECRET}", "X-Env",
					"SECRET")
				_ = got.Header.Write(&given)
				given.WriteString(got.Text)
			}
		}
		for _, path := range []string{"/metrics", "/livez", "/debug/vars", "/env"} {
			given.WriteString(echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodGet, p.admin+path, "").Text)
		}
	}
	p.signal(t)
	if err := p.wait(t); err != nil {
		t.Errorf("it ends with %v", err)
	}
	given.WriteString(p.log.String())
	if strings.Contains(given.String(), canary) {
		t.Error("the secret is revealed")
	}
	if !strings.Contains(given.String(), `"SHOWN": "shown"`) {
		t.Error("ECHO_INFO_SHOWN is not shown")
	}
}
