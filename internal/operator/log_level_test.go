package operator

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// logged returns what a client logs at a level while it creates a pod with a value in an environment variable. The response contains the
// pod.
func logged(t *testing.T, level zapcore.Level, value string) string {
	t.Helper()
	g := NewWithT(t)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(out, r.Body)
	}))
	defer server.Close()
	var output bytes.Buffer
	log := zap.New(zap.WriteTo(&output), zap.Level(level))
	config := &rest.Config{Host: server.URL, ContentType: "application/json"}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	writer, err := client.New(config, client.Options{Mapper: mapper})
	g.Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{Namespace: "ns", Name: "x",
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "TOKEN", Value: value}}}}}}
	g.Expect(writer.Create(logr.NewContext(t.Context(), log), pod)).To(Succeed())
	return output.String()
}

// TestLogLevel_neverLogsBodies checks that the highest allowed level is the last level at which client-go does not log the content of
// objects.
func TestLogLevel_neverLogsBodies(t *testing.T) {
	g := NewWithT(t)
	const canary = "canary-4711"
	highest := zapcore.Level(-mostVerbose)
	g.Expect(logged(t, highest, canary)).NotTo(ContainSubstring(canary))
	g.Expect(logged(t, highest-1, canary)).To(ContainSubstring(canary), "the log contains no body, so this test proves nothing")
}
