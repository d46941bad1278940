package statusapi

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

const (
	// allowTTL and denyTTL are how long the API server's reviews are cached. The revocation of a permission takes effect soon, and a new
	// permission even sooner.
	allowTTL = time.Minute
	denyTTL  = 10 * time.Second
	// maxCachedReviews is the maximum number of cached reviews. Reviews of questions longer than maxCachedQuestion bytes are not cached,
	// because clients choose the length of a question.
	maxCachedReviews  = 1024
	maxCachedQuestion = 4096
)

// accessReviews authorizes requests by asking the API server (SubjectAccessReview). k8s.io/apiserver's authorizer would make the program a
// third larger.
type accessReviews struct {
	reviews authorizationclient.SubjectAccessReviewInterface
	cache   *utilcache.LRUExpireCache // keyed by the question in JSON
}

func newAccessReviews(reviews authorizationclient.SubjectAccessReviewInterface) *accessReviews {
	return &accessReviews{reviews, utilcache.NewLRUExpireCache(maxCachedReviews)}
}

// authorize is an authorizer.AuthorizerFunc. It denies all requests that the API server does not allow.
func (r *accessReviews) authorize(ctx context.Context, wants authorizer.Attributes) (authorizer.Decision, string, error) {
	status, err := r.review(ctx, questionOf(wants))
	switch {
	case err != nil:
		return authorizer.DecisionDeny, "", err
	case status.Allowed && !status.Denied:
		return authorizer.DecisionAllow, status.Reason, nil
	default:
		return authorizer.DecisionDeny, status.Reason, nil
	}
}

// review returns the review of a question, from the cache if the question was asked recently.
func (r *accessReviews) review(ctx context.Context,
	question authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, fmt.Errorf("encoding an access review: %w", err)
	}
	if cached, found := r.cache.Get(string(text)); found {
		return cached.(authorizationv1.SubjectAccessReviewStatus), nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: question}
	reviewed, err := retryReview(ctx, func(ctx context.Context) (*authorizationv1.SubjectAccessReview, error) {
		return r.reviews.Create(ctx, review, metav1.CreateOptions{})
	})
	if err != nil {
		return authorizationv1.SubjectAccessReviewStatus{}, fmt.Errorf("reviewing access: %w", err)
	}
	if len(text) <= maxCachedQuestion {
		r.cache.Add(string(text), reviewed.Status, ttlOf(reviewed.Status))
	}
	return reviewed.Status, nil
}

func ttlOf(status authorizationv1.SubjectAccessReviewStatus) time.Duration {
	if status.Allowed && !status.Denied {
		return allowTTL
	}
	return denyTTL
}

func questionOf(wants authorizer.Attributes) authorizationv1.SubjectAccessReviewSpec {
	who := wants.GetUser()
	question := authorizationv1.SubjectAccessReviewSpec{User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extraOf(who)}
	if !wants.IsResourceRequest() {
		question.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: wants.GetPath(), Verb: wants.GetVerb()}
		return question
	}
	question.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: wants.GetNamespace(), Verb: wants.GetVerb(), Group: wants.GetAPIGroup(), Version: wants.GetAPIVersion(),
		Resource: wants.GetResource(), Name: wants.GetName(),
	}
	return question
}

func extraOf(who user.Info) map[string]authorizationv1.ExtraValue {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range who.GetExtra() {
		extra[key] = values
	}
	return extra
}
