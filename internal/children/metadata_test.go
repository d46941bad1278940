package children

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func digestOf(t *testing.T, annotations, labels map[string]string, owner metav1.OwnerReference) string {
	t.Helper()
	want, err := complete(corev1ac.Service("x", "ns").WithAnnotations(annotations), labels, owner)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range annotations {
		if want.GetAnnotations()[key] != value {
			t.Errorf("the annotation %s is %q", key, want.GetAnnotations()[key])
		}
	}
	return want.GetAnnotations()[v1.AppliedHashAnnotation]
}

func TestDigestChangesWithEverythingThatIsApplied(t *testing.T) {
	type m = map[string]string
	base := digestOf(t, m{"a": "b"}, m{"c": "d"}, metav1.OwnerReference{UID: "u"})
	if again := digestOf(t, m{"a": "b"}, m{"c": "d"}, metav1.OwnerReference{UID: "u"}); again != base || base == "" {
		t.Errorf("the same has the digests %q and %q", base, again)
	}
	others := m{
		"annotation": digestOf(t, m{"a": "x"}, m{"c": "d"}, metav1.OwnerReference{UID: "u"}),
		"label":      digestOf(t, m{"a": "b"}, m{"c": "x"}, metav1.OwnerReference{UID: "u"}),
		"owner":      digestOf(t, m{"a": "b"}, m{"c": "d"}, metav1.OwnerReference{UID: "x"}),
	}
	for name, other := range others {
		if other == base {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	if _, err := complete(map[string]any{"x": func() {}}, nil, metav1.OwnerReference{}); err == nil {
		t.Error("a function was written as JSON")
	}
}

func TestAccompanyingDoesNotBlockTheDeletionOfThePod(t *testing.T) {
	reference := accompanying(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", UID: "u"}})
	if reference.Kind != "Pod" || reference.APIVersion != "v1" || reference.UID != "u" || !*reference.Controller || *reference.BlockOwnerDeletion {
		t.Errorf("got %+v", reference)
	}
}

// specFields returns the paths of the fields of a spec in JSON. Fields of other packages are not followed.
func specFields(of reflect.Type, path string) []string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[v1.Echo]().PkgPath() {
		return []string{path}
	}
	var all []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		all = append(all, specFields(field.Type, strings.TrimPrefix(path+"."+name, "."))...)
	}
	return all
}

// fieldChange changes one field of the Echo that everything makes, and names the children that must be applied again, by the first
// letters of their kinds, and with "c" the companions that must be replaced.
type fieldChange struct {
	change func(*v1.EchoSpec)
	again  string
}

func fieldChanges() map[string]fieldChange {
	return map[string]fieldChange{
		"replicas":                        {func(s *v1.EchoSpec) { s.Replicas = 4 }, "D"},
		"image":                           {func(s *v1.EchoSpec) { s.Image = "other:2" }, "Dc"},
		"port":                            {func(s *v1.EchoSpec) { s.Port = 444 }, "DNc"},
		"env":                             {func(s *v1.EchoSpec) { s.Env[0].Value = "c" }, "Dc"},
		"args":                            {func(s *v1.EchoSpec) { s.Args = []string{"-w"} }, "Dc"},
		"imagePullPolicy":                 {func(s *v1.EchoSpec) { s.ImagePullPolicy = corev1.PullNever }, "Dc"},
		"imagePullSecrets":                {func(s *v1.EchoSpec) { s.ImagePullSecrets[0].Name = "other" }, "Dc"},
		"response.statusCode":             {func(s *v1.EchoSpec) { s.Response.StatusCode = 500 }, "Dc"},
		"response.delayMilliseconds":      {func(s *v1.EchoSpec) { s.Response.DelayMilliseconds = 21 }, "Dc"},
		"response.headers":                {func(s *v1.EchoSpec) { s.Response.Headers[0].Value = "c" }, "Dc"},
		"response.body":                   {func(s *v1.EchoSpec) { s.Response.Body = "other" }, "Dc"},
		"resources":                       {func(s *v1.EchoSpec) { s.Resources = nil }, "Dc"},
		"service.type":                    {func(s *v1.EchoSpec) { s.Service.Type = corev1.ServiceTypeNodePort }, "S"},
		"service.port":                    {func(s *v1.EchoSpec) { s.Service.Port = 445 }, "S"},
		"service.annotations":             {func(s *v1.EchoSpec) { s.Service.Annotations["a"] = "c" }, "S"},
		"service.externalTrafficPolicy":   {func(s *v1.EchoSpec) { s.Service.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster }, "S"},
		"service.loadBalancerClass":       {func(s *v1.EchoSpec) { s.Service.LoadBalancerClass = "example.com/other" }, "S"},
		"ingress.enabled":                 {func(s *v1.EchoSpec) { s.Ingress.Enabled = false }, "DI"},
		"ingress.host":                    {func(s *v1.EchoSpec) { s.Ingress.Host = "other.example.com" }, "I"},
		"ingress.path":                    {func(s *v1.EchoSpec) { s.Ingress.Path = "/other" }, "I"},
		"ingress.className":               {func(s *v1.EchoSpec) { s.Ingress.ClassName = "other" }, "I"},
		"ingress.tls":                     {func(s *v1.EchoSpec) { s.Ingress.TLS = false }, "I"},
		"ingress.tlsSecretName":           {func(s *v1.EchoSpec) { s.Ingress.TLSSecretName = "other" }, "I"},
		"ingress.annotations":             {func(s *v1.EchoSpec) { s.Ingress.Annotations["c"] = "e" }, "I"},
		"disruptionBudget.enabled":        {func(s *v1.EchoSpec) { s.DisruptionBudget.Enabled = new(false) }, "P"},
		"disruptionBudget.maxUnavailable": {func(s *v1.EchoSpec) { s.DisruptionBudget.MaxUnavailable = new(int32(3)) }, "P"},
		"networkPolicy.enabled":           {func(s *v1.EchoSpec) { s.NetworkPolicy.Enabled = false }, "N"},
		"podSecurityContext":              {func(s *v1.EchoSpec) { s.PodSecurityContext = nil }, "Dc"},
		"securityContext":                 {func(s *v1.EchoSpec) { s.SecurityContext = nil }, "Dc"},
		"nodeSelector":                    {func(s *v1.EchoSpec) { s.NodeSelector["disk"] = "hdd" }, "D"},
		"tolerations":                     {func(s *v1.EchoSpec) { s.Tolerations[0].Key = "other" }, "D"},
		"affinity":                        {func(s *v1.EchoSpec) { s.Affinity = nil }, "D"},
		"topologySpreadConstraints":       {func(s *v1.EchoSpec) { s.TopologySpreadConstraints[0].MaxSkew = 3 }, "D"},
		"priorityClassName":               {func(s *v1.EchoSpec) { s.PriorityClassName = "low" }, "D"},
		"podLabels":                       {func(s *v1.EchoSpec) { s.PodLabels["team"] = "b" }, "D"},
		"podAnnotations":                  {func(s *v1.EchoSpec) { s.PodAnnotations["note"] = "c" }, "Dc"},
		"paused":                          {func(s *v1.EchoSpec) { s.Paused = true }, ""},
	}
}

// digests returns the digest of each child by the first letter of its kind, and of the companion as "c".
func digests(t *testing.T, echo *v1.Echo) map[string]string {
	t.Helper()
	all, err := Of(echo, testImages)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]string{"c": companionFor(t, asking(), echo).Annotations[v1.AppliedHashAnnotation]}
	for _, c := range all {
		if c.Want != nil {
			made[c.Kind[:1]] = c.Want.GetAnnotations()[v1.AppliedHashAnnotation]
		}
	}
	return made
}

func TestEachFieldOfTheSpecReachesItsChildrenAndNoOthers(t *testing.T) {
	fields, changes := specFields(reflect.TypeFor[v1.EchoSpec](), ""), fieldChanges()
	slices.Sort(fields)
	if diff := cmp.Diff(fields, slices.Sorted(maps.Keys(changes))); diff != "" {
		t.Errorf("fields without a test: %s", diff)
	}
	before := digests(t, support.Echo("ns", "x", everything))
	for name, c := range changes {
		after, again := digests(t, support.Echo("ns", "x", everything, func(e *v1.Echo) { c.change(&e.Spec) })), ""
		for _, child := range []string{"S", "D", "P", "I", "N", "c"} {
			if before[child] != after[child] {
				again += child
			}
		}
		if again != c.again {
			t.Errorf("another %s changes %q, want %q", name, again, c.again)
		}
	}
}
