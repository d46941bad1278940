package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// missingRights holds, by namespace, the rights that the operator needs to watch the namespace but does not have.
type missingRights map[string][]string

// in describes which rights are missing in a namespace, and how to grant them.
func (m missingRights) in(namespace string) string {
	return fmt.Sprintf(
		"the operator may not %s in namespace %s: create a RoleBinding there that grants the operator's role to its service account",
		strings.Join(m[namespace], ", "), namespace)
}

// askRights asks which rights are missing in the given namespaces. The result omits namespaces in which no right is missing.
type askRights func(ctx context.Context, namespaces []string) (missingRights, error)

// newAskRights returns a function that asks the API server about rights. All authenticated users may ask about their own rights.
func newAskRights(cluster *rest.Config) (askRights, error) {
	resources := watchedResources()
	quick := rest.CopyConfig(cluster)
	quick.Timeout = startCheckTimeout
	reviews, err := authorizationclient.NewForConfig(quick)
	if err != nil {
		return nil, fmt.Errorf("the cluster configuration cannot be used: %w", err)
	}
	return func(ctx context.Context, namespaces []string) (missingRights, error) {
		missing, failures := make([][]string, len(namespaces)), make([]error, len(namespaces))
		var all sync.WaitGroup
		for i, namespace := range namespaces {
			all.Go(func() {
				missing[i], failures[i] = missingIn(ctx, reviews.SelfSubjectAccessReviews(), namespace, resources)
			})
		}
		all.Wait()
		lacking := missingRights{}
		for i, namespace := range namespaces {
			if len(missing[i]) > 0 {
				lacking[namespace] = missing[i]
			}
		}
		return lacking, errors.Join(failures...)
	}, nil
}

// watchedResources returns the namespaced resources that the caches hold in every cluster.
func watchedResources() []schema.GroupResource {
	resources := []schema.GroupResource{{Group: v1.GroupVersion.Group, Resource: "echoes"}, {Resource: "pods"}}
	for _, kind := range objects.Table() {
		if !kind.Optional {
			resources = append(resources, kind.Resource().GroupResource())
		}
	}
	return resources
}

// missingIn returns the rights that are missing in one namespace.
func missingIn(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, namespace string,
	resources []schema.GroupResource) ([]string, error) {
	var missing []string
	for _, resource := range resources {
		var verbs []string
		for _, verb := range []string{"list", "watch"} {
			allowed, err := may(ctx, reviews, authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource,
			})
			if err != nil {
				return nil, fmt.Errorf("asking about the rights in namespace %s: %w", namespace, err)
			}
			if !allowed {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			missing = append(missing, strings.Join(verbs, " and ")+" "+resource.String())
		}
	}
	return missing, nil
}

// may asks the API server about one right. If the API server forbids the request, the function assumes that the operator has the right.
func may(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface,
	right authorizationv1.ResourceAttributes) (bool, error) {
	review, err := reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
	}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// among returns the namespaces in which no right is missing. If there are none, it returns an error.
func (m missingRights) among(namespaces []string) ([]string, error) {
	if len(namespaces) == 0 { // all namespaces
		return nil, nil
	}
	watched := slices.DeleteFunc(slices.Clone(namespaces), func(namespace string) bool { return m[namespace] != nil })
	if len(watched) == 0 {
		return nil, fmt.Errorf("no namespace of WATCH_NAMESPACE can be watched: %s", m.in(namespaces[0]))
	}
	return watched, nil
}
