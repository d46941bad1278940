package objects

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// TestWithMetadata_commonMetadata checks that an object's own metadata takes precedence over the common metadata.
func TestWithMetadata_commonMetadata(t *testing.T) {
	g := NewWithT(t)
	echo := &v1.Echo{Spec: v1.EchoSpec{CommonMetadata: &v1.CommonMetadata{Labels: v1.Labels{"a": "common", "b": "common"},
		Annotations: v1.Annotations{"c": "common", "d": "common"}}}}
	want, err := withMetadata(corev1ac.Service("x", "ns").WithAnnotations(map[string]string{"c": "own"}), echo,
		map[string]string{"a": "own"}, metav1.OwnerReference{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(want.GetLabels()).To(Equal(map[string]string{"a": "own", "b": "common"}))
	g.Expect(want.GetAnnotations()).To(Equal(map[string]string{"c": "own", "d": "common"}))
}

// specFields returns the JSON paths of the fields in a spec. It does not descend into types from other packages.
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

// fieldChange changes one field of the Echo from support.EveryField. It lists the kinds of the children that must then be applied again, in
// the order of the table of kinds. In this list, "companion" means that the companions must be replaced.
type fieldChange struct {
	change func(*v1.EchoSpec)
	again  string
}

func fieldChanges() map[string]fieldChange {
	return map[string]fieldChange{
		"replicas":                   {func(s *v1.EchoSpec) { s.Replicas = new(int32(4)) }, "Deployment"},
		"image":                      {func(s *v1.EchoSpec) { s.Image = "other:2" }, "Deployment companion"},
		"port":                       {func(s *v1.EchoSpec) { s.Port = 444 }, "NetworkPolicy Deployment companion"},
		"env":                        {func(s *v1.EchoSpec) { s.Env[0].Value = "c" }, "Deployment companion"},
		"args":                       {func(s *v1.EchoSpec) { s.Args = []string{"-w"} }, "Deployment companion"},
		"imagePullPolicy":            {func(s *v1.EchoSpec) { s.ImagePullPolicy = corev1.PullNever }, "Deployment companion"},
		"imagePullSecrets":           {func(s *v1.EchoSpec) { s.ImagePullSecrets[0].Name = "other" }, "Deployment CronJob companion"},
		"response.statusCode":        {func(s *v1.EchoSpec) { s.Response.StatusCode = 500 }, "Deployment companion"},
		"response.delayMilliseconds": {func(s *v1.EchoSpec) { s.Response.DelayMilliseconds = 21 }, "Deployment companion"},
		"response.headers":           {func(s *v1.EchoSpec) { s.Response.Headers[0].Value = "c" }, "Deployment companion"},
		"response.body":              {func(s *v1.EchoSpec) { s.Response.Body = "other" }, "Deployment companion"},
		"response.faults":            {func(s *v1.EchoSpec) { s.Response.Faults[0].Percentage = 20 }, "Deployment companion"},
		"server.controls":            {func(s *v1.EchoSpec) { s.Server.Controls = v1.ControlsNone }, "Deployment companion"},
		"server.identity":            {func(s *v1.EchoSpec) { s.Server.Identity = nil }, "Deployment companion"},
		"tls.secretName":             {func(s *v1.EchoSpec) { s.TLS.SecretName = "other" }, "Deployment companion"},
		"tls.port":                   {func(s *v1.EchoSpec) { s.TLS.Port = 9443 }, "NetworkPolicy Deployment companion"},
		"service.httpsPort":          {func(s *v1.EchoSpec) { s.Service.HTTPSPort = 8443 }, "Service HTTPRoute GRPCRoute"},
		"tls.clientCertificate":      {func(s *v1.EchoSpec) { s.TLS.ClientCertificate = v1.ClientCertificateNone }, "Deployment companion"},
		"resources":                  {func(s *v1.EchoSpec) { s.Resources = nil }, "Deployment CronJob companion"},
		"service.type":               {func(s *v1.EchoSpec) { s.Service.Type = corev1.ServiceTypeNodePort }, "Service"},
		"service.port":               {func(s *v1.EchoSpec) { s.Service.Port = 445 }, "Service Ingress CronJob"},
		"service.annotations":        {func(s *v1.EchoSpec) { s.Service.Annotations["a"] = "c" }, "Service"},
		"service.externalTrafficPolicy": {func(s *v1.EchoSpec) {
			s.Service.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		}, "Service"},
		"service.loadBalancerClass":        {func(s *v1.EchoSpec) { s.Service.LoadBalancerClass = "example.com/other" }, "Service"},
		"service.loadBalancerSourceRanges": {func(s *v1.EchoSpec) { s.Service.LoadBalancerSourceRanges = nil }, "Service"},
		"service.ipFamilies":               {func(s *v1.EchoSpec) { s.Service.IPFamilies = nil }, "Service"},
		"service.ipFamilyPolicy": {func(s *v1.EchoSpec) { s.Service.IPFamilyPolicy = corev1.IPFamilyPolicyRequireDualStack },
			"Service"},
		"ingress.enabled":                 {func(s *v1.EchoSpec) { s.Ingress.Enabled = new(false) }, "Deployment Ingress"},
		"ingress.host":                    {func(s *v1.EchoSpec) { s.Ingress.Host = "other.example.com" }, "Ingress"},
		"ingress.path":                    {func(s *v1.EchoSpec) { s.Ingress.Path = "/other" }, "Ingress"},
		"ingress.className":               {func(s *v1.EchoSpec) { s.Ingress.ClassName = "other" }, "Ingress"},
		"ingress.tls.enabled":             {func(s *v1.EchoSpec) { s.Ingress.TLS.Enabled = new(false) }, "Ingress"},
		"ingress.tls.secretName":          {func(s *v1.EchoSpec) { s.Ingress.TLS.SecretName = "other" }, "Ingress"},
		"ingress.annotations":             {func(s *v1.EchoSpec) { s.Ingress.Annotations["c"] = "e" }, "Ingress"},
		"gateway.enabled":                 {func(s *v1.EchoSpec) { s.Gateway.Enabled = new(false) }, "BackendTLSPolicy HTTPRoute GRPCRoute"},
		"gateway.parentRefs":              {func(s *v1.EchoSpec) { s.Gateway.ParentRefs[0].SectionName = "" }, "HTTPRoute GRPCRoute"},
		"gateway.hostnames":               {func(s *v1.EchoSpec) { s.Gateway.Hostnames[0] = "other.example.com" }, "HTTPRoute"},
		"gateway.path":                    {func(s *v1.EchoSpec) { s.Gateway.Path = "/other" }, "HTTPRoute"},
		"gateway.grpc.hostnames":          {func(s *v1.EchoSpec) { s.Gateway.GRPC.Hostnames[0] = "other.example.com" }, "GRPCRoute"},
		"gateway.backendTLS.hostname":     {func(s *v1.EchoSpec) { s.Gateway.BackendTLS.Hostname = "other" }, "BackendTLSPolicy"},
		"gateway.backendTLS.caConfigMap":  {func(s *v1.EchoSpec) { s.Gateway.BackendTLS.CAConfigMap = "other" }, "BackendTLSPolicy"},
		"gateway.annotations":             {func(s *v1.EchoSpec) { s.Gateway.Annotations["e"] = "g" }, "HTTPRoute GRPCRoute"},
		"disruptionBudget.enabled":        {func(s *v1.EchoSpec) { s.DisruptionBudget.Enabled = new(false) }, "PodDisruptionBudget"},
		"disruptionBudget.maxUnavailable": {func(s *v1.EchoSpec) { s.DisruptionBudget.MaxUnavailable = new(int32(3)) }, "PodDisruptionBudget"},
		"monitoring.enabled":              {func(s *v1.EchoSpec) { s.Monitoring = &v1.EchoMonitoring{Enabled: new(true)} }, "PodMonitor"},
		"networkPolicy.enabled":           {func(s *v1.EchoSpec) { s.NetworkPolicy.Enabled = new(false) }, "NetworkPolicy"},
		"networkPolicy.from":              {func(s *v1.EchoSpec) { s.NetworkPolicy.From[0].IPBlock.CIDR = "10.2.0.0/16" }, "NetworkPolicy"},
		"checks":                          {func(s *v1.EchoSpec) { s.Checks[0].Schedule = "@daily" }, "CronJob"},
		"podSecurityContext":              {func(s *v1.EchoSpec) { s.PodSecurityContext = nil }, "Deployment companion"},
		"securityContext":                 {func(s *v1.EchoSpec) { s.SecurityContext = nil }, "Deployment companion"},
		"nodeSelector":                    {func(s *v1.EchoSpec) { s.NodeSelector["disk"] = "hdd" }, "Deployment CronJob"},
		"tolerations":                     {func(s *v1.EchoSpec) { s.Tolerations[0].Key = "other" }, "Deployment CronJob"},
		"affinity":                        {func(s *v1.EchoSpec) { s.Affinity = nil }, "Deployment CronJob"},
		"topologySpreadConstraints":       {func(s *v1.EchoSpec) { s.TopologySpreadConstraints[0].MaxSkew = 3 }, "Deployment"},
		"priorityClassName":               {func(s *v1.EchoSpec) { s.PriorityClassName = "low" }, "Deployment CronJob"},
		"serviceAccountName":              {func(s *v1.EchoSpec) { s.ServiceAccountName = "" }, "Deployment CronJob companion"},
		"podLabels":                       {func(s *v1.EchoSpec) { s.PodLabels["team"] = "b" }, "Deployment"},
		"podAnnotations":                  {func(s *v1.EchoSpec) { s.PodAnnotations["note"] = "c" }, "Deployment companion"},
		"commonMetadata.labels": {func(s *v1.EchoSpec) { s.CommonMetadata.Labels["cost-center"] = "2" },
			"NetworkPolicy Service Deployment PodDisruptionBudget Ingress BackendTLSPolicy HTTPRoute GRPCRoute CronJob companion"},
		"commonMetadata.annotations": {func(s *v1.EchoSpec) { s.CommonMetadata.Annotations["example.org/owner"] = "them" },
			"NetworkPolicy Service Deployment PodDisruptionBudget Ingress BackendTLSPolicy HTTPRoute GRPCRoute CronJob companion"},
		"service.portName":    {func(s *v1.EchoSpec) { s.Service.PortName = "grpc" }, "Service"},
		"service.appProtocol": {func(s *v1.EchoSpec) { s.Service.AppProtocol = "http" }, "Service"},
		"ingress.pathType":    {func(s *v1.EchoSpec) { s.Ingress.PathType = networkingv1.PathTypeExact }, "Ingress"},
		"paused":              {func(s *v1.EchoSpec) { s.Paused = true }, ""},
	}
}

// digests returns the digests of all children, keyed by kind. The digest of the companion has the key "companion".
func digests(t *testing.T, echo *v1.Echo) map[string]string {
	t.Helper()
	g := NewWithT(t)
	all, err := Desired(echo, testConfig)
	g.Expect(err).NotTo(HaveOccurred())
	made := map[string]string{"companion": companionFor(t, labeledPod(), echo).Annotations[v1.AppliedHashAnnotation]}
	job, err := Check(echo, &echo.Spec.Checks[0], nil, checkImages, httpproxy.Config{})
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range append(all, PodMonitor(echo), job) {
		if c.Desired != nil {
			g.Expect(addDigest(c.Desired)).To(Succeed())
			made[c.Kind] = c.Desired.GetAnnotations()[v1.AppliedHashAnnotation]
		}
	}
	return made
}

func TestDesired_fieldsChangeOnlyTheirChildren(t *testing.T) {
	g := NewWithT(t)
	fields, changes := specFields(reflect.TypeFor[v1.EchoSpec](), ""), fieldChanges()
	slices.Sort(fields)
	g.Expect(slices.Sorted(maps.Keys(changes))).To(BeComparableTo(fields), "fields without a test")
	var children []string
	for _, k := range Table() {
		children = append(children, k.Kind)
	}
	before := digests(t, support.Echo("ns", "x", support.EveryField))
	for name, c := range changes {
		after := digests(t, support.Echo("ns", "x", support.EveryField, func(e *v1.Echo) { c.change(&e.Spec) }))
		var again []string
		for _, child := range append(children, "companion") {
			if before[child] != after[child] {
				again = append(again, child)
			}
		}
		g.Expect(strings.Join(again, " ")).To(Equal(c.again), "another %s", name)
	}
}

// TestSelectorLabels checks which objects each selector selects. If a Service selected companions, it would send requests to them. If no
// cache selected an object, the object would appear to be missing.
func TestSelectorLabels(t *testing.T) {
	echo, neighbor := support.Echo("ns", "x"), support.Echo("ns", "y")
	selectors := map[string]labels.Selector{
		"Service and Deployment": labels.SelectorFromSet(SelectorLabels(echo)),
		"status of the Echo":     labels.SelectorFromSet(InstanceLabels(echo)),
		"cache":                  ManagedSelector(),
	}
	for name, c := range map[string]struct {
		labels map[string]string
		by     []string
	}{
		"a pod of the Echo":           {childLabels(echo), []string{"Service and Deployment", "status of the Echo", "cache"}},
		"a companion of the Echo":     {companionLabels(echo), []string{"status of the Echo", "cache"}},
		"a pod of another Echo":       {childLabels(neighbor), []string{"cache"}},
		"a companion of another Echo": {companionLabels(neighbor), []string{"cache"}},
		"a pod without labels":        {nil, nil},
		"a pod of Helm":               {map[string]string{LabelName: nameValue, LabelManagedBy: "Helm"}, nil},
		"a pod of Helm, same name":    {map[string]string{LabelName: nameValue, LabelInstance: "x", LabelManagedBy: "Helm"}, nil},
	} {
		want := map[string]bool{}
		for _, selector := range c.by {
			want[selector] = true
		}
		for selector, s := range selectors {
			NewWithT(t).Expect(s.Matches(labels.Set(c.labels))).To(Equal(want[selector]), "%s is selected by %s", name, selector)
		}
	}
}

func TestChildLabels_validForLongestName(t *testing.T) {
	// This is the longest name that the schema accepts. The name is also a label value.
	longest := support.Echo("ns", "a23456789-123456789-123456789-123456789-123456789-123456789-123")
	for name, all := range map[string]map[string]string{"children": childLabels(longest), "companions": companionLabels(longest)} {
		for key, value := range all {
			problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
			NewWithT(t).Expect(problems).To(BeNil(), "%s: %s=%s", name, key, value)
		}
	}
}

func TestEscaped(t *testing.T) {
	g := NewWithT(t)
	for _, block := range [][2]rune{{0, 0x2ff}, {0x2000, 0x20ff}, {0xd700, 0xd7ff}, {0xe000, 0xe0ff}, {0xfe00, 0x100ff}, {0x1f600, 0x1f6ff},
		{0x1ff00, 0x200ff}, {0x10ff00, 0x10ffff}} {
		for r := block[0]; r <= block[1]; r++ {
			wanted := "a" + string(r) + "b"
			body, err := json.Marshal(wanted)
			g.Expect(err).NotTo(HaveOccurred())
			var got string
			g.Expect(yaml.Unmarshal(escaped(body), &got)).To(Succeed(), "%U", r)
			g.Expect(got).To(Equal(wanted), "%U", r)
		}
	}
}
