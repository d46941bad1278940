package controllers

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// SetupWithManager registers the reconciler with a manager.
func (r *EchoReconciler) SetupWithManager(mgr ctrl.Manager) error {
	for name, index := range podIndexes() {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, name, index); err != nil {
			return err
		}
	}
	// controller-runtime logs like this for a controller with a primary kind.
	log := mgr.GetLogger().WithValues("controller", "echo", "controllerGroup", v1.GroupVersion.Group, "controllerKind", "Echo")
	logOf := func(r *reconcile.Request) logr.Logger {
		if r == nil {
			return log
		}
		return log.WithValues("Echo", klog.KRef(r.Namespace, r.Name), "namespace", r.Namespace, "name", r.Name)
	}
	b := newController(mgr, "echo").WithLogConstructor(logOf)
	b.Watches(&v1.Echo{}, &echoEvents{changed: r.Metrics.Echoes.Changed, delay: gatherPeriod},
		builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}))
	for _, kind := range objects.Kinds(r.Gateways.Served) {
		b.Watches(kind, gathered(echoOfChild), builder.WithPredicates(sinceStart()))
	}
	b.Watches(&corev1.Pod{}, gathered(echoOfPod), builder.WithPredicates(sinceStart(), podUpdated(status.PodDiffers)))
	b.Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.echoesOnNode),
		builder.WithPredicates(sinceStart(), nodeChanged()))
	echoNamed := func(_ context.Context, pod client.Object) []reconcile.Request {
		return requestsFor(pod.GetNamespace(), pod.GetLabels()[v1.CompanionLabel])
	}
	companionRequested := updated(func(before, after *corev1.Pod) bool {
		was, is := objects.LabeledPodOf(before), objects.LabeledPodOf(after)
		return was.NodeName != is.NodeName || was.Echo != is.Echo || was.HasEnded() != is.HasEnded()
	})
	b.WatchesRawSource(source.Kind[client.Object](r.Labeled, &corev1.Pod{}, gathered(echoNamed), sinceStart(), companionRequested))
	if r.Gateways.Served[objects.GatewayKind] {
		b.Watches(&gatewayv1.Gateway{}, handler.EnqueueRequestsFromMapFunc(r.echoesBehind),
			builder.WithPredicates(sinceStart(), updated(func(before, after *gatewayv1.Gateway) bool { // these fields may change a URL
				return before.Generation != after.Generation || !equality.Semantic.DeepEqual(before.Status.Addresses, after.Status.Addresses)
			})))
	}
	return b.Complete(r.Traces.Reconciler("echo", r))
}

const (
	// byNode is the index of pods by node.
	byNode = "spec.nodeName"
	// byEcho is the index of pods and companions by Echo.
	byEcho = "metadata.labels.echo"
	// byOwner is the index of companions by the pod that owns them.
	byOwner = "metadata.ownerReferences.name"
)

// cachedPodsOf uses an index to select an Echo's cached pods and companions, because labels would require all pods of the namespace.
func cachedPodsOf(echo *v1.Echo) client.ListOption { return client.MatchingFields{byEcho: echo.Name} }

func podIndexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		byNode:  nodeOfPod,
		byEcho:  func(pod client.Object) []string { return []string{objects.EchoOf(pod)} },
		byOwner: func(pod client.Object) []string { return nonempty(objects.CompanionOwner(pod)) },
	}
}

// nodeOfPod returns the name of a pod's node, or nil if the pod has no node.
func nodeOfPod(pod client.Object) []string {
	return nonempty(pod.(*corev1.Pod).Spec.NodeName)
}

// nonempty returns a list that contains a name, or nil if the name is empty.
func nonempty(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// echoChanged drops the updates that change neither the generation nor the finalizers of an Echo.
func echoChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(predicate.GenerationChangedPredicate{}, finalizers)
}

// sinceStart drops the events for objects that already existed when the process became the leader, which reconciles all Echoes anyway.
func sinceStart() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
}

// updated selects the updates for which a function returns true, and all events that are not updates.
func updated[T client.Object](differs func(before, after T) bool) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return differs(e.ObjectOld.(T), e.ObjectNew.(T))
	}}
}

// podUpdated selects the updates of pods in the main cache for which a function returns true, and all events that are not updates.
func podUpdated(differs func(before, after *objects.Pod) bool) predicate.Predicate {
	return updated(func(before, after *corev1.Pod) bool { return differs(objects.PodOf(before), objects.PodOf(after)) })
}

// requestsFor returns a request for the named object, or no request if the name is empty.
func requestsFor(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{Namespace: namespace, Name: name}}
}

type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// echoEvents queues Echoes, and calls a function for each Echo that is new or has a new spec. The event of a status write waits like an event
// that affects only counts: otherwise, it would start a reconcile, which would write what has changed meanwhile, and so on. If
// reconciles of the Echo fail, the event of a write that changes only messages starts none: errors may contain times or port numbers, so that
// each reconcile would write another message.
type echoEvents struct {
	handler.EnqueueRequestForObject
	changed func(client.Object)
	delay   time.Duration // after a status write
}

func (h *echoEvents) Create(ctx context.Context, e event.CreateEvent, q workQueue) {
	if !e.IsInInitialList {
		h.changed(e.Object)
	}
	h.EnqueueRequestForObject.Create(ctx, e, q)
}

func (h *echoEvents) Update(ctx context.Context, e event.UpdateEvent, q workQueue) {
	before, after := e.ObjectOld.(*v1.Echo), e.ObjectNew.(*v1.Echo)
	if before.UID == after.UID && before.Generation == after.Generation && !equality.Semantic.DeepEqual(before.Status, after.Status) {
		request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(after)}
		if q.NumRequeues(request) == 0 || !equality.Semantic.DeepEqual(withoutMessages(before), withoutMessages(after)) {
			q.AddAfter(request, h.delay)
		}
		return
	}
	if before.Generation != after.Generation && after.DeletionTimestamp.IsZero() {
		h.changed(after)
	}
	h.EnqueueRequestForObject.Update(ctx, e, q)
}

// withoutMessages returns the status of an Echo without its messages.
func withoutMessages(echo *v1.Echo) v1.EchoStatus {
	now := *echo.Status.DeepCopy()
	now.Message = ""
	for i := range now.Conditions {
		now.Conditions[i].Message = ""
	}
	for i := range now.Checks {
		now.Checks[i].Message = ""
	}
	return now
}

// gatherPeriod is how long events that affect only counts or the status wait, so that one status write covers several of them.
const gatherPeriod = time.Second

// gathered returns a handler that queues the Echoes that an event affects: after gatherPeriod if the event affects only counts, and
// otherwise at once.
func gathered(echoesOf handler.MapFunc) handler.EventHandler {
	add := func(ctx context.Context, before, after client.Object, q workQueue) {
		for _, object := range []client.Object{before, after} {
			if object == nil {
				continue
			}
			for _, request := range echoesOf(ctx, object) {
				if affectsOnlyCounts(before, after) {
					q.AddAfter(request, gatherPeriod)
				} else {
					q.Add(request)
				}
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workQueue) { add(ctx, nil, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workQueue) { add(ctx, e.ObjectOld, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workQueue) { add(ctx, e.Object, nil, q) },
	}
}

// affectsOnlyCounts reports whether an event affects only the counts in a status: an event about a pod that has no new cause, or a step of
// a rollout. An Echo becomes ready only when its Deployment changes. before or after is nil if the object is new or gone.
func affectsOnlyCounts(before, after client.Object) bool {
	if d, exists := after.(*appsv1.Deployment); exists {
		old, existed := before.(*appsv1.Deployment)
		return existed && status.IsRolloutStep(old, d)
	}
	if pod, exists := after.(*corev1.Pod); exists {
		old, _ := before.(*corev1.Pod)
		return !status.HasNewCause(objects.PodOf(cmp.Or(old, &corev1.Pod{})), objects.PodOf(pod))
	}
	_, wasPod := before.(*corev1.Pod)
	return wasPod
}

func nodeChanged() predicate.Predicate {
	return updated(func(before, after *corev1.Node) bool {
		return !slices.Equal(status.ProblemNames(status.ProblemsOf(before)), status.ProblemNames(status.ProblemsOf(after)))
	})
}

// echoOfChild returns the Echo that a child's owner reference names.
func echoOfChild(_ context.Context, child client.Object) []reconcile.Request {
	owner := metav1.GetControllerOfNoCopy(child)
	if owner == nil || owner.Kind != "Echo" || !strings.HasPrefix(owner.APIVersion, v1.GroupVersion.Group+"/") {
		return nil
	}
	return requestsFor(child.GetNamespace(), owner.Name)
}

// echoOfPod returns the Echo that a pod belongs to according to the pod's labels. The cache holds only pods with the operator's labels.
func echoOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	if objects.CheckOf(pod) != "" { // not a pod of the Deployment
		return nil
	}
	return requestsFor(pod.GetNamespace(), objects.EchoOf(pod))
}

// echoesOnNode returns the Echoes that have pods on a node.
func (r *EchoReconciler) echoesOnNode(ctx context.Context, node client.Object) []reconcile.Request {
	pods, _ := podsIn(ctx, r.Client, objects.PodOf, client.MatchingFields{byNode: node.GetName()}) // fails only if the process is stopping
	var requests []reconcile.Request
	for _, pod := range pods {
		if pod.CompanionOf == "" && pod.Check == "" {
			requests = append(requests, requestsFor(pod.Namespace, pod.Echo)...)
		}
	}
	return requests
}

// echoesBehind returns the Echoes that reference a Gateway.
func (r *EchoReconciler) echoesBehind(ctx context.Context, gateway client.Object) []reconcile.Request {
	list := &v1.EchoList{}
	if err := r.Client.List(ctx, list); err != nil { // the process is stopping
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if echo := &list.Items[i]; objects.AttachesTo(echo, gateway) {
			requests = append(requests, requestsFor(echo.Namespace, echo.Name)...)
		}
	}
	return requests
}
