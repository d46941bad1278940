package testbed

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// EchoCount records which Echoes exist, and which of them are ready. It watches Echoes, because repeated lists would use more of the API
// server's CPU time than the measured work.
type EchoCount struct {
	lock   sync.Mutex
	images map[string]string // the result of readyImage, by NAMESPACE/NAME
	cancel context.CancelFunc
	ended  chan error
}

// CountEchoes starts counting the Echoes in all namespaces.
func (p *ControlPlane) CountEchoes(ctx context.Context) (*EchoCount, error) {
	watched, err := cache.New(p.Env.Config, cache.Options{Scheme: p.Client.Scheme()})
	if err != nil {
		return nil, err
	}
	e := &EchoCount{images: map[string]string{}, ended: make(chan error, 1)}
	ctx, e.cancel = context.WithCancel(ctx)
	go func() { e.ended <- watched.Start(ctx) }()
	informer, err := watched.GetInformer(ctx, &v1.Echo{})
	if err == nil {
		_, err = informer.AddEventHandler(e.handler())
	}
	if err != nil {
		return nil, e.fail(err)
	}
	return e, nil
}

func (e *EchoCount) handler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { e.set(object.(*v1.Echo)) },
		UpdateFunc: func(_, object any) { e.set(object.(*v1.Echo)) },
		DeleteFunc: e.remove,
	}
}

func (e *EchoCount) set(echo *v1.Echo) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.images[echo.Namespace+"/"+echo.Name] = readyImage(echo)
}

// remove stops counting a deleted Echo. If the informer missed the deletion, the argument wraps the last known state of the Echo.
func (e *EchoCount) remove(object any) {
	name, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return // the object is neither an Echo nor its last known state
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	delete(e.images, name)
}

// readyImage returns the image that all pods of an Echo run, or "" if the Echo is not ready.
func readyImage(echo *v1.Echo) string {
	s := &echo.Status
	if meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReady) && s.ObservedGeneration == echo.Generation &&
		s.ReadyReplicas == echo.Spec.DesiredReplicas() {
		return s.Image
	}
	return ""
}

// All returns the number of Echoes that exist.
func (e *EchoCount) All() int {
	e.lock.Lock()
	defer e.lock.Unlock()
	return len(e.images)
}

// Ready returns the number of ready Echoes that run the given image.
func (e *EchoCount) Ready(image string) int {
	e.lock.Lock()
	defer e.lock.Unlock()
	count := 0
	for _, its := range e.images {
		if its == image {
			count++
		}
	}
	return count
}

// Stop stops the watch.
func (e *EchoCount) Stop() error {
	e.cancel()
	return <-e.ended
}

// fail stops the watch, and returns the given error.
func (e *EchoCount) fail(err error) error {
	_ = e.Stop() // the given error matters more
	return err
}
