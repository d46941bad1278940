package operator

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// logged returns what is logged at a level while a pod with a value in its environment is written, by an API server that answers with
// what it got.
func logged(t *testing.T, level zapcore.Level, value string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(out, r.Body)
	}))
	defer server.Close()
	var output bytes.Buffer
	log := zap.New(zap.WriteTo(&output), zap.Level(level))
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	writer, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "TOKEN", Value: value}}}}}}
	if err := writer.Create(logr.NewContext(t.Context(), log), pod); err != nil {
		t.Fatal(err)
	}
	return output.String()
}

// TestNoLevelWritesBodies shows that the highest level is the last one at which client-go keeps the content of objects to itself.
func TestNoLevelWritesBodies(t *testing.T) {
	const canary = "canary-4711"
	highest := zapcore.Level(-mostVerbose)
	if text := logged(t, highest, canary); strings.Contains(text, canary) {
		t.Errorf("at the highest level, the log contains %s", text)
	}
	if text := logged(t, highest-1, canary); !strings.Contains(text, canary) {
		t.Errorf("one level beyond it, the log contains no body, so that this test shows nothing: %s", text)
	}
}
