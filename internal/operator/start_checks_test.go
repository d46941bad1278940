package operator

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// useCluster makes KUBECONFIG point to a server.
func useCluster(t *testing.T, host string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: host}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	NewWithT(t).Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	t.Setenv("KUBECONFIG", file)
}

func TestFindCluster_setsUserAgent(t *testing.T) {
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
	NewWithT(t).Expect(cluster.Timeout).To(BeZero())
}

func TestFindCluster_failsWithoutCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := FindCluster(t.Context(), "v9", v1.GroupVersion)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("set KUBECONFIG to the path of a kubeconfig file")))
}

func TestCheckCluster(t *testing.T) {
	const served = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"echoes","kind":"Echo"}]}`
	const empty = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[]}`
	pods := schema.GroupVersion{Version: "v1"}
	for name, c := range map[string]struct {
		api    schema.GroupVersion
		status int
		body   string
		want   string
	}{
		"served":               {v1.GroupVersion, http.StatusOK, served, ""},
		"being deleted":        {v1.GroupVersion, http.StatusOK, empty, "does not serve the kind Echo"},
		"not installed":        {v1.GroupVersion, http.StatusNotFound, "", "manager crd | kubectl apply"},
		"another API":          {pods, http.StatusOK, empty, ""},
		"no credentials":       {pods, http.StatusUnauthorized, "", "rejects these credentials"},
		"no permission":        {v1.GroupVersion, http.StatusForbidden, "", "rejects these credentials"},
		"an overloaded server": {v1.GroupVersion, http.StatusInternalServerError, "", "does not respond"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
				out.Header().Set("Content-Type", "application/json")
				out.WriteHeader(c.status)
				_, _ = out.Write([]byte(c.body))
			}))
			defer server.Close()
			err := checkCluster(t.Context(), &rest.Config{Host: server.URL}, c.api)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

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
