package statusapi

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// judge is an API server that reviews access. It returns the errors in fails for the first requests, and then the status.
type judge struct {
	authorizationclient.SubjectAccessReviewInterface
	fails  []error
	status authorizationv1.SubjectAccessReviewStatus
	asked  []authorizationv1.SubjectAccessReviewSpec
}

// Create implements authorizationclient.SubjectAccessReviewInterface.
func (j *judge) Create(
	_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions,
) (*authorizationv1.SubjectAccessReview, error) {
	j.asked = append(j.asked, review.Spec)
	if attempt := len(j.asked) - 1; attempt < len(j.fails) {
		return nil, j.fails[attempt]
	}
	reviewed := review.DeepCopy()
	reviewed.Status = j.status
	return reviewed, nil
}

func wanted(path string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "jane"}, Verb: "get", Path: path}
}

func TestAccessReviews_deniesUnlessAllowed(t *testing.T) {
	g := NewWithT(t)
	for name, c := range map[string]struct {
		status authorizationv1.SubjectAccessReviewStatus
		wanted authorizer.Decision
	}{
		"allowed":            {authorizationv1.SubjectAccessReviewStatus{Allowed: true}, authorizer.DecisionAllow},
		"denied":             {authorizationv1.SubjectAccessReviewStatus{Denied: true}, authorizer.DecisionDeny},
		"allowed and denied": {authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true}, authorizer.DecisionDeny},
		"neither":            {authorizationv1.SubjectAccessReviewStatus{}, authorizer.DecisionDeny},
		"a partial error":    {authorizationv1.SubjectAccessReviewStatus{EvaluationError: "a webhook failed"}, authorizer.DecisionDeny},
	} {
		got, _, err := newAccessReviews(&judge{status: c.status}).authorize(t.Context(), wanted("/metrics"))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(got).To(Equal(c.wanted), name)
	}
}

func TestQuestionOf(t *testing.T) {
	j := &judge{}
	who := &user.DefaultInfo{Name: "jane", UID: "u", Groups: []string{"g"}, Extra: map[string][]string{"scopes": {"a"}}}
	reviews := newAccessReviews(j)
	for _, wants := range []authorizer.AttributesRecord{
		{User: who, Verb: "get", Path: "/metrics"},
		{User: who, Verb: "list", ResourceRequest: true, APIGroup: "example.com", APIVersion: "v1", Resource: "echoes", Namespace: "a",
			Name: "x"},
	} {
		NewWithT(t).Expect(reviews.authorize(t.Context(), wants)).Error().NotTo(HaveOccurred())
	}
	subject := authorizationv1.SubjectAccessReviewSpec{
		User: "jane", UID: "u", Groups: []string{"g"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a"}}}
	path, resource := subject, subject
	path.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"}
	resource.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Verb: "list", Group: "example.com", Version: "v1", Resource: "echoes", Namespace: "a", Name: "x"}
	NewWithT(t).Expect(j.asked).To(BeComparableTo([]authorizationv1.SubjectAccessReviewSpec{path, resource}))
}

func TestAccessReviews_cachesForTTL(t *testing.T) {
	for name, c := range map[string]struct {
		allowed bool
		path    string
		wanted  time.Duration
	}{
		"allowed":         {true, "/metrics", allowTTL},
		"denied":          {false, "/metrics", denyTTL},
		"a long question": {true, "/" + strings.Repeat("a", maxCachedQuestion), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			j := &judge{status: authorizationv1.SubjectAccessReviewStatus{Allowed: c.allowed}}
			reviews := newAccessReviews(j)
			ask := func() int {
				g.Expect(reviews.authorize(t.Context(), wanted(c.path))).Error().NotTo(HaveOccurred())
				return len(j.asked)
			}
			ask()
			time.Sleep(max(c.wanted-time.Millisecond, 0)) //nolint:forbidigo // the bubble's clock
			kept := ask() == 1
			g.Expect(kept).To(Equal(c.wanted > 0), name)
			time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
			if ask() != 2 && c.wanted > 0 {
				t.Errorf("%s: the review is cached for longer than %s", name, c.wanted)
			}
		})
	}
}

func TestRetryReview(t *testing.T) {
	busy := apierrors.NewTooManyRequests("busy", 1)
	broken := apierrors.NewInternalError(errors.New("etcd"))
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", errors.New("no"))
	for name, c := range map[string]struct {
		fails []error
		asked int
		err   error
	}{
		"at once":               {nil, 1, nil},
		"the third time":        {[]error{busy, broken}, 3, nil},
		"never":                 {[]error{busy, broken, busy, busy}, 3, busy},
		"not allowed to review": {[]error{forbidden}, 1, forbidden},
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &judge{fails: c.fails, status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}
			got, _, err := newAccessReviews(j).authorize(t.Context(), wanted("/metrics"))
			if len(j.asked) != c.asked || !errors.Is(err, c.err) || (got == authorizer.DecisionAllow) != (c.err == nil) {
				t.Errorf("%s: after %d attempts %v: %v", name, len(j.asked), got, err)
			}
		})
	}
}

func TestAccessReviews_deniesDisconnectedClient(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	reviews := newAccessReviews(&judge{fails: []error{context.Canceled}, status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}})
	if got, _, err := reviews.authorize(gone, wanted("/metrics")); err == nil || got != authorizer.DecisionDeny {
		t.Errorf("%v, %v", got, err)
	}
}
