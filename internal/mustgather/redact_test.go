package mustgather

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/kinds"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// canary stands for a value that must not leave the cluster.
const canary = "canary-4711"

func parsed(t *testing.T, manifest string) *object {
	t.Helper()
	o := &object{}
	text, err := yaml.YAMLToJSON([]byte(manifest))
	if err == nil {
		err = json.Unmarshal(text, &o.Object) // like a client, this Unmarshal decodes whole numbers as integers
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return o
}

func rules(t *testing.T) *redactor {
	t.Helper()
	r, err := newRedactor()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return r
}

func written(t *testing.T, r *redactor, o *object) string {
	t.Helper()
	r.learn(o)
	text, err := yaml.Marshal(r.object(o).Object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// TestNewRedactor_decidesEveryEchoField fails for a new field in the spec until kept.yaml specifies whether must-gather writes the field.
func TestNewRedactor_decidesEveryEchoField(t *testing.T) {
	spec := rules(t).kinds["Echo"].(map[string]any)["spec"]
	decided(t, "spec", reflect.TypeFor[v1.EchoSpec](), spec)
}

// TestNewRedactor_hasRuleForEveryKind checks that every kind has a rule. Without a rule, objects of the kind would be written without any fields.
func TestNewRedactor_hasRuleForEveryKind(t *testing.T) {
	decided := rules(t).kinds
	for _, kind := range kinds.Table() {
		if decided[kind.Kind] == nil {
			t.Errorf("nothing is written of a %s: add Kept to its row in internal/objects/table.go, or the kind to kept.yaml", kind.Kind)
		}
	}
}

func decided(t *testing.T, path string, kind reflect.Type, rule any) {
	t.Helper()
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	fields, isMap := rule.(map[string]any)
	if !isMap || kind.Kind() != reflect.Struct {
		return
	}
	var names []string
	for field := range kind.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
		decided(t, path+"."+name, field.Type, fields[name])
	}
	if named := slices.Sorted(maps.Keys(fields)); !slices.Equal(named, slices.Sorted(slices.Values(names))) {
		t.Errorf("%s has the fields %v, and kept.yaml names %v", path, names, named)
	}
}

func TestRedactor_withholdsSecretsOfEcho(t *testing.T) {
	got := written(t, rules(t), parsed(t, `
apiVersion: example.com/v1
kind: Echo
metadata:
  name: web
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"env":[{"value":"canary-4711"}]}}'
    team/note: canary-4711
  managedFields: [{manager: canary-4711}]
spec:
  replicas: 2
  args: [--password=canary-4711, canary-4711]
  env: [{name: PASSWORD, value: canary-4711}, {name: REFERENCE, valueFrom: {secretKeyRef: {name: other, key: password}}}]
  response: {statusCode: 418, headers: [{name: X-Key, value: canary-4711}], body: canary-4711}
  podAnnotations: {vault/token: canary-4711}
  service: {port: 80, annotations: {dns/key: canary-4711}}
  ingress: {host: web.example.com, annotations: {auth: canary-4711}}
  fieldOfALaterVersion: {list: [canary-4711], text: canary-4711}
status:
  message: 'The environment variable PASSWORD: "canary-4711" is refused.'
  conditions: [{type: Ready, reason: InvalidSpec, message: canary-4711 is refused}]
  replicas: 2
unknown: canary-4711
`))
	if strings.Contains(got, canary) {
		t.Errorf("a secret was written:\n%s", got)
	}
	for _, want := range []string{"name: web", "replicas: 2", "name: PASSWORD", "key: password", "name: X-Key", "statusCode: 418",
		"host: web.example.com", "vault/token: <redacted>", "reason: InvalidSpec", `PASSWORD: "<redacted>" is refused`,
		"fieldOfALaterVersion: <redacted>"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}

func TestRedactor_withholdsSecretsOfOtherKinds(t *testing.T) {
	container := `{name: main, image: quay.io/x:v1, command: [canary-4711], args: [canary-4711], env: [{name: KEY, value: canary-4711}],
  livenessProbe: {httpGet: {path: /live, httpHeaders: [{name: Authorization, value: canary-4711}]}, exec: {command: [canary-4711]}},
  lifecycle: {preStop: {sleep: {seconds: 5}, exec: {command: [canary-4711]}}}}`
	pod := `{nodeName: node-1, containers: [` + container + `], initContainers: [` + container + `], ephemeralContainers: [` + container + `],
  volumes: [{name: data, csi: {volumeAttributes: {key: canary-4711}}}], hostAliases: [{hostnames: [canary-4711]}]}`
	metadata := `{name: web, annotations: {kubectl.kubernetes.io/last-applied-configuration: canary-4711, other: canary-4711}, ` +
		`managedFields: [canary-4711]}`
	for kind, rest := range map[string]string{
		"Pod":                   `spec: ` + pod,
		"Deployment":            `spec: {replicas: 2, template: {metadata: ` + metadata + `, spec: ` + pod + `}}`,
		"ReplicaSet":            `spec: {replicas: 2, template: {metadata: ` + metadata + `, spec: ` + pod + `}}`,
		"Subscription":          `spec: {name: echo-operator, config: {env: [{name: KEY, value: canary-4711}]}}`,
		"ClusterServiceVersion": `spec: {version: 1.0.0, install: {spec: {deployments: [{spec: {template: {spec: ` + pod + `}}}]}}}`,
		"InstallPlan":           `status: {phase: Complete, plan: [{resolving: x, resource: {kind: Secret, manifest: canary-4711}}]}`,
		"ConfigMap":             `data: {key: canary-4711}`,
		"Secret":                `stringData: {key: canary-4711}`,
	} {
		got := written(t, rules(t), parsed(t, "apiVersion: v1\nkind: "+kind+"\nmetadata: "+metadata+"\n"+rest))
		if strings.Contains(got, canary) {
			t.Errorf("a secret of a %s was written:\n%s", kind, got)
		}
		if !strings.Contains(got, "kind: "+kind) && kind != "Secret" && kind != "ConfigMap" {
			t.Errorf("nothing of a %s was written:\n%s", kind, got)
		}
	}
}

// TestRedactor_redactsOperatorQuotes checks status messages that quote a container's output. The operator changes and cuts such quotes.
func TestRedactor_redactsOperatorQuotes(t *testing.T) {
	long := strings.Repeat("/path", 50)
	for _, secret := range []string{
		"canary-4711", `{"user": "app", "password": "canary-4711"}`, `CORP\canary-4711`, "user\ncanary-4711", "user\n  canary-4711\n",
		"https://canary-4711" + long, long + "canary-4711.", "canary-4711" + long + "canary-4711",
	} {
		r := rules(t)
		r.learn(&object{Object: map[string]any{"kind": "Echo", "spec": map[string]any{"args": []any{"short", secret}}}})
		for _, output := range []string{"panic: " + secret, secret, secret + ": not found", long + secret, long + secret + long} {
			lines := strings.Split(strings.TrimSpace(output), "\n")
			for _, quote := range []string{output, lines[len(lines)-1]} {
				said := message.Short(message.MaxStatus, message.Problem{Text: "Container echo crashes", Quote: quote, Advice: "Check it."})
				if got := r.text(said); strings.Contains(got, "canary") || !strings.Contains(got, "Container echo crashes") {
					t.Errorf("%q becomes %q", said, got)
				}
			}
		}
	}
}

// TestRedactor_text checks strings that quote a field, such as errors. A quote that may contain a part of a secret is redacted as a whole,
// and other text is kept.
func TestRedactor_text(t *testing.T) {
	const cut = `Crashed: "panic: secret-v...d-one". Check "args".`
	refused := map[string]string{"the value canary-4711 is refused": "the value <redacted> is refused"}
	for spec, texts := range map[string]map[string]string{
		`{}`:                    {cut: cut},
		`{args: [canary-4711]}`: refused,
		`{env: [{name: KEY, value: canary-4711}]}`:                   refused,
		`{podAnnotations: {key: canary-4711}}`:                       refused,
		`{response: {body: canary-4711}}`:                            refused,
		`{response: {headers: [{name: X-Key, value: canary-4711}]}}`: refused,
		`{service: {annotations: {key: canary-4711}}}`:               refused,
		`{ingress: {annotations: {key: canary-4711}}}`:               refused,
		`{args: [s3cret, "s3cret with \"quotes\"", "8080", ""]}`: {
			"a s3cret and s3cret":               "a <redacted> and <redacted>",
			`s3cret with "quotes"`:              "<redacted>",
			`{"value":"s3cret with \"quotes\""`: `{"value":"<redacted>"`,
			"port 8080":                         "port 8080", // too short to be treated as a secret
		},
		`{response: {body: "default\nserver:\nlong-secret-line\n"}}`: {
			"the default server: has long-secret-line": "the default server: has <redacted>", // the other lines are too short
		},
		`{args: [secret-value-one]}`: {
			cut:                                       `Crashed: "<redacted>". Check "args".`,
			`a "secret-value-one-two" b "c"`:          `a "<redacted>" b "c"`,
			`{"error":"said \"a...b\" to","n":"c"}`:   `{"error":"<redacted>","n":"c"}`,
			`Crashed: "panic: secret-v...`:            `Crashed: "<redacted>"`,
			"one \"odd secret-v...\nanother \"line\"": "one \"<redacted>\"\nanother \"line\"",
			`{"msg":"waiting for the lease..."}`:      `{"msg":"waiting for the lease..."}`,
			"no quote: secret-val":                    "no quote: secret-val",
		},
	} {
		r := rules(t)
		r.text(cut) // secrets that are learned later are also redacted
		r.learn(parsed(t, "{kind: Echo, spec: "+spec+"}"))
		for text, want := range texts {
			NewWithT(t).Expect(r.text(text)).To(Equal(want), "with the spec %s, %q", spec, text)
		}
	}
}
