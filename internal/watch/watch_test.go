package watch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

func TestReportEnd(t *testing.T) {
	object := watch.Event{Type: watch.Added, Object: &unstructured.Unstructured{}}
	forbidden := apierrors.NewForbidden(kinds()[0].resource.GroupResource(), "", errors.New("no")).ErrStatus
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	closed := apierrors.NewInternalError(errors.New("closed")).ErrStatus
	for name, c := range map[string]struct {
		events []watch.Event
		ended  bool
		want   []string
	}{
		"objects": {events: []watch.Event{object, object}},
		"an error": {events: []watch.Event{object, {Type: watch.Error, Object: &forbidden}},
			want: []string{`pods is forbidden: no`}},
		"too old":                     {events: []watch.Event{{Type: watch.Error, Object: &expired}}},
		"closed after it was too old": {events: []watch.Event{{Type: watch.Error, Object: &expired}, {Type: watch.Error, Object: &closed}}},
		"closed at the end":           {events: []watch.Event{object, {Type: watch.Error, Object: &closed}}, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.ended {
				cancel()
			}
			var reported []string
			filter := reportEnd(ctx, func(err error) { reported = append(reported, err.Error()) })
			for _, event := range c.events {
				if passed, keep := filter(event); !keep || passed.Object != event.Object {
					t.Error("the watch was changed")
				}
			}
			NewWithT(t).Expect(reported).To(BeComparableTo(c.want))
		})
	}
}

// podServer responds like an API server with one pod, and then reports that the pod was deleted. It serves only requests for its namespace
// and selector.
func podServer(out http.ResponseWriter, r *http.Request) {
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"web","uid":"u","resourceVersion":"%s"},"status":{"phase":"Running"}}`
	query := r.URL.Query()
	if r.URL.Path != "/api/v1/namespaces/ns/pods" || query.Get("labelSelector") != "app=web" || query.Get("sendInitialEvents") != "" {
		http.NotFound(out, r) // client-go sends a list request if initial events are not supported
		return
	}
	out.Header().Set("Content-Type", "application/json")
	if query.Get("watch") == "" {
		_, _ = fmt.Fprintf(out, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"5"},"items":[`+pod+`]}`, "1")
		return
	}
	_, _ = fmt.Fprintf(out, `{"type":"DELETED","object":`+pod+"}\n", "6")
	out.(http.Flusher).Flush()
	<-r.Context().Done()
}

func TestRun_printsUntilInterrupted(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(podServer))
	defer server.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	reader, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, &rest.Config{Host: server.URL}, Options{kind: kinds()[0], namespace: "ns", selector: "app=web"}, stdout, io.Discard)
	}()
	lines := bufio.NewScanner(reader)
	for _, want := range []string{"  ADDED    ns/web  Running", "  DELETED  ns/web  Running"} {
		g.Expect(lines.Scan()).To(BeTrue())
		g.Expect(lines.Text()).To(HaveSuffix(want))
	}
	interrupt()
	g.Expect(<-ended).To(Succeed(), "an interruption is not a failure")
}

func TestRun_endsOnFailedWrite(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(podServer))
	defer server.Close()
	err := Run(t.Context(), &rest.Config{Host: server.URL}, Options{kind: kinds()[0], namespace: "ns", selector: "app=web"}, broken{},
		io.Discard)
	NewWithT(t).Expect(err).To(MatchError(io.ErrClosedPipe))
}

func TestRun_rejectsUnusableConfig(t *testing.T) {
	err := Run(t.Context(), &rest.Config{Host: "http://a b"}, Options{kind: kinds()[0]}, io.Discard, io.Discard)
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("the cluster configuration cannot be used: ")))
}
