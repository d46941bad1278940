package platform

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// TestTheProfileIsAskedForUntilTheAPIServerAnswers: an error of the API server neither hides a strict profile nor keeps clients waiting.
func TestTheProfileIsAskedForUntilTheAPIServerAnswers(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 || !strings.HasSuffix(r.URL.Path, "/apiservers/cluster") {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion": "config.openshift.io/v1", "kind": "APIServer", "spec": {"tlsSecurityProfile": {"type": "Modern"}}}`))
	}))
	defer server.Close()
	profile, err := NewClusterTLS(&rest.Config{Host: server.URL}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if !profile.served(ctx) {
		t.Error("the profile is not followed")
	}
	if got := profile.current().minVersion; got != tls.VersionTLS13 || asked.Load() < 2 {
		t.Errorf("the minimum is %s after %d requests", tls.VersionName(got), asked.Load())
	}
	select {
	case <-profile.known:
	default:
		t.Error("clients wait")
	}
}

// cluster answers requests for its profile with the next of some answers, the last one again and again: an HTTP status, or the type of a
// profile.
type cluster struct {
	answers []any
	asked   atomic.Int32
}

// RoundTrip implements http.RoundTripper, without a network: the retries take no time in a bubble of synctest.
func (c *cluster) RoundTrip(request *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	switch answer := c.answers[min(int(c.asked.Add(1)), len(c.answers))-1].(type) {
	case int:
		w.WriteHeader(answer)
	case string:
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion": "config.openshift.io/v1", "kind": "APIServer", "spec": {"tlsSecurityProfile": {"type": %q}}}`, answer)
	}
	answer := w.Result()
	answer.Request = request
	return answer, nil
}

// profileOfCluster returns the profile of a cluster that gives some answers.
func profileOfCluster(t *testing.T, answers ...any) *ClusterTLS {
	t.Helper()
	profile, err := NewClusterTLS(&rest.Config{Host: "https://cluster", Transport: &cluster{answers: answers}}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	return profile
}

func TestWhatAClusterRequires(t *testing.T) {
	for name, c := range map[string]struct {
		answers []any
		version string
		events  int
	}{
		"no OpenShift":                   {[]any{http.StatusNotFound}, "", 0},
		"no OpenShift, after a problem":  {[]any{http.StatusInternalServerError, http.StatusNotFound}, "", 1},
		"OpenShift":                      {[]any{"Modern"}, "VersionTLS13", 1},
		"OpenShift that permits it late": {[]any{http.StatusForbidden, "Intermediate"}, "VersionTLS12", 1},
		"OpenShift, after problems":      {[]any{http.StatusServiceUnavailable, http.StatusInternalServerError, "Intermediate"}, "VersionTLS12", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			profile := profileOfCluster(t, c.answers...)
			changes := profile.Changes()
			profile.served(t.Context())
			version, _, err := profile.Required(t.Context())
			if version != c.version || err != nil || len(changes) != c.events {
				t.Errorf("%s: got %q, %v, and %d events", name, version, err, len(changes))
			}
		})
	}
}

// TestAProfileThatCannotBeReadIsNotGuessed: pods would be restarted by a guess, and once more when the profile is known. What the operator
// may not read is not its concern.
func TestAProfileThatCannotBeReadIsNotGuessed(t *testing.T) {
	for status, wantError := range map[int]bool{http.StatusInternalServerError: true, http.StatusForbidden: false} {
		ctx, stop := context.WithCancel(t.Context())
		profile := profileOfCluster(t, status)
		done := make(chan struct{})
		go func() {
			defer close(done)
			profile.served(ctx)
		}()
		version, _, err := profile.Required(t.Context())
		if version != "" || wantError != (err != nil) {
			t.Errorf("%d: got %q, %v", status, version, err)
		}
		stop()
		<-done
	}
}

func TestRequiredDoesNotWaitForLongerThanItsCaller(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := profileOfCluster(t, "Modern").Required(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestOneEventStandsForManyChanges: nobody receives events in a replica that does not lead.
func TestOneEventStandsForManyChanges(t *testing.T) {
	profile := profileOfCluster(t, "Modern")
	first, second := profile.Changes(), profile.Changes()
	for _, kind := range []string{"Modern", "Old", "Old", "Intermediate"} {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"tlsSecurityProfile": map[string]any{"type": kind}}}}
		profile.follow(object)
	}
	if len(first) != 1 || len(second) != 1 {
		t.Errorf("there are %d and %d events", len(first), len(second))
	}
	<-first
	profile.follow(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"tlsSecurityProfile": map[string]any{"type": "Intermediate"}}}})
	if len(first) != 0 {
		t.Error("the same profile is no change")
	}
}
