package objects

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Policy holds the limits that the operator's administrator sets.
type Policy struct {
	// MaxReplicas is the maximum allowed value of spec.replicas.
	MaxReplicas int32
	// PodSecurity is the standard that all pods must meet, including companions and check pods.
	PodSecurity PodSecurity
	// AnyCheckURL is true if checks may examine URLs other than the URLs of their Echo.
	AnyCheckURL bool
}

// Check returns an *InvalidSpecError if the policy does not allow an Echo or its desired children, or if the Echo does not meet the rules.
func (p Policy) Check(echo *v1.Echo, desired ...Child) error {
	if echo.Spec.DesiredReplicas() > p.MaxReplicas {
		return &InvalidSpecError{
			Message: fmt.Sprintf("The field spec.replicas is %d, but the operator allows at most %d", echo.Spec.DesiredReplicas(), p.MaxReplicas),
			Advice:  "Lower spec.replicas, or ask an administrator to raise the operator's MAX_REPLICAS."}
	}
	if err := checkRules(echo); err != nil {
		return err
	}
	for _, c := range desired {
		if err := p.PodSecurity.Validate(c); err != nil {
			return err
		}
	}
	return nil
}

func (p Policy) allows(echo *v1.Echo, child Child) bool { return p.Check(echo, child) == nil }

// PodSecurity is the Pod Security Standard that pods must meet. The zero value allows all pods.
type PodSecurity struct {
	level     api.Level
	evaluator policy.Evaluator // nil if all pods are allowed
}

// NewPodSecurity returns the latest version of a Pod Security Standard: privileged, baseline, or restricted.
func NewPodSecurity(standard string) (PodSecurity, error) {
	level, err := api.ParseLevel(standard)
	if err != nil {
		return PodSecurity{}, fmt.Errorf("%q is not privileged, baseline, or restricted", standard)
	}
	if level == api.LevelPrivileged {
		return PodSecurity{level: level}, nil
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	return PodSecurity{level: level, evaluator: evaluator}, err
}

// String returns the name of the standard.
func (s PodSecurity) String() string {
	return string(cmp.Or(s.level, api.LevelPrivileged))
}

// Validate returns an *InvalidSpecError if a child's pods do not meet the standard. The error quotes the message of Pod Security admission.
func (s PodSecurity) Validate(c Child) error {
	if s.evaluator == nil || c.Desired == nil {
		return nil
	}
	path := []string{"spec", "template"}
	switch c.Kind {
	case "Pod": // it is its own template
		path = nil
	case cronJobKind:
		path = []string{"spec", "jobTemplate", "spec", "template"}
	}
	template, found, err := unstructured.NestedMap(c.Desired.Object, path...)
	if !found || err != nil {
		return err
	}
	pod := corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, &pod); err != nil {
		return fmt.Errorf("reading the pods of %s %s: %w", c.Kind, c.Key, err)
	}
	latest := api.LevelVersion{Level: s.level, Version: api.LatestVersion()}
	result := policy.AggregateCheckResults(s.evaluator.EvaluatePod(latest, &pod.ObjectMeta, &pod.Spec))
	if result.Allowed {
		return nil
	}
	return &InvalidSpecError{
		Message: fmt.Sprintf("The pods violate the operator's Pod Security Standard, %s", s.level), Quote: result.ForbiddenDetail(),
		Advice: "Change spec.podSecurityContext or spec.securityContext, or ask an administrator to relax the operator's POD_SECURITY."}
}
