package consoleform

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

const root = "../../.."

func shipped(t *testing.T) bundle.Bundle {
	t.Helper()
	b, err := bundle.Read(root + "/bundle")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// schemaOf returns the schema that the form uses: the bundle's schema without the status.
func schemaOf(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile(root + "/bundle/manifests/example.com_echoes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := parse(t, string(text))
	version := crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	schema := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)
	delete(schema["properties"].(map[string]any), "status")
	return schema
}

// TestForm_explainsEachField checks that each field has a title and help text. For a field without a descriptor, the form uses the YAML
// name as the title, and takes the help text from the schema. The schema has no help text for Kubernetes' types.
func TestForm_explainsEachField(t *testing.T) {
	described := map[string]bundle.Descriptor{}
	descriptors := shipped(t).CSV.Spec.CustomResourceDefinitions.Owned[0].SpecDescriptors
	for _, d := range descriptors {
		described[d.Path] = d
	}
	spec := schemaOf(t)["properties"].(map[string]any)["spec"].(map[string]any)
	shown := Fields(spec, descriptors)
	for _, path := range shown {
		if d := described[path]; d.DisplayName == "" || d.Description == "" {
			t.Errorf("the form shows %s without a title or without help", path)
		}
	}
	for _, path := range []string{"replicas", "service.type", "resources", "args[0]", "env[0].valueFrom.secretKeyRef.name"} {
		if !slices.Contains(shown, path) {
			t.Errorf("the form does not show %s", path)
		}
	}
}

// TestPage_leavesOutListsInLists checks a limitation that docs/reference/console.md documents.
func TestPage_leavesOutListsInLists(t *testing.T) {
	var missing []string
	for _, d := range shipped(t).CSV.Spec.CustomResourceDefinitions.Owned[0].SpecDescriptors {
		if !OnPage(d) && !slices.Contains(d.XDescriptors, tectonic+"hidden") {
			missing = append(missing, d.Path)
		}
	}
	if want := []string{"checks[0].groups[0]", "checks[0].expect[0].fact", "checks[0].expect[0].value"}; !slices.Equal(missing, want) {
		t.Errorf("the page leaves out %q, want %q", missing, want)
	}
}

// TestForm_postsWhatWasTouched checks what the form posts if a user sets only a name: the first example, and the defaults of the groups
// that every Echo has.
func TestForm_postsWhatWasTouched(t *testing.T) {
	examples, err := shipped(t).Examples()
	if err != nil {
		t.Fatal(err)
	}
	sample := examples[0].Object
	want := parse(t, `{apiVersion: example.com/v1, kind: Echo, metadata: {name: test-echo, namespace: default}, spec: {
		replicas: 2, port: 8080, service: {type: ClusterIP, port: 80}, server: {controls: Safe, identity: true},
		disruptionBudget: {enabled: true, maxUnavailable: 1}}}`)
	posted := Posted(schemaOf(t), sample, sample)
	posted["spec"].(map[string]any)["replicas"] = float64(posted["spec"].(map[string]any)["replicas"].(int64))
	if diff := cmp.Diff(want, posted); diff != "" {
		t.Error(diff)
	}
}

// TestResources_reachPods checks that the Resources tab lists pods, because users find the logs of echo servers and checks through their
// pods.
func TestResources_reachPods(t *testing.T) {
	text, err := os.ReadFile(root + "/bundle/manifests/echo-operator.clusterserviceversion.yaml")
	if err != nil {
		t.Fatal(err)
	}
	csv := parse(t, string(text))
	definitions := csv["spec"].(map[string]any)["customresourcedefinitions"].(map[string]any)
	var kinds []string
	for _, resource := range definitions["owned"].([]any)[0].(map[string]any)["resources"].([]any) {
		kinds = append(kinds, resource.(map[string]any)["kind"].(string))
	}
	objects := map[string][]metav1.Object{}
	for _, chain := range []string{"echo Deployment ReplicaSet Pod", "echo CronJob Job Pod"} {
		owner, rest, _ := strings.Cut(chain, " ")
		for kind := range strings.FieldsSeq(rest) {
			object := &metav1.ObjectMeta{UID: types.UID(owner + "/" + kind), OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner)}}}
			objects[kind] = append(objects[kind], object)
			owner = string(object.UID)
		}
	}
	if got := len(Owned("echo", kinds, objects)); got != 6 {
		t.Errorf("the Resources tab lists %d objects instead of 6", got)
	}
}
