package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// recorder is a proxy to the API server with the operator's permissions. It counts the operator's requests, and records its writes.
type recorder struct {
	to, withToken http.RoundTripper

	lock     sync.Mutex
	writes   []write
	requests []string // methods and paths
}

const proxyKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: proxy, cluster: {server: %q}}]
contexts: [{name: proxy, context: {cluster: proxy}}]
current-context: proxy
`

// startRecorded starts the operator behind a recorder.
func (p *controlPlane) startRecorded(ctx context.Context, path string, arguments ...string) (*recorder, *program, error) {
	to, errTo := rest.TransportFor(p.operator)
	withToken, errToken := rest.TransportFor(rest.AnonymousClientConfig(p.operator))
	target, errTarget := url.Parse(p.operator.Host)
	if err := errors.Join(errTo, errToken, errTarget); err != nil {
		return nil, nil, err
	}
	r := &recorder{to: to, withToken: withToken}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(request *httputil.ProxyRequest) { request.SetURL(target) },
		Transport:     r,
		FlushInterval: -1,                         // flush each event of a watch immediately
		ErrorLog:      log.New(io.Discard, "", 0), // the operator is killed in the middle of its watches
	})
	p.closers = append(p.closers, server.CloseClientConnections, server.Close)
	if err := os.WriteFile(p.kubeconfig("proxy"), fmt.Appendf(nil, proxyKubeconfig, server.URL), 0o600); err != nil {
		return nil, nil, err
	}
	g, err := p.startAs(ctx, "proxy", path, arguments...)
	return r, g, err
}

// RoundTrip forwards a request.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.count(request)
	if request.Header.Get("Authorization") != "" { // the operator asks whether a client may read its metrics
		return r.withToken.RoundTrip(request)
	}
	if request.Method == http.MethodGet {
		return r.to.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	response, err := r.to.RoundTrip(request)
	if err == nil && response.StatusCode/100 == 2 {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.writes = append(r.writes, write{request.Method, request.URL.RequestURI(), request.Header.Clone(), body, aVersion.Find(body)})
	}
	return response, err
}

func (r *recorder) count(request *http.Request) {
	r.lock.Lock()
	defer r.lock.Unlock()
	method := request.Method
	if request.URL.Query().Has("watch") {
		method = "WATCH"
	}
	r.requests = append(r.requests, method+" "+request.URL.Path)
}

// sent returns the requests so far.
func (r *recorder) sent() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Clone(r.requests)
}

// record runs the operator until one Echo has converged, and keeps the operator's writes.
func (b *benchmark) record(ctx context.Context) error {
	b.say("recording the operator's writes for an Echo")
	return onControlPlane(ctx, func(p *controlPlane) error {
		b.recorded = newEcho(99_999)
		if err := p.client.Create(ctx, b.recorded); err != nil {
			return err
		}
		r, _, err := p.startRecorded(ctx, b.manager)
		if err := errors.Join(err, p.awaitEvents(ctx, 1), p.quiet(ctx)); err != nil {
			return err
		}
		r.lock.Lock()
		defer r.lock.Unlock()
		for _, w := range r.writes {
			if bytes.Contains(append([]byte(w.uri), w.body...), []byte(b.recorded.Name)) {
				b.writes = append(b.writes, w)
				b.say("  %s %.120s (%d bytes)", w.method, w.uri, len(w.body))
			}
		}
		return nil
	})
}

// write is a recorded write for an Echo.
type write struct {
	method, uri string
	header      http.Header
	body        []byte
	version     []byte // the part of the body that contains the Echo's version, if any
}

// aVersion matches the version of an object. The operator uses the version 1, which no object has, to create objects. All other versions
// are the Echo's own: the API server would reject the write for another Echo.
var aVersion = regexp.MustCompile(`"resourceVersion":"\d\d+"`)

// to returns the URI and the body of the same write for another Echo. The body may contain lengths, so their names are equally long.
func (w write) to(echo, recorded *v1.Echo) (string, []byte) {
	body := bytes.ReplaceAll(w.body, []byte(recorded.Name), []byte(echo.Name))
	body = bytes.ReplaceAll(body, []byte(recorded.UID), []byte(echo.UID))
	if w.version != nil {
		body = bytes.ReplaceAll(body, w.version, []byte(`"resourceVersion":"`+echo.ResourceVersion+`"`))
	}
	return strings.ReplaceAll(w.uri, recorded.Name, echo.Name), body
}

// sendWrites is raw: it sends the operator's writes for the existing Echoes with the operator's permissions.
func (b *benchmark) sendWrites(ctx context.Context, p *controlPlane) error {
	list := &v1.EchoList{}
	if err := p.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return err
	}
	sender, err := rest.HTTPClientFor(p.operator)
	if err != nil {
		return err
	}
	return parallel(ctx, len(list.Items), func(ctx context.Context, i int) error {
		echo := &list.Items[i]
		for _, w := range b.writes {
			if err := w.send(ctx, sender, p.operator.Host, echo, b.recorded); err != nil {
				return err
			}
		}
		return nil
	})
}

// send sends the write for an Echo. After a write to the Echo itself, it keeps the Echo's new version.
func (w write) send(ctx context.Context, sender *http.Client, host string, echo, recorded *v1.Echo) error {
	uri, body := w.to(echo, recorded)
	request, err := http.NewRequestWithContext(ctx, w.method, strings.TrimSuffix(host, "/")+uri, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header["Content-Type"], request.Header["Accept"] = w.header["Content-Type"], w.header["Accept"]
	isEcho := strings.Contains(uri, "/echoes/")
	if isEcho { // the operator accepts the same in protobuf, in which the version is hard to find
		request.Header.Set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	}
	response, err := sender.Do(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.500s", w.method, uri, response.Status, answer)
	}
	if isEcho {
		_, after, _ := bytes.Cut(answer, []byte(`"resourceVersion":"`))
		version, _, _ := bytes.Cut(after, []byte(`"`))
		echo.ResourceVersion = string(version)
	}
	return nil
}
