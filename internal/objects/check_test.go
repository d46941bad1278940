package objects

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http/httpproxy"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var checkImages = Images{EchoServer: "echo:1", PathCheck: "quay.io/echo-operator/echo-operator-pathcheck:v1"}

func checked(changes ...func(*v1.EchoCheck)) *v1.Echo {
	check := v1.EchoCheck{Name: "path", Schedule: "*/5 * * * *", DeadlineSeconds: 120}
	for _, change := range changes {
		change(&check)
	}
	return support.Echo("ns", "web", func(e *v1.Echo) {
		e.UID, e.Spec.Replicas, e.Spec.Checks = "u", new(int32(1)), []v1.EchoCheck{check}
		e.Status.ExternalURL = "https://web.example.com/echo"
	})
}

// cronJob returns the CronJob of an Echo's first check before the Echo has a Service, or nil if the check has none.
func cronJob(t *testing.T, echo *v1.Echo) *batchv1.CronJob {
	t.Helper()
	return cronJobWith(t, echo, nil, httpproxy.Config{})
}

// cronJobWith is like cronJob, for an Echo with the given Service, and an operator with the given proxies.
func cronJobWith(t *testing.T, echo *v1.Echo, service *corev1.Service, proxies httpproxy.Config) *batchv1.CronJob {
	t.Helper()
	g := NewWithT(t)
	child, err := Check(echo, &echo.Spec.Checks[0], service, checkImages, proxies)
	g.Expect(err).NotTo(HaveOccurred())
	if child.Desired == nil {
		return nil
	}
	object := &batchv1.CronJob{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(child.Desired.Object, object, true)).To(Succeed())
	if object.Name != child.Key.Name || object.Namespace != "ns" ||
		CheckHash(child) != object.Spec.JobTemplate.Spec.Template.Annotations[v1.AppliedHashAnnotation] {
		t.Errorf("%s is %s/%s, with the digest %q", child.Key, object.Namespace, object.Name, CheckHash(child))
	}
	return object
}

func podOf(job *batchv1.CronJob) *corev1.PodSpec { return &job.Spec.JobTemplate.Spec.Template.Spec }

// TestCheck_escapesDollars checks that pathcheck gets the specified values, although the kubelet replaces $$ with $.
func TestCheck_escapesDollars(t *testing.T) {
	args := podOf(cronJob(t, checked(func(c *v1.EchoCheck) {
		c.URL = "https://web.example.com/a$$b"
		c.Expect = []v1.EchoExpectation{{Fact: "client.address", Operator: "NotIn", Values: []string{"$(A)", "b c"}}}
	}))).Containers[0].Args
	NewWithT(t).Expect(args[len(args)-2:]).To(HaveExactElements("--expect=client.address!=$$(A)|b c", "https://web.example.com/a$$$$b"))
}

// TestCheck_ownService checks that a check connects directly to the Service only if the Service responds on every node.
func TestCheck_ownService(t *testing.T) {
	live := func(internal corev1.ServiceInternalTrafficPolicy) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{InternalTrafficPolicy: &internal}}
	}
	for name, c := range map[string]struct {
		given v1.EchoService
		live  *corev1.Service
		want  string
	}{
		"not created yet":  {v1.EchoService{Type: "ClusterIP", Port: 8080}, nil, "--own-service=http://web.ns.svc:8080"},
		"without a policy": {v1.EchoService{Type: "ClusterIP", Port: 80}, &corev1.Service{}, "--own-service=http://web.ns.svc"},
		"all pods, by default": {v1.EchoService{Type: "LoadBalancer", Port: 80, ExternalTrafficPolicy: "Local"}, live("Cluster"),
			"--own-service=http://web.ns.svc"},
		"only pods on the node": {v1.EchoService{Type: "ClusterIP", Port: 80}, live("Local"), ""},
	} {
		echo := checked()
		echo.Spec.Service = c.given
		if got := strings.Join(podOf(cronJobWith(t, echo, c.live, httpproxy.Config{})).Containers[0].Args, " "); !strings.Contains(got, c.want) ||
			c.want == "" && strings.Contains(got, "--own-service") {
			t.Errorf("%s: the arguments are %s, want %q", name, got, c.want)
		}
	}
}

// TestCheck_proxy checks which checks use the operator's forward proxies, and that no CronJob contains a password.
func TestCheck_proxy(t *testing.T) {
	const plain, secure = "http://proxy:3128", "https://secure.example:3129/"
	address := func(c *v1.EchoCheck) { c.Address = "192.0.2.1" }
	at := func(url string) func(*v1.EchoCheck) { return func(c *v1.EchoCheck) { c.URL = url } }
	for name, c := range map[string]struct {
		http, https string
		check       func(*v1.EchoCheck)
		variable    string
		isPrivate   bool
	}{
		"the external URL":           {plain, secure, func(*v1.EchoCheck) {}, "HTTPS_PROXY=https://secure.example:3129", false},
		"http":                       {"proxy:3128", secure, at("HTTP://web.example.com/echo"), "HTTP_PROXY=http://proxy:3128", false},
		"only the other proxy":       {plain, "", func(*v1.EchoCheck) {}, "", false},
		"NO_PROXY":                   {plain, secure, at("http://a.internal.example"), "", false},
		"the Service":                {plain, secure, at("http://web.ns.svc:8080"), "", false},
		"a name of a Service":        {plain, secure, at("https://web.ns.svc.cluster.local"), "", false},
		"a short name":               {plain, secure, at("http://web"), "", false},
		"an IPv6 address":            {plain, secure, at("http://[2001:db8::1]"), "HTTP_PROXY=http://proxy:3128", false},
		"an address":                 {plain, secure, address, "", false},
		"a password":                 {plain, "http://u:secret@proxy", func(*v1.EchoCheck) {}, "", true},
		"a user":                     {plain, "http://secret@proxy", func(*v1.EchoCheck) {}, "", true},
		"a password without escapes": {plain, "http://u:1/secret@proxy", func(*v1.EchoCheck) {}, "", true},
		"the other password":         {"http://u:secret@proxy", secure, func(*v1.EchoCheck) {}, "HTTPS_PROXY=https://secure.example:3129", false},
	} {
		echo, proxies := checked(c.check), httpproxy.Config{HTTPProxy: c.http, HTTPSProxy: c.https, NoProxy: ".internal.example"}
		job := cronJobWith(t, echo, nil, proxies)
		var variables []string
		for _, each := range podOf(job).Containers[0].Env {
			variables = append(variables, each.Name+"="+each.Value)
		}
		_, isPrivate := CheckProxy(echo, &echo.Spec.Checks[0], proxies)
		if strings.Join(variables, " ") != c.variable || isPrivate != c.isPrivate || strings.Contains(job.String(), "secret") {
			t.Errorf("%s: the variables are %q, private: %t", name, variables, isPrivate)
		}
	}
}

// TestNetworkPolicy_admitsChecks checks that a check can reach the Service. Otherwise, an outage would look like blocked egress.
func TestNetworkPolicy_admitsChecks(t *testing.T) {
	g := NewWithT(t)
	echo := checked()
	peer := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
	echo.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true), From: []networkingv1.NetworkPolicyPeer{peer}}
	pod := labels.Set(cronJob(t, echo).Spec.JobTemplate.Spec.Template.Labels)
	policy := liveChild[networkingv1.NetworkPolicy](t, echo, testConfig).Spec
	matches := func(selector *metav1.LabelSelector) bool {
		s, err := metav1.LabelSelectorAsSelector(selector)
		g.Expect(err).NotTo(HaveOccurred())
		return s.Matches(pod)
	}
	g.Expect(matches(&policy.PodSelector)).To(BeFalse(), "the policy denies the egress of the check")
	g.Expect(policy.Ingress).To(HaveLen(2))
	rule := policy.Ingress[1]
	if !matches(rule.From[0].PodSelector) || rule.From[0].NamespaceSelector != nil || rule.Ports[0].Port.IntVal != echo.Spec.Port {
		t.Errorf("the rule is %+v", rule)
	}
}

// TestCheck_podsAreNotEchoServers checks that neither a Service nor the operator mistakes a check's pods for echo servers.
func TestCheck_podsAreNotEchoServers(t *testing.T) {
	g := NewWithT(t)
	echo := checked()
	job := cronJob(t, echo)
	pod := corev1.Pod{ObjectMeta: job.Spec.JobTemplate.Spec.Template.ObjectMeta, Spec: *podOf(job)}
	g.Expect(labels.SelectorFromSet(SelectorLabels(echo)).Matches(labels.Set(pod.Labels))).To(BeFalse(), "the Service selects it")
	if own, companions := SplitPods([]*Pod{PodOf(&pod)}); len(own)+len(companions) > 0 {
		t.Error("the check's pod counts as a pod of the Echo")
	}
	g.Expect(CheckOf(&pod)).To(Equal("path"))
	g.Expect(EchoOf(&pod)).To(Equal("web"))
	if other := (&corev1.Pod{}); CheckOf(other) != "" {
		t.Errorf("another pod belongs to the check %q", CheckOf(other))
	}
}

func TestCheck_hasNoAffinityToPods(t *testing.T) {
	echo := checked()
	echo.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}
	NewWithT(t).Expect(podOf(cronJob(t, echo)).Affinity).To(BeNil())
}

func TestCheck_resources(t *testing.T) {
	for limit, want := range map[string]struct{ request, limit string }{
		"": {"10m", "0"}, "500m": {"10m", "500m"}, "1": {"10m", "1"}, "5m": {"5m", "5m"}, "1500u": {"2m", "2m"},
	} {
		echo := checked()
		echo.Spec.Resources = &corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}, Limits: corev1.ResourceList{}}
		if limit != "" {
			echo.Spec.Resources.Limits[corev1.ResourceCPU] = resource.MustParse(limit)
		}
		got := podOf(cronJob(t, echo)).Containers[0].Resources
		if got.Requests.Cpu().String() != want.request || got.Limits.Cpu().String() != want.limit || got.Limits.Memory().String() != "128Mi" {
			t.Errorf("with a CPU limit of %q, a check has the resources %v", limit, got)
		}
	}
}

func TestCheck_needsURLAndEchoServers(t *testing.T) {
	echo := checked()
	echo.Status.ExternalURL = ""
	NewWithT(t).Expect(cronJob(t, echo)).To(BeNil())
	echo.Spec.Checks[0].URL = "http://web.ns.svc"
	job := cronJob(t, echo)
	if args := podOf(job).Containers[0].Args; args[len(args)-1] != "http://web.ns.svc" {
		t.Errorf("the arguments are %q", args)
	}
	if echo.Spec.Replicas = new(int32(0)); !*cronJob(t, echo).Spec.Suspend {
		t.Error("the check runs without echo servers")
	}
}

func TestCheck_digestCoversOnlyPodSpec(t *testing.T) {
	hash := func(change func(*v1.Echo)) string {
		echo := checked()
		change(echo)
		return cronJob(t, echo).Spec.JobTemplate.Spec.Template.Annotations[v1.AppliedHashAnnotation]
	}
	base := hash(func(*v1.Echo) {})
	if other := hash(func(e *v1.Echo) { e.Spec.Checks[0].Schedule = "@hourly" }); other != base || base == "" {
		t.Errorf("another schedule has the digest %q, not %q", other, base)
	}
	if hash(func(e *v1.Echo) { e.Status.ExternalURL = "https://other.example.com" }) == base {
		t.Error("another URL has the same digest")
	}
}

func TestCronJobName(t *testing.T) {
	long := strings.Repeat("a", 63)
	names := map[string]bool{}
	for _, c := range []struct{ echo, check, want string }{
		{"web", "path", "web-path-e001a172"},
		{"a", "b-c", "a-b-c-b88f83c8"},
		{"a-b", "c", "a-b-c-4e84717d"},
		{"web", strings.Repeat("b", 30), ""},
		{long, "path", ""},
		{long, "other", ""},
		{strings.Repeat("a", 62) + "b", "path", ""},
		{strings.Repeat("a", 42) + "-b", "path-of-it", ""},
	} {
		got := cronJobName(support.Echo("ns", c.echo), c.check)
		if c.want != "" && got != c.want || len(got) > 52 || len(validation.IsDNS1123Subdomain(got)) > 0 || names[got] ||
			strings.Contains(got, "--") {
			t.Errorf("%s, %s: %q", c.echo, c.check, got)
		}
		names[got] = true
	}
}

// TestAllowsPathCheck_rejectsInvalidFields checks that each error names its field, and that optional fields can be empty.
func TestAllowsPathCheck_rejectsInvalidFields(t *testing.T) {
	one := func(fact, operator string, values ...string) []v1.EchoExpectation {
		return []v1.EchoExpectation{{Fact: fact, Operator: operator, Values: values}}
	}
	for name, c := range map[string]struct {
		change func(*v1.EchoCheck)
		want   string // empty if the check is valid
	}{
		"nothing":         {func(*v1.EchoCheck) {}, ""},
		"a macro":         {func(c *v1.EchoCheck) { c.Schedule = "@midnight" }, ""},
		"names":           {func(c *v1.EchoCheck) { c.Schedule = "*/5 0-6 1,15 JAN MON" }, ""},
		"an interval":     {func(c *v1.EchoCheck) { c.Schedule = "@every 1h" }, "schedule is not valid: it must have five fields"},
		"only a zone":     {func(c *v1.EchoCheck) { c.Schedule = "TZ=UTC" }, "schedule is not valid: it must have five fields"},
		"minute 99":       {func(c *v1.EchoCheck) { c.Schedule = "99 * * * *" }, "schedule is not valid: end of range (99)"},
		"an IPv6 address": {func(c *v1.EchoCheck) { c.Address = "[2001:db8::1]:8443" }, ""},
		"a path":          {func(c *v1.EchoCheck) { c.Address = "a/b" }, `address is not valid: "a/b" is not the address of a server`},
		"a scheme":        {func(c *v1.EchoCheck) { c.URL = "ftp://a" }, `url is not valid: "ftp://a" is not a URL`},
		"a query":         {func(c *v1.EchoCheck) { c.URL = "http://a/?b" }, `url is not valid: "http://a/?[hidden]" is not a URL`},
		"a password":      {func(c *v1.EchoCheck) { c.URL = "http://a:b\n@c/" }, `url is not valid: "http://[hidden]@c/" is not a URL`},
		"a Unicode name":  {func(c *v1.EchoCheck) { c.URL, c.Address = "http://b\u00fccher.example/", "b\u00fccher.example:80" }, ""},
		"an escape":       {func(c *v1.EchoCheck) { c.URL = "http://a/%41" }, "url is not valid: the path of"},
		"all groups":      {func(c *v1.EchoCheck) { c.Groups = knownGroups() }, ""},
		"an unknown group": {func(c *v1.EchoCheck) { c.Groups = []string{"client", "others"} },
			"groups is not valid: the group others is unknown; the known groups are body, client, grpc, latency, loadBalancing, outlierDetection, " +
				"request, response, retries, timeouts, tls, websocket. Correct"},
		"two bounds": {func(c *v1.EchoCheck) {
			c.Expect = append(one("body.max", "AtLeast", "1Mi"), one("body.max", "AtMost", "10Mi")...)
		}, ""},
		"a member": {func(c *v1.EchoCheck) { c.Expect = one("client.spoofable[X-Real-IP]", "", "no", "not found") }, ""},
		"an unknown fact": {func(c *v1.EchoCheck) {
			c.Expect = append(one("body.max", "", "1Mi"), one("body.maximum", "", "1Mi")...)
		},
			`expect[1] is not valid: there is no fact "body.maximum": the documentation lists the facts, such as body.max, body.max.by, `},
		"a bound with two values": {func(c *v1.EchoCheck) { c.Expect = one("body.max", "AtLeast", "1", "2") },
			"expect[0] is not valid: AtLeast requires exactly one"},
		"no operator": {func(c *v1.EchoCheck) { c.Expect = one("a", "in", "b") }, `expect[0] is not valid: the operator "in" is not In, NotIn`},
		"an operator in a value": {func(c *v1.EchoCheck) { c.Expect = append(one("body.max", "", "b"), one("a", "", ">=1")...) },
			`expect[1] is not valid: the value ">=1" is a bound: use the operator AtLeast or AtMost`},
	} {
		echo := checked(c.change)
		err := (Policy{AnyCheckURL: true}).AllowsPathCheck(echo, &echo.Spec.Checks[0], checkImages)
		if c.want == "" {
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
		} else {
			NewWithT(t).Expect(err).To(MatchError(And(HavePrefix("The field spec.checks[path]."+c.want), HaveSuffix(". Correct the field."))), name)
		}
	}
	echo := checked(func(c *v1.EchoCheck) { c.URL = "" })
	echo.Status.ExternalURL = "https://web.example.com/?b" // of an Ingress with this path
	err := Policy{}.AllowsPathCheck(echo, &echo.Spec.Checks[0], checkImages)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("The field spec.checks[path].url is not valid")))
}

func TestAllowsPathCheck(t *testing.T) {
	g := NewWithT(t)
	for name, c := range map[string]struct {
		url, address string
		own, any     bool // whether the URL is allowed
	}{
		"the default":                  {"", "", true, true},
		"the external URL":             {"https://web.example.com/echo", "", true, true},
		"below it":                     {"https://web.example.com/echo/a/b", "", true, true},
		"the Service":                  {"http://web.ns.svc", "", true, true},
		"below the Service":            {"http://web.ns.svc/", "", true, true},
		"next to it":                   {"https://web.example.com/echoes", "", false, true},
		"above it":                     {"https://web.example.com/", "", false, true},
		"out of it":                    {"https://web.example.com/echo/../admin", "", false, false},
		"out of it at the end":         {"https://web.example.com/echo/..", "", false, false},
		"out of it, escaped":           {"https://web.example.com/echo/%2e%2e/admin", "", false, false},
		"out of it by a backslash":     {`https://web.example.com/echo/..\admin`, "", false, false},
		"another scheme":               {"http://web.example.com/echo", "", false, true},
		"another port":                 {"https://web.example.com:8443/echo", "", false, true},
		"another host":                 {"https://web.example.com.example.org/echo", "", false, true},
		"another host by the userinfo": {"http://web.ns.svc@example.org/", "", false, false},
		"the Unicode form":             {"https://web.\u0435xample.com/echo", "", false, true},
		"an address":                   {"", "192.0.2.1", false, true},
	} {
		echo := checked(func(check *v1.EchoCheck) { check.URL, check.Address = c.url, c.address })
		if err := (Policy{}).AllowsPathCheck(echo, &echo.Spec.Checks[0], checkImages); (err == nil) != c.own ||
			err != nil && c.any && !strings.Contains(err.Error(), "CHECK_URLS") {
			t.Errorf("%s: %v", name, err)
		}
		if err := (Policy{AnyCheckURL: true}).AllowsPathCheck(echo, &echo.Spec.Checks[0], checkImages); (err == nil) != c.any {
			t.Errorf("%s, any: %v", name, err)
		}
	}
	echo := checked(func(check *v1.EchoCheck) { check.URL = "http://example.org" })
	echo.Status.ExternalURL = ""
	own := (Policy{}).AllowsPathCheck(echo, &echo.Spec.Checks[0], checkImages)
	g.Expect(own).To(HaveOccurred(), "without a URL of its own, an Echo may check any")
	echo.Spec.Gateway = &v1.EchoGateway{Enabled: new(true)}
	g.Expect((Policy{}).AllowsPathCheck(echo, &echo.Spec.Checks[0], checkImages)).To(MatchError(ErrNoExternalURL))
	without := (Policy{AnyCheckURL: true}).AllowsPathCheck(echo, &echo.Spec.Checks[0], Images{})
	g.Expect(without).To(MatchError(ContainSubstring("RELATED_IMAGE_PATHCHECK")), "without an image")
}
