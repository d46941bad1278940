package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/process"
)

// Run runs the operator until ctx is done, and then returns nil. Complete must have been called on the options.
func Run(ctx context.Context, options Options) error {
	process.SetMemoryLimit(os.DirFS("/sys/fs/cgroup"))
	go process.ReturnMemoryAtRest(ctx)
	log := zap.New(zap.UseFlagOptions(&options.Log))
	ctrl.SetLogger(log)
	cluster, err := FindCluster(ctx, options.Version, v1.GroupVersion)
	if err != nil {
		return err
	}
	if options.missing, err = checkNamespaces(ctx, cluster, options.Namespaces); err != nil {
		return err
	}
	for namespace := range options.missing {
		log.Info("A namespace is not watched.", "namespace", namespace, "cause", options.missing.in(namespace))
	}
	operator, err := New(ctx, cluster, options)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	log.Info("starting", "version", options.Version, "namespaces", options.Namespaces, "maxReplicas", options.Policy.MaxReplicas,
		"podSecurity", options.Policy.PodSecurity.String(), "echoServerImage", options.Images.EchoServer)
	return operator.Start(ctx)
}

const startCheckTimeout = 10 * time.Second

// FindCluster returns the configuration of the operator's cluster, after the API server has confirmed that it serves the given API. The
// error explains how to fix the problem.
func FindCluster(ctx context.Context, version string, api schema.GroupVersion) (*rest.Config, error) {
	cluster, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster is configured: set KUBECONFIG to the path of a kubeconfig file (%w)", err)
	}
	// The default user agent is the name of the executable, which the API server would record as the field manager.
	cluster.UserAgent = fmt.Sprintf("echo-operator/%s (%s/%s)", version, runtime.GOOS, runtime.GOARCH)
	return cluster, checkCluster(ctx, cluster, api)
}

func checkCluster(ctx context.Context, cluster *rest.Config, api schema.GroupVersion) error {
	quick := rest.CopyConfig(cluster)
	quick.Timeout = startCheckTimeout
	client, err := discovery.NewDiscoveryClientForConfig(quick)
	if err != nil {
		return fmt.Errorf("the cluster configuration cannot be used: %w", err)
	}
	resources, err := client.ServerResourcesForGroupVersionWithContext(ctx, api.String())
	switch {
	case err == nil && (api != v1.GroupVersion || len(resources.APIResources) > 0):
		return nil
	case (err == nil || apierrors.IsNotFound(err)) && api == v1.GroupVersion:
		return fmt.Errorf("the API server at %s does not serve the kind Echo: install its CustomResourceDefinition first, with 'make install' "+
			"or 'manager crd | kubectl apply --server-side -f -'", cluster.Host)
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
		return fmt.Errorf("the API server at %s rejects these credentials: check KUBECONFIG or the service account (%w)", cluster.Host, err)
	case errors.Is(err, context.Canceled):
		return nil
	default:
		return fmt.Errorf("the API server at %s does not respond: check that the cluster is running and that KUBECONFIG points to it (%w)",
			cluster.Host, err)
	}
}

// checkNamespaces returns the rights that are missing in the namespaces to watch, and an error if none of the namespaces can be watched.
func checkNamespaces(ctx context.Context, cluster *rest.Config, namespaces []string) (missingRights, error) {
	ask, err := newAskRights(cluster)
	if err != nil {
		return nil, err
	}
	missing, err := ask(ctx, namespaces)
	switch {
	case errors.Is(err, context.Canceled):
		return missingRights{}, nil
	case err != nil:
		return nil, fmt.Errorf("the API server at %s does not report what the operator may do: %w", cluster.Host, err)
	}
	_, err = missing.among(namespaces)
	return missing, err
}

// missingRights holds, by namespace, the rights that the operator needs to watch the namespace but does not have.
type missingRights map[string][]string

// in describes which rights are missing in a namespace, and how to grant them.
func (m missingRights) in(namespace string) string {
	return fmt.Sprintf(
		"the operator may not %s in namespace %s: create a RoleBinding there that grants the operator's role to its service account",
		strings.Join(m[namespace], ", "), namespace)
}

// newAskRights returns a function that asks the API server which rights are missing in the given namespaces. Its result omits namespaces in
// which no right is missing. All authenticated users may ask about their own rights.
func newAskRights(cluster *rest.Config) (func(ctx context.Context, namespaces []string) (missingRights, error), error) {
	// These are the namespaced resources that the caches hold in every cluster.
	resources := []schema.GroupResource{{Group: v1.GroupVersion.Group, Resource: "echoes"}, {Resource: "pods"}}
	for _, kind := range objects.Table() {
		if !kind.Optional {
			resources = append(resources, kind.Resource().GroupResource())
		}
	}
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

// missingIn returns the rights that are missing in one namespace. If the API server forbids the question about a right, missingIn assumes
// that the operator has the right.
func missingIn(ctx context.Context, reviews authorizationclient.SelfSubjectAccessReviewInterface, namespace string,
	resources []schema.GroupResource) ([]string, error) {
	var missing []string
	for _, resource := range resources {
		var verbs []string
		for _, verb := range []string{"list", "watch"} {
			right := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource}
			review, err := reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: right},
			}, metav1.CreateOptions{})
			switch {
			case apierrors.IsForbidden(err):
			case err != nil:
				return nil, fmt.Errorf("asking about the rights in namespace %s: %w", namespace, err)
			case !review.Status.Allowed:
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			missing = append(missing, strings.Join(verbs, " and ")+" "+resource.String())
		}
	}
	return missing, nil
}

// among returns the given namespaces in which no right is missing. If all of them lack rights, it returns an error.
func (m missingRights) among(namespaces []string) ([]string, error) {
	watched := slices.DeleteFunc(slices.Clone(namespaces), func(namespace string) bool { return m[namespace] != nil })
	if len(watched) == 0 && len(namespaces) > 0 {
		return nil, fmt.Errorf("no namespace of WATCH_NAMESPACE can be watched: %s", m.in(namespaces[0]))
	}
	return watched, nil
}
