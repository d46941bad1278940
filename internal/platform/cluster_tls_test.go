package platform

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
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
