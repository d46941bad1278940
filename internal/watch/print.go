package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	added   = "ADDED"
	updated = "UPDATED"
	deleted = "DELETED"
	failed  = "ERROR"
)

// event is a change or an error, as printed in JSON.
type event struct {
	Time      time.Time      `json:"time"`
	Type      string         `json:"type"`
	Kind      string         `json:"kind"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	Object    map[string]any `json:"object,omitempty"`
	Message   string         `json:"message,omitempty"`
}

// printer prints each event with a single write, because errors and objects come from different goroutines.
type printer struct {
	stdout, stderr io.Writer
	json           bool
	kind           kind
	now            func() time.Time
	failed         func(error) // called if printing fails

	lock sync.Mutex
}

func (p *printer) object(what string, object *unstructured.Unstructured) {
	p.print(event{Type: what, Namespace: object.GetNamespace(), Name: object.GetName(), Object: object.Object})
}

func (p *printer) failure(err error) { p.print(event{Type: failed, Message: err.Error()}) }

func (p *printer) print(e event) {
	p.lock.Lock()
	defer p.lock.Unlock()
	e.Time, e.Kind = p.now(), p.kind.kind
	line, err := e.line(p.json, p.kind.summary)
	if err == nil {
		to := p.stdout
		if e.Type == failed && !p.json {
			to = p.stderr
		}
		_, err = to.Write(line)
	}
	if err != nil {
		p.failed(fmt.Errorf("printing: %w", err))
	}
}

// line returns an event as text, or as JSON in which the characters <, >, and & are not escaped.
func (e event) line(asJSON bool, summary func(map[string]any) string) ([]byte, error) {
	if !asJSON {
		return []byte(e.words(summary) + "\n"), nil
	}
	line := &bytes.Buffer{}
	encoder := json.NewEncoder(line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(e)
	return line.Bytes(), err
}

func (e event) words(summary func(map[string]any) string) string {
	at := e.Time.Format(time.RFC3339)
	if e.Type == failed {
		return fmt.Sprintf("%-7s  %s  %s", e.Type, at, strings.Join(strings.Fields(e.Message), " "))
	}
	name := strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	return strings.TrimRight(fmt.Sprintf("%s  %-7s  %s  %s", at, e.Type, name, summary(e.Object)), " ")
}
