package operator

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRunEndsWithoutTheKindEcho(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	useCluster(t, server.URL)
	options, err := parse("", image)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), options); err == nil || !strings.Contains(err.Error(), "does not serve the kind Echo") {
		t.Errorf("got %v", err)
	}
}

func TestRunEndsWithoutACluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	options, err := parse("", image)
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), options); err == nil || !strings.Contains(err.Error(), "no cluster is configured") {
		t.Errorf("got %v", err)
	}
}
