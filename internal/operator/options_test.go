package operator

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// parse reads settings from a command line and from environment variables of the form NAME=value.
func parse(arguments string, environment ...string) (Options, error) {
	getenv := func(name string) string {
		for _, variable := range environment {
			if value, ok := strings.CutPrefix(variable, name+"="); ok {
				return value
			}
		}
		return ""
	}
	o, flags := Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
	o.AddFlags(flags, getenv)
	if err := flags.Parse(strings.Fields(arguments)); err != nil {
		return o, err
	}
	return o, o.Complete()
}

const image = "RELATED_IMAGE_ECHO_SERVER=i:1"

func TestOptions_setsDefaults(t *testing.T) {
	o, err := parse("", image)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	if o.Namespaces != nil || o.Policy.MaxReplicas != 20 || o.Policy.PodSecurity.String() != "baseline" || o.Images.EchoServer != "i:1" ||
		o.MetricsAddress != ":8443" || o.ProbeAddress != ":8081" ||
		o.LeaderElect || o.Log.Level != nil || o.Log.Development {
		t.Errorf("the defaults are %+v", o)
	}
}

func TestOptions_convertsSettings(t *testing.T) {
	o, err := parse("", image, "WATCH_NAMESPACE=a,b", "MAX_REPLICAS=1000", "POD_SECURITY=restricted")
	if err != nil || !slices.Equal(o.Namespaces, []string{"a", "b"}) || o.Policy.MaxReplicas != 1000 ||
		o.Policy.PodSecurity.String() != "restricted" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestOptions_rejectsInvalidSettings(t *testing.T) {
	for name, c := range map[string]struct {
		arguments   string
		environment []string
		want        string
	}{
		"no image":             {"", nil, "set RELATED_IMAGE_ECHO_SERVER"},
		"a word":               {"--max-replicas=many", []string{image}, `MAX_REPLICAS: "many" is not a whole number from 1 to 1000`},
		"zero":                 {"", []string{image, "MAX_REPLICAS=0"}, "MAX_REPLICAS"},
		"more than the schema": {"", []string{image, "MAX_REPLICAS=1001"}, "from 1 to 1000"},
		"more than an int32":   {"", []string{image, "MAX_REPLICAS=99999999999"}, "from 1 to 1000"},
		"an unknown standard": {"", []string{image, "POD_SECURITY=strict"},
			`POD_SECURITY: "strict" is not privileged, baseline, or restricted`},
		"a level with bodies": {"--zap-log-level=8", []string{image},
			"LOG_LEVEL: it must be error, info, debug, or a number from 1 (debug) to 7"},
		"a level that overflows":      {"--zap-log-level=200", []string{image}, "LOG_LEVEL: it must be"},
		"the highest level":           {"--zap-log-level=10", []string{image}, "such as environment variables"},
		"an invalid variable":         {"", []string{image, "LOG_LEVEL=loud"}, `LOG_LEVEL: it must be error, info, debug, or a number from 1 (debug) to 7 (most verbose), not "loud"`},
		"a variable with bodies":      {"", []string{image, "LOG_LEVEL=8"}, "LOG_LEVEL: it must be"},
		"an invalid namespace":        {"", []string{image, "WATCH_NAMESPACE=a,B_C"}, `WATCH_NAMESPACE: "B_C" is not a valid namespace name`},
		"a blank in a list":           {"", []string{image, "WATCH_NAMESPACE=a, b"}, `WATCH_NAMESPACE: " b" is not a valid namespace name`},
		"an empty list":               {"", []string{image, "WATCH_NAMESPACE=,"}, `WATCH_NAMESPACE: "" is not a valid namespace name`},
		"any namespace":               {"--watch-namespace=*", []string{image}, `WATCH_NAMESPACE: "*" is not a valid namespace name`},
		"a blank":                     {"", []string{image, "MAX_REPLICAS=7\r\n"}, `MAX_REPLICAS: "7\r\n" is not a whole number`},
		"other URLs":                  {"--check-urls=Any", []string{image}, `CHECK_URLS: "Any" is neither own nor any`},
		"no address":                  {"--metrics-bind-address=", []string{image}, `--metrics-bind-address: "" is neither an address such as :8443`},
		"a port":                      {"--health-probe-bind-address=8443", []string{image}, `--health-probe-bind-address: "8443" is neither an address such as :8443`},
		"a port that is too high":     {"--metrics-bind-address=:65536", []string{image}, `--metrics-bind-address: ":65536" is neither`},
		"one address twice":           {"--metrics-bind-address=:8081", []string{image}, `":8081" is also the address of --metrics-bind-address`},
		"two namespaces of the lease": {"--leader-election-namespace=a,b", []string{image}, `"a,b" is not a valid namespace name`},
	} {
		_, err := parse(c.arguments, c.environment...)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)), name)
	}
}

// TestAddFlags_readsEachVariable checks that each setting can be set with its variable and with its flag, which takes precedence, and that
// the help names the variable.
func TestAddFlags_readsEachVariable(t *testing.T) {
	for i, s := range new(Options).settings() {
		o, flags := Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
		o.AddFlags(flags, func(name string) string { return map[string]string{s.environment: "from " + name}[name] })
		value := o.settings()[i].value
		NewWithT(t).Expect(*value).To(Equal("from " + s.environment))
		NewWithT(t).Expect(flags.Parse([]string{"--" + s.flag + "=from the flag"})).To(Succeed())
		NewWithT(t).Expect(*value).To(Equal("from the flag"), s.flag)
		NewWithT(t).Expect(flags.Lookup(s.flag).Usage).To(ContainSubstring(s.environment))
		NewWithT(t).Expect(flags.Lookup("zap-log-level").Usage).To(ContainSubstring("LOG_LEVEL"))
	}
}

func TestOptions_logLevel(t *testing.T) {
	for _, c := range []struct {
		arguments, variable string
		want                zapcore.Level
	}{
		{"--zap-log-level=error", "", zapcore.ErrorLevel}, {"--zap-log-level=5", "", -5}, {"--zap-log-level=7", "", -7},
		{"", "LOG_LEVEL=debug", zapcore.DebugLevel}, {"--zap-log-level=error", "LOG_LEVEL=debug", zapcore.ErrorLevel},
	} {
		o, err := parse(c.arguments, image, c.variable)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), "%+v", c)
		NewWithT(t).Expect(zapcore.LevelOf(o.Log.Level)).To(Equal(c.want), "%+v", c)
	}
}

func TestOptions_tracesIfEnvironmentNamesCollector(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318"
	for environment, want := range map[string]bool{
		image:                              false,
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc": false,
		endpoint:                           true,
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:1/in": true,
		endpoint + " OTEL_SDK_DISABLED=True":               false,
		endpoint + " OTEL_SDK_DISABLED=false":              true,
		endpoint + " OTEL_TRACES_EXPORTER=otlp":            true,
		endpoint + " OTEL_TRACES_EXPORTER=none":            false,
	} {
		o, err := parse("", append(strings.Fields(environment), image)...)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(o.Traces).To(Equal(want), environment)
	}
}

// TestOptions_proxies checks that checks get the proxies of the operator, and that its errors do not contain their passwords.
func TestOptions_proxies(t *testing.T) {
	o, err := parse("", image, "HTTP_PROXY=a", "HTTPS_PROXY=b", "NO_PROXY=c", "http_proxy=d", "no_proxy=e")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(o.Proxies).To(Equal(httpproxy.Config{HTTPProxy: "a", HTTPSProxy: "b", NoProxy: "c"}))
	_, err = parse("", image, "HTTPS_PROXY=http://u:se%cret@proxy.example")
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring("the forward proxy must be"), Not(ContainSubstring("cret")))))
}

// logged returns what a client logs at a level while it creates a pod with a value in an environment variable. The response has the pod.
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
	writer, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentType: "application/json"})
	g.Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{Namespace: "ns", Name: "x",
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "TOKEN", Value: value}}}}}}
	g.Expect(writer.CoreV1().Pods("ns").Create(logr.NewContext(t.Context(), log), pod, metav1.CreateOptions{})).Error().NotTo(HaveOccurred())
	return output.String()
}

// TestOptions_neverLogBodies checks that the highest allowed level is the last one at which client-go logs no content of objects.
func TestOptions_neverLogBodies(t *testing.T) {
	g := NewWithT(t)
	const canary = "canary-4711"
	highest := zapcore.Level(-mostVerbose)
	g.Expect(logged(t, highest, canary)).NotTo(ContainSubstring(canary))
	g.Expect(logged(t, highest-1, canary)).To(ContainSubstring(canary), "the log contains no body, so this test proves nothing")
}
