package operator

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRun_failsWithoutKindEcho(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	useCluster(t, server.URL)
	options, err := parse("", image)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Run(t.Context(), options)).To(MatchError(ContainSubstring("does not serve the kind Echo")))
}

func TestRun_failsWithoutCluster(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(file, []byte("{"), 0o600)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
	options, err := parse("", image)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Run(t.Context(), options)).To(MatchError(ContainSubstring("no cluster is configured")))
}
