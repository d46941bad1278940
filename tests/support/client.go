package support

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Scheme returns a scheme with the kinds that the suites use.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1.AddToScheme(scheme)
}

// NewClient returns a client for the cluster that KUBECONFIG selects. The client reads from the API server and never from a cache. The
// timeout applies to each request. A timeout of 0 means no limit.
func NewClient(timeout time.Duration) (client.WithWatch, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, err
	}
	config.Timeout = timeout
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// SkipWithoutAPIServer skips a test if no API server is installed.
func SkipWithoutAPIServer(t *testing.T) {
	t.Helper()
	folder := cmp.Or(os.Getenv("KUBEBUILDER_ASSETS"), "/usr/local/kubebuilder/bin")
	if _, err := os.Stat(filepath.Join(folder, "kube-apiserver")); err != nil {
		t.Skip("no API server: run 'make test', which builds one, or set KUBEBUILDER_ASSETS")
	}
}
