package status

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/tests/support"
)

// troubled is an Echo with a problem, and the advice that the Echo's message contains.
type troubled struct {
	reason v1.Reason
	seen   Observation
	err    error
	change func(*v1.Echo)
	advice string // a regular expression
}

// withPod returns an observation of an Echo whose pod has the given status.
func withPod(t *testing.T, status string) Observation {
	return Observation{Deployment: seenDeployment(going, 1, 1, 0), Pods: []*objects.Pod{podWith(t, "p", status)}}
}

// scheduler returns a pod status that contains a message from the scheduler.
func scheduler(words string) string {
	return `{phase: Pending, conditions: [{type: PodScheduled, status: "False", message: "` + words + `"}]}`
}

func remedyPodCases(t *testing.T) map[string]troubled {
	return map[string]troubled{
		"an image":             {reason: v1.ReasonImagePullFailed, seen: withPod(t, containerWaits("ErrImagePull", "r/i:1: not found")), advice: "Check spec.image"},
		"a slow read":          {reason: v1.ReasonContainerNotStarted, seen: withPod(t, containerWaits("CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition")), advice: "Kubernetes retries automatically"},
		"a key":                {reason: v1.ReasonContainerNotStarted, seen: withPod(t, containerWaits("CreateContainerConfigError", "couldn't find key k in Secret ns/s")), advice: "Add the key"},
		"a ConfigMap":          {reason: v1.ReasonContainerNotStarted, seen: withPod(t, containerWaits("CreateContainerConfigError", `configmap \"c\" not found`)), advice: "Create the ConfigMap"},
		"a root image":         {reason: v1.ReasonContainerNotStarted, seen: withPod(t, containerWaits("CreateContainerConfigError", "container has runAsNonRoot and image will run as root")), advice: "runAsUser"},
		"no such program":      {reason: v1.ReasonContainerNotStarted, seen: withPod(t, containerWaits("RunContainerError", "exec: executable file not found in $PATH")), advice: "Correct spec.args"},
		"a failed probe":       {reason: v1.ReasonPodsCrashing, seen: withPod(t, `{phase: Running, containerStatuses: [{name: echo, state: {terminated: {exitCode: 137}}}]}`), advice: "listen on spec.port"},
		"an eviction":          {reason: v1.ReasonPodFailed, seen: withPod(t, `{phase: Failed, reason: Evicted}`), advice: "check the node"},
		"a taint":              {reason: v1.ReasonUnschedulable, seen: withPod(t, scheduler("1 node(s) had untolerated taint(s).")), advice: "spec.tolerations"},
		"no even spread":       {reason: v1.ReasonUnschedulable, seen: withPod(t, scheduler("1 node(s) didn't match pod topology spread constraints.")), advice: "spec.topologySpreadConstraints"},
		"anti-affinity":        {reason: v1.ReasonUnschedulable, seen: withPod(t, scheduler("1 node(s) didn't match pod anti-affinity rules.")), advice: "Relax spec.affinity"},
		"a volume":             {reason: v1.ReasonUnschedulable, seen: withPod(t, scheduler("something new")), advice: "Check spec.nodeSelector"},
		"a quota of limits":    {reason: v1.ReasonQuotaExceeded, seen: refusedPods(`pods "x" is forbidden: failed quota: q: must specify limits.cpu for: echo`), advice: "Set spec.resources in the Echo"},
		"a LimitRange":         {reason: v1.ReasonPodsRejected, seen: refusedPods(`pods "x" is forbidden: maximum memory usage per Container is 32Mi, but limit is 64Mi`), advice: "LimitRange"},
		"a priority":           {reason: v1.ReasonPodsRejected, seen: refusedPods(`pods "x" is forbidden: no PriorityClass with name p was found`), advice: "PriorityClass"},
		"a context constraint": {reason: v1.ReasonPodsRejected, seen: refusedPods(`pods "x" is forbidden: unable to validate against any security context constraint`), advice: "SecurityContextConstraints"},
		"a ServiceAccount": {reason: v1.ReasonServiceAccountNotFound,
			seen: refusedPods(`pods "x" is forbidden: error looking up service account ns/m: serviceaccount "m" not found`), advice: "Create it, or change spec.serviceAccountName"},
		"a node": {reason: v1.ReasonNodeProblem, seen: func() Observation {
			seen := withPod(t, `{phase: Running}`)
			seen.Pods[0].NodeName, seen.Nodes = "n", map[string]Node{"n": {1, ProblemsOf(node(false, notReady))}}
			return seen
		}(), advice: "Repair the node"},
		"a paused Deployment": {reason: v1.ReasonDeploymentPaused, seen: func() Observation {
			d := seenDeployment(going, 1, 0, 0)
			d.Spec.Paused = true
			return Observation{Deployment: d}
		}(), advice: "kubectl rollout resume"},
		"the deadline": {reason: v1.ReasonProgressDeadlineExceeded, seen: Observation{Deployment: seenDeployment(deploymentDeadlineExceeded, 2, 2, 1)},
			advice: "readiness probe"},
	}
}

func remedyOtherCases() map[string]troubled {
	ingresses := schema.GroupResource{Resource: "ingresses"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Ingress"}, "x", field.ErrorList{field.Invalid(field.NewPath("spec.ingressClassName"), "B", "no")})
	pods, now := seenDeployment(done, 2, 2, 2), clock
	return map[string]troubled{
		"a class that is rejected": {reason: v1.ReasonInvalidSpec, err: failedRequest("Ingress", invalid), advice: "Change spec.ingress"},
		"a name":                   {reason: v1.ReasonNameConflict, err: &objects.NameConflictError{Kind: "Service", Advice: "Delete it, or create an Echo with another name."}, advice: "Delete it, or create an Echo with another name"},
		"no permission": {reason: v1.ReasonForbidden,
			err: failedRequest("Ingress", apierrors.NewForbidden(ingresses, "x", errors.New(`User "u" cannot patch resource "ingresses"`))), advice: "roles of the operator"},
		"a webhook that is down": {reason: v1.ReasonApplyFailed, err: failedRequest("Ingress", errors.New(`failed calling webhook "w"`)), advice: "webhook's Service"},
		"no Gateway": {reason: v1.ReasonRouteNotAccepted, seen: Observation{Deployment: pods, HTTPRoute: routeWith(now), Gateways: objects.Gateways{}},
			change: behindGateway, advice: "Create it, or change spec.gateway.parentRefs"},
		"no Gateway API": {reason: v1.ReasonGatewayAPIMissing, seen: Observation{Deployment: pods, Unserved: []Unserved{{Kind: "HTTPRoute"}}},
			change: behindGateway, advice: "Install Gateway API"},
		"a finalizer": {reason: v1.ReasonDeletionBlocked, seen: Observation{Deployment: pods,
			Held: HeldBy("Service", heldService(time.Minute, "example.org/theirs"))}, advice: "remove the finalizer from the Service"},
		"paused before its first rollout": {reason: v1.ReasonPaused, change: func(e *v1.Echo) { e.Spec.Paused = true }, advice: "turn off Paused"},
	}
}

// TestEvaluate_advisesForEveryReason checks that the message for each cause says what to do, and has at most 300 bytes.
func TestEvaluate_advisesForEveryReason(t *testing.T) {
	covered := map[string]bool{}
	for _, cases := range []map[string]troubled{remedyPodCases(t), remedyOtherCases()} {
		for name, c := range cases {
			echo := support.Echo("ns", "x")
			if c.change != nil {
				c.change(echo)
			}
			status := Evaluate(echo, c.seen, Classify(c.err), clock.Add(time.Minute)).Status
			reported := func(condition metav1.Condition) bool { return condition.Reason == c.reason.String() }
			if !slices.ContainsFunc(status.Conditions, reported) {
				t.Errorf("%s: no condition has the reason %s: %+v", name, c.reason, status.Conditions)
			}
			if !regexp.MustCompile(c.advice).MatchString(status.Message) || len(status.Message) > 300 {
				t.Errorf("%s: the message is %q, and should advise %q", name, status.Message, c.advice)
			}
			checkMessage(t, status.Message)
			covered[c.reason.String()] = true
		}
	}
	needNone := []v1.Reason{v1.ReasonAllPodsReady, v1.ReasonScaledToZero, v1.ReasonRollingOut, v1.ReasonRolledOut, v1.ReasonPodsNotReady,
		v1.ReasonAsExpected, v1.ReasonChecksPassed, v1.ReasonCheckFailed, v1.ReasonCheckUnknown, v1.ReasonDeleting}
	for _, reason := range reasonsOfConditions(t) {
		if none := slices.ContainsFunc(needNone, func(r v1.Reason) bool { return r.String() == reason }); covered[reason] == none {
			t.Errorf("%s is covered: %t", reason, covered[reason])
		}
	}
}

// failedRequest returns the error from a failed request for a child.
func failedRequest(kind string, err error) error {
	return &objects.RequestError{Action: "applied", Kind: kind, Key: client.ObjectKey{Namespace: "ns", Name: "x"}, Err: err}
}

func TestRemedy(t *testing.T) {
	ingresses := schema.GroupResource{Group: "networking.k8s.io", Resource: "ingresses"}
	const denial = `admission webhook "w.example.org" denied the request: no`
	for name, c := range map[string]struct {
		err  error
		want message.Problem
	}{
		"a name that is taken": {&objects.NameConflictError{Kind: "Service", Name: "x", For: "Echo", Advice: "Delete it."},
			message.Problem{Text: "The Service x already exists, was not created for this Echo, and is not changed", Advice: "Delete it."}},
		"a denial": {failedRequest("Ingress", coded(403, denial)),
			message.Problem{Text: "an admission webhook or policy denies the Ingress x", Quote: denial, Advice: policy}},
		"a quota": {failedRequest("Ingress", apierrors.NewForbidden(ingresses, "x", errors.New("exceeded quota: q, requested: count/ingresses=1"))),
			message.Problem{Text: "a resource quota rejects the Ingress x", Quote: "exceeded quota: q, requested: count/ingresses=1",
				Advice: "Raise it, or delete other objects."}},
		"no permission": {failedRequest("Ingress", apierrors.NewForbidden(ingresses, "x", errors.New(`User "u" cannot patch resource "ingresses"`))),
			message.Problem{Text: "the operator has no permission for the Ingress x",
				Quote:  `ingresses.networking.k8s.io "x" is forbidden: User "u" cannot patch resource "ingresses"`,
				Advice: "Ask an administrator to restore the roles of the operator."}},
		"a webhook that is down": {failedRequest("Ingress", apierrors.NewInternalError(errors.New(`failed calling webhook "w": refused`))),
			message.Problem{Text: "the Ingress x cannot be applied", Quote: `Internal error occurred: failed calling webhook "w": refused`,
				Advice: "Check that the webhook's Service is available. The operator retries automatically."}},
		"no connection": {failedRequest("Ingress", errors.New("connection refused")),
			message.Problem{Text: "the Ingress x cannot be applied", Quote: "connection refused", Advice: retried}},
	} {
		NewWithT(t).Expect(Remedy(c.err)).To(Equal(c.want), name)
	}
}

// TestRemedy_invalid checks that the API server's words name the fields, and that the advice names the fields of the Echo.
func TestRemedy_invalid(t *testing.T) {
	for kind, advice := range map[string]string{"Service": "Change spec.service in the Echo.", "CronJob": "Change spec.checks in the Echo.",
		"Deployment": "Change the spec in the Echo."} {
		err := apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "x", field.ErrorList{
			field.Invalid(field.NewPath("spec", "ipFamilies").Index(0), "IPv6", "not configured on this cluster"),
			field.Required(field.NewPath("spec", "type"), "")})
		NewWithT(t).Expect(Remedy(failedRequest(kind, err))).To(Equal(message.Problem{Text: "the API server rejects the " + kind + " x",
			Quote:  `[spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster, spec.type: Required value]`,
			Advice: advice}))
	}
}

// TestQuota covers the API server's messages from k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go.
func TestQuotaRemedy(t *testing.T) {
	const exceeded = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
	const unset = "failed quota: q: must specify cpu for: a,b; limits.memory for: b"
	for name, c := range map[string]struct{ words, object, text, advice string }{
		"the pods": {exceeded, "", "a resource quota rejects the pods", "Raise it, or lower spec.replicas or spec.resources."},
		"a child":  {exceeded, "the Service x", "a resource quota rejects the Service x", "Raise it, or delete other objects."},
		"unset":    {unset, "", "a resource quota rejects the pods", "Set spec.resources in the Echo, or a default in a LimitRange."},
		"no quota allows it": {"insufficient quota to match these scopes: [{PriorityClass In [high]}]", "", "a resource quota rejects the pods",
			"Create a ResourceQuota that allows this, or ask a cluster administrator."},
		"not computed yet": {"status unknown for quota: q, resources: pods", "", "", ""},
		"no quota":         {`violates PodSecurity "restricted:latest": the annotation is "exceeded quota: q"`, "", "", ""},
	} {
		for _, before := range []string{"", `pods "x-1" is forbidden: `} {
			want := message.Problem{Text: c.text, Advice: c.advice}
			if c.text != "" {
				want.Quote = c.words
			}
			NewWithT(t).Expect(quotaRemedy(before+c.words, c.object)).To(Equal(want), name)
		}
	}
}

func TestIsQuotaExceeded(t *testing.T) {
	for words, want := range map[string]bool{
		"exceeded quota: q, requested: services=1, used: services=1, limited: services=1": true,
		"no": false,
		`admission webhook "w" denied the request: services "x" is forbidden: exceeded quota: q`: false,
	} {
		NewWithT(t).Expect(IsQuotaExceeded(apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "x", errors.New(words)))).To(
			Equal(want), words)
	}
	NewWithT(t).Expect(IsQuotaExceeded(nil) || IsQuotaExceeded(errors.New("exceeded quota: q"))).To(BeFalse(), "not from the API server")
}

// TestIsDenied covers the API server's messages from k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go and
// k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go.
func TestIsDenied(t *testing.T) {
	const webhook, policy = `admission webhook "w.example.org" denied the request`, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"
	for _, code := range []int32{400, 401, 403, 404, 409, 413, 422, 429, 500} {
		for message, want := range map[string]bool{
			webhook + ": no":                                                                  true,
			webhook + ": exceeded quota: q":                                                   true,
			webhook + " without explanation":                                                  true,
			`deployments.apps "x" is forbidden: ` + policy:                                    true,
			`deployments.apps "x" is forbidden: policy "p" denied request: no`:                true,
			`failed calling webhook "w.example.org": no`:                                      false,
			`admission webhook "w.example.org" does not support dry run`:                      false,
			`deployments.apps "x" is forbidden: User "u" cannot patch resource "deployments"`: false,
		} {
			err := fmt.Errorf("applying: %w", coded(code, message))
			NewWithT(t).Expect(IsDenied(err)).To(Equal(want), "%d %s", code, message)
		}
	}
	if IsDenied(nil) || IsDenied(errors.New(webhook)) {
		t.Error("an error that is not the API server's counts as a denial")
	}
}

func TestClassify(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	terminating := apierrors.NewForbidden(things, "x", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, c := range map[string]struct {
		err  error
		want *Failure
	}{
		"no error":       {},
		"over the limit": {&objects.InvalidSpecError{Message: "too many"}, &Failure{Reason: v1.ReasonInvalidSpec, NoRetry: true}},
		"invalid":        {apierrors.NewInvalid(schema.GroupKind{}, "x", nil), &Failure{Reason: v1.ReasonInvalidSpec}},
		"denied": {coded(400, `admission webhook "w.example.org" denied the request: no`),
			&Failure{Reason: v1.ReasonForbidden, Transient: true}},
		"unknown field": {coded(500, "failed to create typed patch object (ns/x; apps/v1, Kind=Deployment): .spec.new: field not declared in schema"),
			&Failure{Reason: v1.ReasonInvalidSpec}},
		"name taken": {&objects.NameConflictError{Kind: "Service", Name: "x"},
			&Failure{Reason: v1.ReasonNameConflict, RetryAfter: time.Minute}},
		"conflict":              {apierrors.NewConflict(things, "x", errors.New("old")), &Failure{Reason: v1.ReasonApplyFailed, Transient: true}},
		"namespace terminating": {terminating, &Failure{NoRetry: true}},
		"forbidden":             {apierrors.NewForbidden(things, "x", errors.New("no")), &Failure{Reason: v1.ReasonForbidden, Transient: true}},
		"definition terminating": {apierrors.NewForbidden(things, "x",
			errors.New("create not allowed while custom resource definition is terminating")),
			&Failure{RetryAfter: definitionRetry}},
		"quota exceeded": {apierrors.NewForbidden(things, "x", errors.New("exceeded quota: q")),
			&Failure{Reason: v1.ReasonQuotaExceeded, Transient: true}},
		"too many requests": {apierrors.NewTooManyRequests("later", 1), &Failure{Reason: v1.ReasonApplyFailed, Transient: true}},
		"no connection":     {errors.New("connection refused"), &Failure{Reason: v1.ReasonApplyFailed, Transient: true}},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.err
			if err != nil {
				err = fmt.Errorf("applying: %w", err)
				c.want.Err = err
			}
			got := Classify(err)
			NewWithT(t).Expect(got).To(BeComparableTo(c.want, cmpopts.EquateErrors()))
			if silent := got.Silent(); silent != (got != nil && got.Reason == nil) {
				t.Errorf("Silent is %t", silent)
			}
		})
	}
}

// coded returns an error from the API server with the given status code.
func coded(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

func TestEvaluate_silentFailureKeepsStatus(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Status.Phase = v1.PhaseReady })
	unchanged := Report{Status: echo.Status}
	for name, failure := range map[string]*Failure{
		"tolerated":        {Err: errors.New("no"), Reason: v1.ReasonApplyFailed, Transient: true, Tolerated: true},
		"without a reason": {Err: errors.New("no"), NoRetry: true},
	} {
		g.Expect(Evaluate(echo, Observation{}, failure, time.Now())).To(BeComparableTo(unchanged), name)
		g.Expect(EvaluateDeletion(echo, Observation{}, failure, time.Now())).To(BeComparableTo(unchanged), "%s, deleted", name)
	}
}

func TestNameWasTaken(t *testing.T) {
	for reason, want := range map[v1.Reason]bool{nil: false, v1.ReasonNameConflict: true, v1.ReasonInvalidSpec: false} {
		echo := &v1.Echo{}
		if reason != nil {
			echo.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Reason: reason.String()}}
		}
		NewWithT(t).Expect(NameWasTaken(echo)).To(Equal(want), "%v", reason)
	}
}
