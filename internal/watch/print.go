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
	// longest is the length of the longest value in text output, in characters.
	longest = 100
)

// event is something that happened, as printed in JSON.
type event struct {
	Time      time.Time      `json:"time"`
	Type      string         `json:"type"`
	Kind      string         `json:"kind"`
	Namespace string         `json:"namespace,omitempty"`
	Name      string         `json:"name,omitempty"`
	Changes   []change       `json:"changes,omitempty"`
	Object    map[string]any `json:"object,omitempty"`
	Message   string         `json:"message,omitempty"`
}

// printer prints events, each in one write, because errors and objects come from different goroutines.
type printer struct {
	stdout, stderr io.Writer
	json           bool
	kind           kind
	now            func() time.Time
	failed         func(error) // called when nothing can be printed any more

	lock sync.Mutex
}

func (p *printer) added(object *unstructured.Unstructured) { p.object(added, object, nil) }

func (p *printer) deleted(object *unstructured.Unstructured) { p.object(deleted, object, nil) }

// updated prints nothing when nothing changed, as for most objects after an interruption.
func (p *printer) updated(before, after *unstructured.Unstructured) {
	if differences := changes(before.Object, after.Object); len(differences) > 0 {
		p.object(updated, after, differences)
	}
}

func (p *printer) object(what string, object *unstructured.Unstructured, differences []change) {
	p.print(event{Type: what, Namespace: object.GetNamespace(), Name: object.GetName(), Changes: differences, Object: object.Object})
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

// line returns an event as JSON or text.
func (e event) line(asJSON bool, summary func(map[string]any) string) ([]byte, error) {
	if asJSON {
		if e.Object != nil {
			e.Object = shown(place{}, e.Object).(map[string]any)
		}
		return encode(e)
	}
	return []byte(e.words(summary) + "\n"), nil
}

func (e event) words(summary func(map[string]any) string) string {
	at := e.Time.Format(time.RFC3339)
	if e.Type == failed {
		return fmt.Sprintf("%-7s  %s  %s", e.Type, at, strings.Join(strings.Fields(e.Message), " "))
	}
	name := strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	about := summary(e.Object)
	if e.Type == updated {
		about = list(e.Changes)
	}
	return strings.TrimRight(fmt.Sprintf("%s  %-7s  %s  %s", at, e.Type, name, about), " ")
}

func list(changes []change) string {
	all := make([]string, 0, len(changes))
	for _, c := range changes {
		all = append(all, fmt.Sprintf("%s: %s -> %s", c.Path, brief(c.Before), brief(c.After)))
	}
	return strings.Join(all, ", ")
}

// brief returns a value as part of a line.
func brief(value any) string {
	switch value {
	case nil:
		return "(none)"
	case hidden:
		return hidden
	}
	encoded, err := encode(value)
	if err != nil {
		return fmt.Sprintf("(%v)", err)
	}
	characters := []rune(strings.TrimSuffix(string(encoded), "\n"))
	if len(characters) > longest {
		return string(characters[:longest]) + "..."
	}
	return string(characters)
}

// encode returns JSON on one line, in which <, > and & are not escaped.
func encode(value any) ([]byte, error) {
	line := &bytes.Buffer{}
	encoder := json.NewEncoder(line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return line.Bytes(), err
}
