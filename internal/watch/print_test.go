package watch

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/cache"
)

const (
	pending = `{metadata: {namespace: default, name: web, uid: u, resourceVersion: "1"}, status: {phase: Pending}}`
	running = `{metadata: {namespace: default, name: web, uid: u, resourceVersion: "2"}, status: {phase: Running}}`
	another = `{metadata: {namespace: default, name: web, uid: v, resourceVersion: "3"}, status: {phase: Pending}}`
)

func TestPrint(t *testing.T) {
	for name, c := range map[string]struct {
		happens              func(*printer, cache.ResourceEventHandler)
		stdout, stderr, json string
	}{
		"added": {
			happens: func(_ *printer, h cache.ResourceEventHandler) { h.OnAdd(state(t, pending), true) },
			stdout:  "2026-01-02T03:04:05Z  ADDED    default/web  Pending\n",
			json: `{"time":"2026-01-02T03:04:05.006Z","type":"ADDED","kind":"Pod","namespace":"default","name":"web","object":` +
				`{"metadata":{"name":"web","namespace":"default","resourceVersion":"1","uid":"u"},"status":{"phase":"Pending"}}}` + "\n",
		},
		"updated": {
			happens: func(_ *printer, h cache.ResourceEventHandler) { h.OnUpdate(state(t, pending), state(t, running)) },
			stdout:  "2026-01-02T03:04:05Z  UPDATED  default/web  Running\n",
			json: `{"time":"2026-01-02T03:04:05.006Z","type":"UPDATED","kind":"Pod","namespace":"default","name":"web","object":` +
				`{"metadata":{"name":"web","namespace":"default","resourceVersion":"2","uid":"u"},"status":{"phase":"Running"}}}` + "\n",
		},
		"the same again": {happens: func(_ *printer, h cache.ResourceEventHandler) { h.OnUpdate(state(t, pending), state(t, pending)) }},
		"another object of the same name": {
			happens: func(_ *printer, h cache.ResourceEventHandler) { h.OnUpdate(state(t, running), state(t, another)) },
			stdout:  "2026-01-02T03:04:05Z  DELETED  default/web  Running\n2026-01-02T03:04:05Z  ADDED    default/web  Pending\n",
		},
		"deleted": {
			happens: func(_ *printer, h cache.ResourceEventHandler) { h.OnDelete(state(t, running)) },
			stdout:  "2026-01-02T03:04:05Z  DELETED  default/web  Running\n",
		},
		"deleted unseen": {
			happens: func(_ *printer, h cache.ResourceEventHandler) {
				h.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/web", Obj: state(t, running)})
			},
			stdout: "2026-01-02T03:04:05Z  DELETED  default/web  Running\n",
		},
		"an error": {
			happens: func(p *printer, _ cache.ResourceEventHandler) { p.failure(errors.New("pods is\n<forbidden>")) },
			stderr:  "ERROR    2026-01-02T03:04:05Z  pods is <forbidden>\n",
			json:    `{"time":"2026-01-02T03:04:05.006Z","type":"ERROR","kind":"Pod","message":"pods is\n<forbidden>"}` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr := &strings.Builder{}, &strings.Builder{}
			p := testPrinter(t, stdout, stderr)
			c.happens(p, handler(p))
			g.Expect([]string{stdout.String(), stderr.String()}).To(BeComparableTo([]string{c.stdout, c.stderr}))
			if c.json == "" {
				return
			}
			stdout.Reset()
			stderr.Reset()
			p.json = true
			c.happens(p, handler(p))
			g.Expect([]string{stdout.String(), stderr.String()}).To(BeComparableTo([]string{c.json, ""}))
		})
	}
}

func TestPrint_reportsFailedWrite(t *testing.T) {
	p := testPrinter(t, broken{}, io.Discard)
	var told error
	p.failed = func(err error) { told = err }
	p.object(added, state(t, pending))
	if !errors.Is(told, io.ErrClosedPipe) {
		t.Error(told)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func testPrinter(t *testing.T, stdout, stderr io.Writer) *printer {
	t.Helper()
	return &printer{stdout: stdout, stderr: stderr, kind: kinds()[0],
		now:    func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC) },
		failed: func(err error) { t.Error(err) },
	}
}
