package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fullAnswer returns an answer without a field that is empty, with a text in it that needs escapes.
func fullAnswer() answer {
	size := 3
	odd := "\"\\\n\x00\x7f\xff\u2028<b>&é"
	return answer{Path: odd, Host: odd, Method: "GET", Proto: "HTTP/1.1", Headers: map[string][]string{"B": {"1", odd}, "A": {}, odd: {""}},
		Port: "8080", identity: identity{Namespace: "a", Ingress: "b", Service: "c", Pod: "d"},
		TLS: &tlsAnswer{Version: "TLSv1.3", PeerCertificates: []string{odd, "b"}, ServerName: odd, NegotiatedProtocol: "h2", CipherSuite: "c"},
		Request: request{ID: odd, Time: time.Unix(1, 5).UTC(), Query: map[string][]string{"": {odd}}, ContentLength: -1, HeaderNames: []string{"a", odd},
			Trailers: map[string][]string{"X-Sum": {"1", odd}}, Body: &body{Size: 1 << 40, SHA256: "00", Data: odd, Encoding: "utf-8", Truncated: true}},
		Client: client{Remote: "r", Address: "a", ForwardedFor: []string{"x", odd}, Forwarded: []forwardedPair{{For: "f", By: "b"}, {Host: "h", Proto: "p"}},
			Certificate: &certificate{Subject: odd, Issuer: odd, NotBefore: time.Unix(2, 0).UTC(), NotAfter: time.Unix(3, 0).UTC(), AlternativeNames: []string{odd, "b"},
				SHA256: "00", Verified: true}},
		Trace:  &trace{Version: "00", TraceID: "1", ParentID: "2", Sampled: true},
		Server: server{Node: "n", PodIP: "p", HostIP: "h", Version: "v", Uptime: "1s", Draining: true, Info: map[string]string{"b": odd, "a": ""}},
		Applied: &applied{Status: 200, Delay: "1s", SetHeader: []string{"A", odd}, Size: &size, Format: formatText, Percentage: 30, Failures: 2, EarlyHints: true,
			Connection: connectionReset, Fault: new(0)}}
}

// TestAnswerJSON compares the answer's own writer with encoding/json, which the tags of the types control.
func TestAnswerJSON(t *testing.T) {
	for name, a := range map[string]answer{"full": fullAnswer(), "empty": {Headers: map[string][]string{}}, "empty groups": {Headers: map[string][]string{},
		Request: request{Body: &body{}}, TLS: &tlsAnswer{}, Client: client{Certificate: &certificate{}}, Trace: &trace{}, Applied: &applied{}}} {
		if diff := cmp.Diff(marshalled(t, a)+"\n", string(a.json(nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// maybe returns a text that is empty in half of the cases.
func (s jsonSource) maybe() string {
	if s.IntN(2) == 0 {
		return ""
	}
	return s.text()
}

// answer returns an answer in which each optional field may be empty, independently of the others.
func (s jsonSource) answer() answer {
	a := answer{Path: s.text(), Host: s.text(), Method: s.text(), Proto: s.text(), Headers: s.lists(), Port: s.text(),
		identity: identity{Namespace: s.maybe(), Ingress: s.maybe(), Service: s.maybe(), Pod: s.maybe()},
		Request: request{ID: s.text(), Time: time.Unix(s.Int64N(4e9), s.Int64N(1e9)).UTC(), Query: s.lists(), HeaderNames: s.list(), Trailers: s.lists(),
			ContentLength: s.Int64N(100) - 1},
		Client: client{Remote: s.maybe(), Address: s.maybe(), ForwardedFor: s.list()},
		Server: server{Node: s.maybe(), PodIP: s.maybe(), HostIP: s.maybe(), Version: s.maybe(), Uptime: s.maybe(), Draining: s.IntN(2) == 0,
			Info: map[string]string{}}}
	if s.IntN(2) == 0 {
		a.Request.Body = &body{Size: int64(s.Uint64() >> 1), SHA256: s.text(), Data: s.text(), Encoding: s.text(), Truncated: s.IntN(2) == 0}
	}
	if s.IntN(2) == 0 {
		a.Trace = &trace{Version: s.text(), TraceID: s.text(), ParentID: s.text(), Sampled: s.IntN(2) == 0}
	}
	if s.IntN(2) == 0 {
		a.Applied = &applied{Status: s.IntN(2) * 503, Delay: s.maybe(), SetHeader: s.list(), Format: format(s.maybe()), Percentage: s.IntN(2), Failures: s.IntN(3),
			Connection: connectionFault(s.maybe()), body: s.IntN(2) == 0}
		if s.IntN(2) == 0 {
			a.Applied.Size, a.Applied.Fault = new(s.IntN(3)), new(s.IntN(3))
		}
	}
	if s.IntN(2) == 0 {
		a.TLS = &tlsAnswer{Version: s.text(), PeerCertificates: s.list(), ServerName: s.text(), NegotiatedProtocol: s.maybe(), CipherSuite: s.text()}
		a.Client.Certificate = &certificate{Subject: s.text(), Issuer: s.text(), NotBefore: time.Unix(s.Int64N(4e9), 0).UTC(),
			NotAfter: time.Unix(s.Int64N(4e9), 0).UTC(), AlternativeNames: s.list(), SHA256: s.text(), Verified: s.IntN(2) == 0}
	}
	for range s.IntN(3) {
		a.Client.Forwarded = append(a.Client.Forwarded, forwardedPair{For: s.maybe(), By: s.maybe(), Host: s.maybe(), Proto: s.maybe()})
		a.Server.Info[s.validText()] = s.text()
	}
	return a
}

func TestAnswerJSONOfGeneratedAnswers(t *testing.T) {
	for seed := range uint64(2000) {
		a := newJSONSource(seed).answer()
		if diff := cmp.Diff(marshalled(t, a)+"\n", string(a.json(nil))); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// TestAnswerJSONAppends writes to buffers of different sizes, as the handler does with one that it has used before.
func TestAnswerJSONAppends(t *testing.T) {
	a := fullAnswer()
	want := string(a.json(nil))
	for name, buffer := range map[string][]byte{"too small": make([]byte, 0, 7), "exact": make([]byte, 0, len(want)), "one byte short": make([]byte, 0, len(want)-1),
		"large": make([]byte, 0, answerCapacity), "used before": []byte(strings.Repeat("used", answerCapacity/4))[:0]} {
		if got := string(a.json(buffer)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestAnswerJSONIsReadByConformanceClients reads a response as the client of the Gateway API conformance suite does.
func TestAnswerJSONIsReadByConformanceClients(t *testing.T) {
	type captured struct {
		Path      string              `json:"path"`
		Host      string              `json:"host"`
		Method    string              `json:"method"`
		Proto     string              `json:"proto"`
		Headers   map[string][]string `json:"headers"`
		HTTPPort  string              `json:"httpPort"`
		Namespace string              `json:"namespace"`
		Ingress   string              `json:"ingress"`
		Service   string              `json:"service"`
		Pod       string              `json:"pod"`
	}
	h := handlerOf(t, "POD_NAMESPACE=ns", "POD_NAME=p", "SERVICE_NAME=s", "INGRESS_NAME=i")
	var got captured
	if err := json.Unmarshal(answered(h, "/a?b=c", "X-A", "1", "X-A", "2").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := captured{Path: "/a?b=c", Host: "example.com", Method: "GET", Proto: "HTTP/1.1", Headers: map[string][]string{"X-A": {"1", "2"}}, HTTPPort: "8080",
		Namespace: "ns", Ingress: "i", Service: "s", Pod: "p"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
