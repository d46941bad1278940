package testbed

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// kubelets simulates the kubelets of all nodes. It marks pods as running, and removes pods that are being deleted. kwok, which simulates
// nodes in other suites, needs several milliseconds of CPU time for each pod event. For the events of 20,000 pods, kwok would need much
// more CPU time than the cluster itself.
type kubelets struct{ client.Client }

// startKubelets starts the kubelets, which stop when the context is done.
func startKubelets(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.Pod{}: {Field: fields.OneTermNotEqualSelector("spec.nodeName", "")}},
		},
	})
	if err != nil {
		return err
	}
	// This process runs a controller for each cluster, so the controllers' names are not unique.
	options := controller.Options{MaxConcurrentReconciles: 8, SkipNameValidation: new(true)}
	err = ctrl.NewControllerManagedBy(manager).For(&corev1.Pod{}).WithEventFilter(predicate.NewPredicateFuncs(hasWork)).WithOptions(options).
		Complete(&kubelets{manager.GetClient()})
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- manager.Start(ctx) }()
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return errors.Join(errors.New("the kubelets do not start"), <-failed)
	}
	return nil
}

// hasWork reports whether a pod's kubelet must act on the pod.
func hasWork(object client.Object) bool {
	pod, isPod := object.(*corev1.Pod)
	return isPod && (pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodPending)
}

// Reconcile marks a pod as running, or removes it. If the cached pod is outdated, the API server rejects the write, and another event for
// the pod follows.
func (k *kubelets) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := k.Get(ctx, request.NamespacedName, pod); err != nil || !hasWork(pod) {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if pod.DeletionTimestamp != nil {
		return ctrl.Result{}, client.IgnoreNotFound(k.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID}))
	}
	pod.Status = runningStatus(pod, metav1.Now())
	return ctrl.Result{}, client.IgnoreNotFound(k.Status().Update(ctx, pod))
}
