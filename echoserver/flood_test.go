package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	// containerMemory is the default memory limit of the pods of an Echo, in MiB.
	containerMemory = 64
	// floodTime is how long a flood lasts.
	floodTime = 3 * time.Second
)

// TestFloods sends to the real program what could exhaust its memory: it must stay below the memory limit, and serve another client and
// probes all the time.
func TestFloods(t *testing.T) {
	if testing.Short() {
		t.Skip("each flood takes some seconds")
	}
	for name, c := range map[string]struct {
		connections int
		open        func(net.Conn) error
	}{
		"slow bodies over HTTP/2":        {200, overHTTP2("POST", "/", withBody)},
		"delayed responses over HTTP/2":  {200, overHTTP2("GET", "/?echo.delay=30s", complete)},
		"event streams over HTTP/2":      {200, overHTTP2("GET", "/-/sse", complete)},
		"windows of zero over HTTP/2":    {200, overHTTP2("GET", "/?echo.size=1000000", withoutWindow)},
		"echoes that nobody reads":       {200, overHTTP2("GET", "/"+strings.Repeat("x", 8000), withoutWindow)},
		"echoes that need escapes":       {200, overHTTP2("GET", "/", withoutWindow, "x-a", strings.Repeat("\xff", 3800))},
		"pages that need escapes":        {200, overHTTP2("GET", "/?echo.format=html", withoutWindow, "forwarded", strings.Repeat(`for="<<<<<<<<",`, 90), "x-a", strings.Repeat("<", 2000))},
		"long headers over HTTP/2":       {200, overHTTP2("GET", "/", withoutWindow, "x-a", strings.Repeat("x", 15_000))},
		"stalled streams over HTTP/2":    {200, overHTTP2("POST", "/-/body", withBody)},
		"incomplete headers over HTTP/2": {1000, incompleteHTTP2Header},
		"incomplete headers":             {2000, writes("GET / HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", 15<<10))},
		"many fields":                    {2000, writes("GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("A:\r\n", 95) + "X-A: " + strings.Repeat("x", 14<<10))},
		"incomplete bodies":              {2000, writes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65536\r\n\r\n" + payload(65535))},
		"large bodies":                   {1000, writes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n" + payload(4_000_000))},
		"incomplete WebSocket messages":  {1000, writes(incompleteMessage())},
		"responses that nobody reads":    {1000, writes(strings.Repeat("GET /?echo.size=16000000 HTTP/1.1\r\nHost: a\r\n\r\n", 20))},
		"idle connections":               {4500, writes("")},
		"idle connections after use":     {4500, writes("GET /?echo.size=0 HTTP/1.1\r\nHost: a\r\n\r\n")},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "GOMEMLIMIT="+strconv.Itoa(containerMemory<<20/4*3), "ECHO_DRAIN_DELAY=0s")
			others := ordinaryClients(t, p)
			peak := flood(t, p, c.connections, c.open)
			served := others()
			t.Logf("at its peak it took %d MiB of memory; meanwhile %d requests and probes of others were served", peak, served)
			if peak >= containerMemory {
				t.Errorf("its memory limit would have killed it: %d MiB", peak)
			}
		})
	}
}

// flood opens connections for some time, and returns the most resident memory that the program has had.
func flood(t *testing.T, p *process, connections int, open func(net.Conn) error) (peak int) {
	t.Helper()
	var all sync.WaitGroup
	ended := make(chan struct{})
	address := strings.TrimPrefix(p.url, "http://")
	for range connections {
		all.Go(func() {
			connection, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer func() { _ = connection.Close() }()
			_ = connection.SetDeadline(time.Now().Add(floodTime))
			_ = open(connection) // the server may close it
			<-ended
		})
	}
	<-time.After(floodTime)
	close(ended)
	all.Wait()
	select {
	case <-p.ended:
		t.Fatalf("it has ended: %v; its log: %s", p.endedStatus, p.log)
	default:
	}
	return peakMiB(t, p.command.Process.Pid)
}

// ordinaryClients sends requests and probes until the returned function is called, which returns how many were served. None may fail.
func ordinaryClients(t *testing.T, p *process) (stop func() int64) {
	t.Helper()
	var all sync.WaitGroup
	var served atomic.Int64
	ended := make(chan struct{})
	ask := func(url string, client *http.Client) {
		for {
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
			response, err := client.Get(url)
			if err != nil {
				t.Errorf("%s: %v", url, err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", url, response.Status)
				return
			}
			served.Add(1)
		}
	}
	for _, client := range clients(t) { // with connections of their own, which are open before the flood
		_ = send(t, client, http.MethodGet, p.url, "")
		all.Go(func() { ask(p.url, client) })
	}
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	all.Go(func() { ask(p.admin+"/readyz", probe) })
	return func() int64 {
		close(ended)
		all.Wait()
		return served.Load()
	}
}

// writes returns a function that writes a text and reads nothing. It writes a little at a time and then lets others run: a thousand that write
// megabytes at once would take the processors for so long that the requests and probes of this test do not even leave.
func writes(text string) func(net.Conn) error {
	const piece = 64 << 10
	return func(connection net.Conn) error {
		for rest := text; rest != ""; runtime.Gosched() {
			now := min(piece, len(rest))
			if _, err := io.WriteString(connection, rest[:now]); err != nil {
				return err
			}
			rest = rest[now:]
		}
		return nil
	}
}

// incompleteMessage returns a WebSocket message of which the last byte never comes.
func incompleteMessage() string {
	return "GET /-/ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x82\xff\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00" + payload(1<<20-1)
}

// How a request of HTTP/2 goes on after its header.
type streamKind int

const (
	complete streamKind = iota
	withBody            // of which the last byte never comes
	withoutWindow
)

// overHTTP2 returns a function that begins requests of HTTP/2 on a connection.
func overHTTP2(method, path string, kind streamKind, fields ...string) func(net.Conn) error {
	return func(connection net.Conn) error {
		framer, err := greet(connection, kind)
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(io.Discard, connection) }() // until the connection is closed
		body := []byte(payload(600))
		for id := uint32(1); id < 2*maxStreams; id += 2 {
			if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headerBlock(method, path, fields...), EndHeaders: true,
				EndStream: kind != withBody}); err != nil {
				return err
			}
			if kind != withBody {
				continue
			}
			if err := framer.WriteData(id, false, body); err != nil { // all fit into the window of a connection
				return err
			}
		}
		return nil
	}
}

// greet begins a connection of HTTP/2.
func greet(connection net.Conn, kind streamKind) (*http2.Framer, error) {
	if _, err := io.WriteString(connection, http2.ClientPreface); err != nil {
		return nil, err
	}
	framer := http2.NewFramer(connection, connection)
	var settings []http2.Setting
	if kind == withoutWindow {
		settings = append(settings, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	}
	return framer, framer.WriteSettings(settings...)
}

func headerBlock(method, path string, fields ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", method}, {":path", path}, {":scheme", "http"}, {":authority", "a"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true}) // a buffer never fails
	}
	for i := 0; i < len(fields); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true})
	}
	return block.Bytes()
}

// incompleteHTTP2Header begins a header and never ends it.
func incompleteHTTP2Header(connection net.Conn) error {
	framer, err := greet(connection, complete)
	if err != nil {
		return err
	}
	block := headerBlock("GET", "/")
	for i := range 15 {
		var field bytes.Buffer
		_ = hpack.NewEncoder(&field).WriteField(hpack.HeaderField{Name: fmt.Sprint("x-", i), Value: strings.Repeat("x", 1000), Sensitive: true})
		block = append(block, field.Bytes()...)
	}
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:8000]}); err != nil {
		return err
	}
	return framer.WriteContinuation(1, false, block[8000:])
}
