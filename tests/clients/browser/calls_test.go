package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// connectCall calls echo.v1.Echo using the Connect protocol with JSON.
const connectCall = `(async () => {
  const headers = {"Content-Type": "application/json", "Connect-Protocol-Version": "1"};
  const response = await fetch("/echo.v1.Echo/Unary", {method: "POST", headers, body: JSON.stringify({message: "hello"})});
  const {message, call} = await response.json();
  return response.status + " " + message + " " + call.method;
})()`

// grpcWebCall calls echo.v1.Echo using gRPC-Web, and expects three responses and the trailers, each preceded by a five-byte prefix.
const grpcWebCall = `(async () => {
  const message = Uint8Array.of(0x0a, 5, ...new TextEncoder().encode("hello"), 0x18, 3); // message: "hello", count: 3
  const body = Uint8Array.of(0, 0, 0, 0, message.length, ...message);
  const headers = {"Content-Type": "application/grpc-web+proto", "X-Grpc-Web": "1"};
  const response = await fetch("/echo.v1.Echo/ServerStream", {method: "POST", headers, body});
  const data = await response.arrayBuffer();
  let got = response.status + " " + response.headers.get("Content-Type");
  for (let at = 0; at < data.byteLength;) {
    const view = new DataView(data, at);
    const part = new TextDecoder().decode(new Uint8Array(data, at + 5, view.getUint32(1)));
    got += view.getUint8(0) === 0x80 ? " " + part.trim() : part.includes("hello") ? " hello" : " other";
    at += 5 + view.getUint32(1);
  }
  return got;
})()`

// TestCallsFromAPage calls the server from a page with the same origin, so no CORS headers are needed.
func TestCallsFromAPage(t *testing.T) {
	server := clients.Start(t)
	tab := open(t, nil)
	tab.do(t, chromedp.Navigate("http://"+server+"/-/ws"), chromedp.WaitEnabled("#send"))
	for script, want := range map[string]string{
		connectCall: "200 hello /echo.v1.Echo/Unary",
		grpcWebCall: "200 application/grpc-web+proto hello hello hello grpc-status: 0",
	} {
		if got := run(t, tab, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise)); got != want {
			t.Errorf("the response is %q, want %q", got, want)
		}
	}
	tab.expectNoErrors(t, server)
}
