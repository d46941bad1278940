package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/replay"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/requests"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
)

const (
	recordedName = "echo-99999"
	// recordTimeout limits the duration of a recording.
	recordTimeout = time.Minute
)

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// recorder is a proxy to the API server that records the writes for an Echo.
type recorder struct {
	proxy *httputil.ReverseProxy
	url   string

	lock       sync.Mutex
	writes     []replay.Write
	last       time.Time
	firstWatch time.Time
	// requests counts all requests by method and path, without the names of leases.
	requests requests.Counts
}

// startRecorder starts a proxy that forwards requests with the operator's credentials, unless they carry a token.
func startRecorder(p *testbed.ControlPlane) (*recorder, *httptest.Server, error) {
	transport, err := rest.TransportFor(p.Operator)
	if err != nil {
		return nil, nil, err
	}
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(p.Operator))
	if err != nil {
		return nil, nil, err
	}
	target, err := url.Parse(p.URL)
	if err != nil {
		return nil, nil, err
	}
	r := &recorder{requests: requests.Counts{}, proxy: &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport: roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Header.Get("Authorization") != "" {
				return anonymous.RoundTrip(request)
			}
			return transport.RoundTrip(request)
		}),
		FlushInterval: -1,                                   // flush each event of a watch immediately
		ErrorLog:      log.New(io.Discard, "", log.Flags()), // discards errors from requests that are interrupted when the operator stops
	}}
	server := httptest.NewServer(r)
	r.url = server.URL
	return r, server, nil
}

// ServeHTTP forwards a request.
func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.count(request)
	if request.Method == http.MethodGet {
		r.proxy.ServeHTTP(w, request)
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	r.proxy.ServeHTTP(answer, request)
	r.note(request, body, answer)
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = answer.Body.WriteTo(w) // the client notices an incomplete response
}

// count counts a request, and records the time when the first watch begins.
func (r *recorder) count(request *http.Request) {
	r.lock.Lock()
	defer r.lock.Unlock()
	method, path := request.Method, request.URL.Path
	switch {
	case request.URL.Query().Has("watch"):
		method = "WATCH"
		if r.firstWatch.IsZero() {
			r.firstWatch = time.Now()
		}
	case strings.Contains(path, "/leases"): // with or without a name
		path, _, _ = strings.Cut(path, "/leases")
		path += " leases"
	}
	r.requests[method+" "+path]++
}

// counted returns the requests counted so far.
func (r *recorder) counted() requests.Counts {
	r.lock.Lock()
	defer r.lock.Unlock()
	return maps.Clone(r.requests)
}

// note records a write if it belongs to the Echo and succeeded.
func (r *recorder) note(request *http.Request, body []byte, answer *httptest.ResponseRecorder) {
	if answer.Code/100 != 2 || !bytes.Contains(append(body, request.URL.Path...), []byte(recordedName)) {
		return
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.last = time.Now()
	r.writes = append(r.writes, replay.Write{
		Method: request.Method, URI: request.URL.RequestURI(), ContentType: request.Header.Get("Content-Type"),
		Accept: request.Header.Get("Accept"),
		Body:   body, Answer: bytes.Clone(answer.Body.Bytes()),
	})
}

// complete reports whether the Echo has converged, that is, whether no further writes have arrived for some time.
func (r *recorder) complete(context.Context) (bool, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	return len(r.writes) > 0 && time.Since(r.last) > testbed.Silence, nil
}

// watching reports whether the operator has started a watch.
func (r *recorder) watching(context.Context) (bool, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	return !r.firstWatch.IsZero(), nil
}

// startRecorded starts a program behind a proxy. The returned function stops the program and the proxy.
func startRecorded(ctx context.Context, p *testbed.ControlPlane, program string, arguments ...string) (
	*recorder, *testbed.Program, func() error, error,
) {
	r, server, err := startRecorder(p)
	if err != nil {
		return nil, nil, nil, err
	}
	path := p.Kubeconfig("recorded")
	if err := clientcmd.WriteToFile(plainKubeconfig(r.url), path); err != nil {
		server.Close()
		return nil, nil, nil, err
	}
	operator, err := testbed.StartOperator(ctx, p, program, path, arguments...)
	if err != nil {
		server.Close()
		return nil, nil, nil, err
	}
	end := func() error {
		err := operator.Kill()
		server.CloseClientConnections()
		server.Close()
		return err
	}
	return r, operator, end, nil
}

func plainKubeconfig(address string) clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters["proxy"] = &clientcmdapi.Cluster{Server: address}
	c.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy"}
	c.CurrentContext = "proxy"
	return *c
}

// record runs the operator until one Echo has converged, turns the operator's writes into a template, and counts the Echo's objects.
func (b *benchmark) record(ctx context.Context) (err error) {
	b.say("recording the operator's writes for an Echo")
	p, err := testbed.StartControlPlane(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	r, operator, end, err := startRecorded(ctx, p, b.manager)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := testbed.Poll(ctx, recordTimeout, r.watching); err != nil {
		return operator.Failure(err)
	}
	echo := &v1.Echo{Spec: v1.EchoSpec{Replicas: new(int32(2))}}
	echo.Name, echo.Namespace = recordedName, testbed.Namespace
	if err := p.Client.Create(ctx, echo); err != nil {
		return err
	}
	if err := testbed.Poll(ctx, recordTimeout, r.complete); err != nil {
		return operator.Failure(err)
	}
	if b.perEcho, err = p.Inventory(ctx); err != nil {
		return err
	}
	created := fmt.Appendf(nil, `{"metadata":{"resourceVersion":"%s","uid":"%s"}}`, echo.ResourceVersion, echo.UID)
	return b.keepTemplate(created, r.writes)
}

func (b *benchmark) keepTemplate(created []byte, writes []replay.Write) error {
	template, err := replay.NewTemplate(recordedName, created, writes)
	if err != nil {
		return err
	}
	for _, w := range writes {
		path, _, _ := strings.Cut(w.URI, "?")
		b.say("  %s %s (%d bytes, %s)", w.Method, path, len(w.Body), w.ContentType)
		if strings.HasSuffix(path, "/events") {
			b.events++
		}
	}
	if b.events == 0 {
		return errors.New("the operator wrote no event: without one, the benchmark cannot know when an Echo is converged")
	}
	text, err := json.Marshal(template)
	if err != nil {
		return err
	}
	return os.WriteFile(b.template, text, 0o600)
}
