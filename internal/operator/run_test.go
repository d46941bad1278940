package operator

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// useCluster makes a server the cluster of KUBECONFIG.
func useCluster(t *testing.T, host string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: host}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
}

func TestFindClusterTellsTheAPIServerWhoAsks(t *testing.T) {
	var agents, paths []string
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		agents, paths = append(agents, r.UserAgent()), append(paths, r.URL.Path)
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write([]byte(`{"kind":"APIResourceList","apiVersion":"v1","resources":[]}`))
	}))
	defer server.Close()
	useCluster(t, server.URL)
	cluster, err := FindCluster(t.Context(), "v9", schema.GroupVersion{Group: "apps", Version: "v1"})
	if err != nil || cluster.Host != server.URL || !strings.HasPrefix(cluster.UserAgent, "echo-operator/v9 (") {
		t.Errorf("got %v, %v", cluster, err)
	}
	if len(agents) != 1 || agents[0] != cluster.UserAgent || paths[0] != "/apis/apps/v1" {
		t.Errorf("%v asked for %v", agents, paths)
	}
	if cluster.Timeout != 0 {
		t.Errorf("every watch would end after %s", cluster.Timeout)
	}
}

func TestFindClusterWithoutACluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := FindCluster(t.Context(), "v9", v1.GroupVersion); err == nil || !strings.Contains(err.Error(), "set KUBECONFIG to the path of a kubeconfig file") {
		t.Errorf("got %v", err)
	}
}

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
