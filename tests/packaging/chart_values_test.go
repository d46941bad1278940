package packaging

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// mostValues is the maximum number of values that the chart may have. Users can change less common settings in other ways.
const mostValues = 25

// effect contains all changes that a value causes: added lines in objects, and removed lines with the prefix "-".
type effect struct{ value, set, changes string }

func effects() []effect {
	return []effect{
		{"replicas", "replicas=1", "-replicas: 2|replicas: 1"},
		{"resources", "resources.limits.memory=1Gi", "-memory: 256Mi|memory: 1Gi"},
		{"images.operator", "images.operator=a.example/x:v1",
			"-image: quay.io/echo-operator/echo-operator:v$|-value: quay.io/echo-operator/echo-operator:v$|image: a.example/x:v1|value: a.example/x:v1"},
		{"images.echoServer", "images.echoServer=a.example/x:v1", "-value: quay.io/echo-operator/echo-server:v$|value: a.example/x:v1"},
		{"images.pathcheck", "images.pathcheck=a.example/x:v1", "-value: quay.io/echo-operator/echo-operator-pathcheck:v$|value: a.example/x:v1"},
		{"imageRegistry", "imageRegistry=a.example:5000/x",
			"-image: quay.io/echo-operator/echo-operator:v$|-value: quay.io/echo-operator/echo-operator:v$|" +
				"-value: quay.io/echo-operator/echo-server:v$|-value: quay.io/echo-operator/echo-operator-pathcheck:v$|" +
				"image: a.example:5000/x/echo-operator/echo-operator:v$|value: a.example:5000/x/echo-operator/echo-operator:v$|" +
				"value: a.example:5000/x/echo-operator/echo-server:v$|value: a.example:5000/x/echo-operator/echo-operator-pathcheck:v$"},
		{"imageRegistry", "imageRegistry=a.example,images.pathcheck=b.example/quay.io/x:v1",
			"-image: quay.io/echo-operator/echo-operator:v$|-value: quay.io/echo-operator/echo-operator:v$|" +
				"-value: quay.io/echo-operator/echo-server:v$|-value: quay.io/echo-operator/echo-operator-pathcheck:v$|" +
				"image: a.example/echo-operator/echo-operator:v$|value: a.example/echo-operator/echo-operator:v$|" +
				"value: a.example/echo-operator/echo-server:v$|value: b.example/quay.io/x:v1"},
		{"imagePullSecrets", "imagePullSecrets[0].name=a", "- name: a|imagePullSecrets:"},
		{"nodeSelector", "nodeSelector.disk=ssd", "disk: ssd|nodeSelector:"},
		{"tolerations", "tolerations[0].key=a", "- key: a"},
		{"affinity", "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey=zone",
			"podAffinity:|requiredDuringSchedulingIgnoredDuringExecution:|- topologyKey: zone|" +
				"-preferredDuringSchedulingIgnoredDuringExecution:|-- preference:|-matchExpressions:|-- key: node-role.kubernetes.io/infra|" +
				"-operator: Exists|-weight: 1|-podAntiAffinity:|-- podAffinityTerm:|-labelSelector:|-matchLabels:|" +
				"-app.kubernetes.io/name: echo-operator|-control-plane: controller-manager|-topologyKey: kubernetes.io/hostname"},
		{"topologySpreadConstraints", "topologySpreadConstraints[0].topologyKey=zone", "topologySpreadConstraints:|topologyKey: zone|" +
			"- labelSelector:|matchLabels:|app.kubernetes.io/name: echo-operator|control-plane: controller-manager"},
		{"topologySpreadConstraints", "topologySpreadConstraints[0].labelSelector.matchLabels.a=b",
			"topologySpreadConstraints:|- labelSelector:|matchLabels:|a: b"},
		{"priorityClassName", "priorityClassName=high", "priorityClassName: high"},
		{"podLabels", "podLabels.team=a", "team: a"},
		{"podAnnotations", "podAnnotations.team=a", "team: a"},
		{"podAnnotations", `podAnnotations.openshift\.io/required-scc=nonroot-v2`,
			"-openshift.io/required-scc: restricted-v2|openshift.io/required-scc: nonroot-v2"},
		{"settings", "settings.MAX_REPLICAS=1000", `- name: MAX_REPLICAS|value: "1000"`},
		{"settings", "settings.OTEL_BSP_SCHEDULE_DELAY=10000000", `- name: OTEL_BSP_SCHEDULE_DELAY|value: "10000000"`},
		{"settings", "settings.OTEL_EXPORTER_OTLP_HEADERS.secretKeyRef.name=a,settings.OTEL_EXPORTER_OTLP_HEADERS.secretKeyRef.key=b",
			`- name: OTEL_EXPORTER_OTLP_HEADERS|key: b|name: a|secretKeyRef:|valueFrom:`},
		{"watchNamespaces", "watchNamespaces={a,b}", `-ClusterRoleBinding echo-operator-manager-rolebinding|-value: ""|` +
			`RoleBinding echo-operator-manager-rolebinding in a|RoleBinding echo-operator-manager-rolebinding in b|value: a,b`},
		{"rbac.scope", "watchNamespaces={a,b},rbac.scope=Cluster", `-value: ""|value: a,b`},
		{"monitoring.enabled", "monitoring.enabled=false", "-Role echo-operator-monitoring-role|-RoleBinding echo-operator-monitoring-rolebinding"},
		{"monitoring.readers", "monitoring.readers[0].name=a,monitoring.readers[0].namespace=b", "ClusterRoleBinding echo-operator-metrics-reader"},
		{"networkPolicy.enabled", "networkPolicy.enabled=true", "NetworkPolicy echo-operator-controller-manager"},
		{"admissionPolicy.enabled", "admissionPolicy.enabled=true",
			"ValidatingAdmissionPolicy echo-operator-rules|ValidatingAdmissionPolicyBinding echo-operator-rules"},
		{"crds.enabled", "crds.enabled=false", "-CustomResourceDefinition echoes.example.com"},
		{"crds.keep", "crds.keep=false", "-helm.sh/resource-policy: keep"},
	}
}

func TestChart_eachValueTakesEffect(t *testing.T) {
	byDefault := installed(t)
	for _, each := range effects() {
		got := changes(t, byDefault, installed(t, each.set))
		want := strings.Split(strings.ReplaceAll(each.changes, ":v$", ":v"+version(t)), "|")
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s changes\n%s\nwant\n%s", each.set, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestChart_networkPolicy checks that kustomize generates the same policy as the chart, and that chart values can narrow and extend it.
func TestChart_networkPolicy(t *testing.T) {
	const name = "NetworkPolicy echo-operator-controller-manager"
	component := kustomized(t, "resources: [../config/default]\ncomponents: [../config/components/network-policy]")
	policy := installed(t, "networkPolicy.enabled=true")[name]
	got := changes(t, map[string]map[string]any{name: component[name]}, map[string]map[string]any{name: policy})
	if want := []string{"-" + managedBy + ": kustomize", managedBy + ": Helm"}; !slices.Equal(got, want) {
		t.Errorf("the chart's policy differs by %q", got)
	}
	narrow := installed(t, "networkPolicy.enabled=true", "networkPolicy.apiServer.to[0].ipBlock.cidr=10.0.0.1/32",
		"networkPolicy.egress[0].ports[0].port=4318")[name]
	got = changes(t, map[string]map[string]any{name: policy}, map[string]map[string]any{name: narrow})
	if want := []string{"- ipBlock:", "- port: 4318", "- ports:", "cidr: 10.0.0.1/32", "to:"}; !slices.Equal(got, want) {
		t.Errorf("the policy differs by %q", got)
	}
	for _, without := range []string{"networkPolicy.apiServer=null", "networkPolicy.apiServer.ports=null"} {
		spec, _ := installed(t, "networkPolicy.enabled=true", without)[name]["spec"].(map[string]any)
		if egress, _ := spec["egress"].([]any); len(egress) != 1 {
			t.Errorf("%s: egress is permitted to %v", without, egress)
		}
	}
}

// TestChart_values checks that each value has an effect, and that its comment is on the chart's page.
func TestChart_values(t *testing.T) {
	var described []string
	for row := range strings.Lines(text(t, "charts/echo-operator/README.md")) {
		if cells := strings.Split(row, " | "); len(cells) == 4 && strings.HasPrefix(cells[2], "`") {
			described = append(described, strings.TrimPrefix(cells[0], "| "))
			if len(strings.TrimSuffix(cells[3], " |\n")) < 10 {
				t.Errorf("%s has no comment", cells[0])
			}
		}
	}
	if len(described) == 0 || len(described) > mostValues {
		t.Errorf("there are %d values, but at most %d are allowed: %v", len(described), mostValues, described)
	}
	tested := []string{"networkPolicy.apiServer", "networkPolicy.egress"} // by TestChart_networkPolicy
	for _, each := range effects() {
		tested = append(tested, each.value)
	}
	slices.Sort(tested)
	if tested = slices.Compact(tested); !slices.Equal(tested, described) {
		t.Errorf("the values are %v, but the tested values are %v", described, tested)
	}
}

// TestChart_numbers checks that names that look like numbers remain strings, and that a setting can be a number.
func TestChart_numbers(t *testing.T) {
	files, err := renderIn(t, "2024", map[string]any{"watchNamespaces": []any{"1e3"},
		"settings":      map[string]any{"OTEL_TRACES_SAMPLER_ARG": 0.1},
		"monitoring":    map[string]any{"readers": []any{map[string]any{"name": "123", "namespace": "456"}}},
		"networkPolicy": map[string]any{"enabled": true, "egress": nil}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range files {
		if strings.Contains(content, "namespace: 2024\n") || strings.Contains(content, ": 1e3\n") || strings.Contains(content, ": 123\n") ||
			strings.Contains(content, ": 456\n") {
			t.Errorf("%s contains a name without quotation marks", file)
		}
	}
	for file, want := range map[string]string{"deployment": `value: "0.1"`, "manager-role": `namespace: "1e3"`, "monitoring": `name: "123"`,
		"network-policy": `namespace: "2024"`} {
		if !strings.Contains(files["echo-operator/templates/"+file+".yaml"], want) {
			t.Errorf("%s does not contain %s", file, want)
		}
	}
}

func TestChart_refusesWrongValues(t *testing.T) {
	for set, want := range map[string]string{
		"replica=1":                            "additional properties 'replica' not allowed",
		"replicas=x":                           "at '/replicas': got string, want integer",
		"replicas=-1":                          "at '/replicas': minimum",
		"resources=x":                          "at '/resources': got string, want object",
		"resources.request.cpu=1":              "at '/resources': additional properties 'request' not allowed",
		"images.operator=quay.io/x":            "at '/images/operator'",
		"images.operator=null":                 "at '/images': missing property 'operator'",
		"images.tag=v1":                        "at '/images': additional properties 'tag' not allowed",
		"images=null":                          "missing property 'images'",
		"imageRegistry=a.example/":             "at '/imageRegistry': 'a.example/' does not match pattern",
		"imagePullSecrets={a}":                 "at '/imagePullSecrets/0': got string, want object",
		"imagePullSecrets[0].names=a":          "at '/imagePullSecrets/0'",
		"nodeSelector.a=1":                     "at '/nodeSelector/a': got number, want string",
		"tolerations={a}":                      "at '/tolerations/0': got string, want object",
		"affinity.node=a":                      "at '/affinity': additional properties 'node' not allowed",
		"topologySpreadConstraints={a}":        "at '/topologySpreadConstraints/0': got string, want object",
		"priorityClassName=1":                  "at '/priorityClassName': got number, want string",
		"podLabels.control-plane=x":            "at '/podLabels/control-plane'",
		`podLabels.app\.kubernetes\.io/name=x`: "at '/podLabels/app.kubernetes.io~1name'",
		"podAnnotations.a=true":                "at '/podAnnotations/a': got boolean, want string",
		"settings.WATCH_NAMESPACE=x":           "at '/settings': additional properties 'WATCH_NAMESPACE' not allowed",
		"settings.POD_SECURITY=none":           "at '/settings/POD_SECURITY': value must be one of",
		"settings.OTEL_X.secretKeyRef.x=y":     "at '/settings/OTEL_X'",
		"watchNamespaces=a":                    "at '/watchNamespaces': got string, want array",
		"watchNamespaces={a,a}":                "at '/watchNamespaces': items at 0 and 1 are equal",
		"watchNamespaces={A}":                  "at '/watchNamespaces/0'",
		"rbac.scope=All":                       "at '/rbac/scope': value must be one of 'Watched', 'Cluster'",
		"monitoring.enabled=1":                 "at '/monitoring/enabled': got number, want boolean",
		"monitoring.readers[0].name=x":         "at '/monitoring/readers/0': missing property 'namespace'",
		"networkPolicy.enabled=x":              "at '/networkPolicy/enabled': got string, want boolean",
		"networkPolicy.apiServer.cidr=x":       "at '/networkPolicy/apiServer': additional properties 'cidr' not allowed",
		"networkPolicy.egress[0].from[0]=x":    "at '/networkPolicy/egress/0': additional properties 'from' not allowed",
		"crds.keep=yes":                        "at '/crds/keep': got string, want boolean",
		"crds.install=true":                    "at '/crds': additional properties 'install' not allowed",
	} {
		if _, err := render(t, set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", set, err, want)
		}
	}
	if _, err := render(t, "global.a=b"); err != nil {
		t.Errorf("in a chart that contains this chart: %v", err)
	}
}

// TestChart_affinity checks that each alternative of a given node affinity also requires a supported architecture and operating system.
func TestChart_affinity(t *testing.T) {
	const terms = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	affinity := func(set ...string) *corev1.Affinity { return podTemplate(t, installed(t, set...)).Spec.Affinity }
	supported := affinity().NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions
	if len(supported) != 2 || supported[0].Key != corev1.LabelArchStable || supported[1].Key != corev1.LabelOSStable {
		t.Errorf("by default, %v is required", supported)
	}
	only := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: supported}}}}}
	disk := corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpExists}
	name := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}
	alternatives := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: append([]corev1.NodeSelectorRequirement{disk}, supported...)},
			{MatchExpressions: supported, MatchFields: []corev1.NodeSelectorRequirement{name}}}}}}
	for set, want := range map[string]*corev1.Affinity{
		"affinity=null":              affinity(),
		"affinity.nodeAffinity=null": only,
		"affinity.podAffinity=null":  only,
		"affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution=null": only,
		terms + "[0].matchExpressions[0].key=disk," + terms + "[0].matchExpressions[0].operator=Exists," +
			terms + "[1].matchFields[0].key=metadata.name," + terms + "[1].matchFields[0].operator=In," +
			terms + "[1].matchFields[0].values={a}": alternatives,
	} {
		if diff := cmp.Diff(want, affinity(set), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", set, diff)
		}
	}
}

// TestChart_null checks that null for a map or a list equals an empty one. Helm adds a map's defaults to an empty map, but not to null.
func TestChart_null(t *testing.T) {
	values := loadChart(t).Values
	delete(values, "images") // required, as TestChart_refusesWrongValues checks
	for name, value := range values {
		var empty []string
		switch value := value.(type) {
		case map[string]any:
			for key := range value {
				empty = append(empty, name+"."+key+"=null")
			}
		case []any: // each list is empty by default
		default:
			continue
		}
		if got := changes(t, installed(t, empty...), installed(t, name+"=null")); len(got) > 0 {
			t.Errorf("%s=null changes %v", name, got)
		}
	}
}

// changes returns, in sorted order, the added and removed objects, and the added and removed lines of all other objects.
func changes(t *testing.T, before, after map[string]map[string]any) []string {
	t.Helper()
	all := map[string]int{}
	count := func(objects, others map[string]map[string]any, by int) {
		for name, object := range objects {
			if others[name] == nil {
				all[name] += by
				continue
			}
			for line := range strings.Lines(marshal(t, object)) {
				all[strings.TrimSpace(line)] += by
			}
		}
	}
	count(before, after, -1)
	count(after, before, 1)
	var found []string
	for line, number := range all {
		if number < 0 {
			found = append(found, "-"+line)
		} else if number > 0 {
			found = append(found, line)
		}
	}
	slices.Sort(found)
	return found
}

// podTemplate returns the pod template of the operator's Deployment.
func podTemplate(t *testing.T, objects map[string]map[string]any) *corev1.PodTemplateSpec {
	t.Helper()
	deployment := &appsv1.Deployment{}
	text := marshal(t, objects["Deployment echo-operator-controller-manager"])
	if err := yaml.UnmarshalStrict([]byte(text), deployment); err != nil {
		t.Fatal(err)
	}
	return &deployment.Spec.Template
}

func marshal(t *testing.T, object map[string]any) string {
	t.Helper()
	content, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
