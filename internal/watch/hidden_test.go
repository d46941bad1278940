package watch

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func TestStrip(t *testing.T) {
	const value, secretRef = `{name: A, value: s3cret}`, `{name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}`
	for name, c := range map[string]struct{ before, after string }{
		"books": {
			`{metadata: {name: a, managedFields: [{manager: m}], annotations: {kubectl.kubernetes.io/last-applied-configuration: x, y: z}}}`,
			`{metadata: {name: a, annotations: {y: z}}}`,
		},
		"no annotation left": {
			`{metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}`, `{metadata: {name: a}}`,
		},
		"nothing to strip": {`{metadata: {name: a}}`, `{metadata: {name: a}}`},
		"an environment of an Echo": {
			`{spec: {env: [` + value + `, ` + secretRef + `]}}`, `{spec: {env: [{name: A, value: (hidden)}, ` + secretRef + `]}}`,
		},
		"an environment of a container": {
			`{spec: {containers: [{name: c, env: [` + value + `]}]}}`, `{spec: {containers: [{name: c, env: [{name: A, value: (hidden)}]}]}}`,
		},
		"an environment of a pod template": {
			`{spec: {template: {spec: {initContainers: [{env: [` + value + `]}]}}}}`,
			`{spec: {template: {spec: {initContainers: [{env: [{name: A, value: (hidden)}]}]}}}}`,
		},
		"an empty value":             {`{env: [{name: A, value: ""}]}`, `{env: [{name: A, value: (hidden)}]}`},
		"other values":               {`{headers: [{name: X, value: v}], value: v}`, `{headers: [{name: X, value: v}], value: v}`},
		"no list":                    {`{env: {name: A, value: v}}`, `{env: {name: A, value: v}}`},
		"a variable named \"value\"": {`{env: [{name: value, value: s3cret}]}`, `{env: [{name: value, value: (hidden)}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := strip(state(t, c.before))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(BeComparableTo(state(t, c.after)))
		})
	}
}

func TestStrip_ignoresOtherTypes(t *testing.T) {
	if got, err := strip("text"); got != "text" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// state parses an object as a client does: whole numbers become int64 values.
func state(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(encoded, &o.Object)
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return o
}
