package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/replay"
)

const (
	echoes   = "/apis/example.com/v1/namespaces/" + replay.Namespace + "/echoes"
	jsonType = "application/json"
)

type writer struct {
	options
	client   *replay.Client
	template replay.Template
	// known contains the known values of the existing Echoes, by name.
	known map[string]replay.Known
}

// timing contains the times from the first request for an Echo until its Deployment is written, and until the last write.
type timing struct{ Deployment, Last time.Duration }

// buffers contains the URI and the body of one request.
type buffers struct{ uri, body []byte }

// list returns the existing Echoes.
func (w *writer) list(ctx context.Context) (map[string]replay.Known, error) {
	if w.create {
		return map[string]replay.Known{}, nil
	}
	answer := &bytes.Buffer{}
	if err := w.client.Send(ctx, http.MethodGet, echoes, jsonType, jsonType, nil, answer); err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name, UID, ResourceVersion string }
		}
	}
	if err := json.Unmarshal(answer.Bytes(), &list); err != nil {
		return nil, err
	}
	known := make(map[string]replay.Known, len(list.Items))
	for _, echo := range list.Items {
		known[echo.Metadata.Name] = replay.Known{UID: []byte(echo.Metadata.UID), Version: []byte(echo.Metadata.ResourceVersion)}
	}
	return known, nil
}

// writeOne creates an Echo if the -create flag is set, and sends the template's writes.
func (w *writer) writeOne(ctx context.Context, number int, answer *bytes.Buffer, b *buffers) (timing, error) {
	name := fmt.Sprintf("echo-%05d", number)
	answers := make(replay.Answers, 1+len(w.template.Requests))
	answers[0] = w.known[name]
	began, took := time.Now(), timing{}
	if w.create {
		if err := w.createEcho(ctx, name, answer); err != nil {
			return took, err
		}
		if err := answers[0].Keep(answer.Bytes(), []replay.Value{replay.UID, replay.Version}); err != nil {
			return took, err
		}
	}
	for i := range w.template.Requests {
		r := &w.template.Requests[i]
		b.uri = replay.Append(b.uri[:0], r.URI, name, answers)
		b.body = replay.Append(b.body[:0], r.Body, name, answers)
		if err := w.client.Send(ctx, r.Method, string(b.uri), r.ContentType, r.Accept, b.body, answer); err != nil {
			return took, err
		}
		if err := answers[i+1].Keep(answer.Bytes(), r.Needs); err != nil {
			return took, err
		}
		if bytes.Contains(b.uri, []byte("/deployments")) {
			took.Deployment = time.Since(began)
		}
	}
	took.Last = time.Since(began)
	return took, nil
}

func (w *writer) createEcho(ctx context.Context, name string, answer *bytes.Buffer) error {
	body := `{"apiVersion":"example.com/v1","kind":"Echo","metadata":{"name":"` + name + `"},"spec":{"replicas":2}}`
	return w.client.Send(ctx, http.MethodPost, echoes, jsonType, jsonType, []byte(body), answer)
}
