// Package browser opens the echo server's pages in headless Chromium.
package browser

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// patience is the maximum time for loading a page, including the start of the browser on a busy machine.
const patience = time.Minute

func TestEchoPage(t *testing.T) {
	server := clients.Start(t, "ECHO_POD_NAME=test-echo-5d9c7b8f4-x2x7k", "ECHO_POD_NAMESPACE=shop", "ECHO_SERVICE_NAME=test-echo",
		"ECHO_NODE_NAME=worker-1", "ECHO_INFO_COLOR=blue", "ECHO_TRUSTED_PROXIES=127.0.0.0/8")
	tab := open(t, network.Headers{
		"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https", "Cookie": "session=hunter2",
		"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	})
	tab.do(t, chromedp.Navigate("http://"+server+"/shop/cart?color=blue&q=caf%E9"), chromedp.WaitVisible("#echo table"))
	title, text := run(t, tab, chromedp.Title()), run(t, tab, chromedp.Text("body"))
	tab.screenshot(t, "echo")
	if want := "GET " + server + " - Echo"; title != want {
		t.Errorf("the title is %q, want %q", title, want)
	}
	for _, want := range []string{"GET /shop/cart?color=blue&q=caf%E9", "caf\uFFFD", "where=query; name=q; index=0; base64=Y2Fm6Q==",
		"203.0.113.7", "test-echo-5d9c7b8f4-x2x7k", "worker-1", "COLOR", "blue",
		"0af7651916cd43dd8448eb211c80319c", "[redacted: 15 bytes"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q:\n%s", want, text)
		}
	}
	tab.expectNoErrors(t, server)
}

// attack is markup that changes the page's title unless the page escapes it.
const attack = "</script><script>document.title='broken'</script><img src=x onerror=document.title='broken'>"

func TestMarkupStaysText(t *testing.T) {
	server := clients.Start(t, "ECHO_INFO_ATTACK="+attack)
	tab := open(t, network.Headers{"X-Attack": attack})
	tab.do(t, chromedp.Navigate("http://"+server+"/"+attack+"?x="+attack), chromedp.WaitVisible("#echo table"))
	title, text := run(t, tab, chromedp.Title()), run(t, tab, chromedp.Text("#echo"))
	if !strings.HasPrefix(title, "GET ") {
		t.Errorf("the title is %q", title)
	}
	if shown := strings.Count(text, attack); shown != 3 { // in the header, the query, and the server information
		t.Errorf("the markup is shown %d times:\n%s", shown, text)
	}
	tab.expectNoErrors(t, server)
}

func TestWebSocketPage(t *testing.T) {
	server := clients.Start(t)
	tab := open(t, nil)
	tab.do(t,
		chromedp.Navigate("http://"+server+"/shop/-/ws"), // as if behind an Ingress with a path
		chromedp.WaitEnabled("#send"),
		chromedp.SendKeys("#message", "hello "+attack),
		chromedp.Click("#send"),
		chromedp.WaitVisible("li.received"),
	)
	log := run(t, tab, chromedp.Text("#log"))
	tab.screenshot(t, "websocket")
	for _, want := range []string{"sent: hello " + attack, "received: hello " + attack} {
		if !strings.Contains(log, want) {
			t.Errorf("the page does not show %q:\n%s", want, log)
		}
	}
	tab.expectNoErrors(t, server)
}

// tab is a browser tab with its recorded errors and requests.
type tab struct {
	context context.Context //nolint:containedctx // chromedp keeps its tabs in contexts
	mutex   sync.Mutex
	errors  []string
	loaded  []string
}

// open opens a tab that adds the given headers to each request.
func open(t *testing.T, headers network.Headers) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WindowSize(1100, 1200), chromedp.Flag("force-color-profile", "srgb"))
	if os.Getuid() == 0 { // root cannot use Chromium's sandbox
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	opened := &tab{}
	ctx, _ = chromedp.NewContext(ctx, chromedp.WithListener(opened.record))
	opened.context = ctx
	t.Cleanup(func() { // a killed browser would leave a directory behind
		if err := chromedp.Cancel(ctx); err != nil {
			t.Error(err)
		}
	})
	opened.do(t, command(network.Enable, network.EnableParams{}), command(log.Enable, cdp.Empty{}), command(runtime.Enable, cdp.Empty{}))
	if headers != nil {
		opened.do(t, command(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: headers}))
	}
	return opened
}

// command returns an action that sends a command and ignores the result.
func command[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

func run[T any](t *testing.T, tab *tab, action chromedp.Action[T]) T {
	t.Helper()
	value, err := chromedp.Run(tab.context, action)
	if err != nil {
		t.Fatalf("%v; the errors of the browser are %q", err, tab.errors)
	}
	return value
}

func (tab *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	run(t, tab, chromedp.Steps(actions...))
}

// record records the browser's errors and requests.
func (tab *tab) record(event any) {
	tab.mutex.Lock()
	defer tab.mutex.Unlock()
	switch event := event.(type) {
	case *log.EventEntryAdded:
		tab.errors = append(tab.errors, event.Entry.Text)
	case *runtime.EventExceptionThrown:
		tab.errors = append(tab.errors, (&chromedp.ExceptionError{ExceptionDetails: event.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		tab.errors = append(tab.errors, "console."+string(event.Type))
	case *network.EventRequestWillBeSent:
		tab.loaded = append(tab.loaded, event.Request.URL)
	case *network.EventWebSocketCreated:
		tab.loaded = append(tab.loaded, strings.Replace(event.URL, "ws://", "http://", 1))
	}
}

// expectNoErrors fails the test if the browser reported errors or sent requests to another server.
func (tab *tab) expectNoErrors(t *testing.T, server string) {
	t.Helper()
	tab.mutex.Lock()
	defer tab.mutex.Unlock()
	if len(tab.errors) > 0 {
		t.Errorf("the errors of the browser are %q", tab.errors)
	}
	if len(tab.loaded) == 0 {
		t.Error("no requests were recorded, not even the request for the page")
	}
	for _, url := range tab.loaded {
		if !strings.HasPrefix(url, "http://"+server+"/") && !strings.HasPrefix(url, "data:") {
			t.Errorf("the page requested %s", url)
		}
	}
}

// screenshot saves a screenshot in the directory that SCREENSHOTS specifies, if any.
func (tab *tab) screenshot(t *testing.T, name string) {
	t.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		return
	}
	picture := run(t, tab, chromedp.CaptureScreenshot())
	if err := os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
