package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// singleName is the name of the Echoes that are changed amid a storm.
	singleName = "single"
	// maxSingles is how often each kind of change is made in a storm, at most.
	maxSingles = 20
	// minInterval is the least time between two of them.
	minInterval = 3 * time.Second
	// echoesPerSingle is how many Echoes there are in a storm for each change of a kind, so that the changes are no storm of their own.
	echoesPerSingle = 100
)

// singleChange is a kind of change that is made amid a storm.
type singleChange struct {
	name string
	make func(ctx context.Context, number int) (latency, error)
}

// latency is how long it took to make a change, which tells what the API server takes for a request, and until the Deployment had it.
type latency struct{ request, deployment time.Duration }

func (r *clusterRun) singleChanges(phase string) []singleChange {
	scale := func(namespace string) func(context.Context, int) (latency, error) {
		return func(ctx context.Context, _ int) (latency, error) { return r.scaleSingle(ctx, namespace) }
	}
	return []singleChange{
		{"same", scale(stormNamespace(0))},
		{"other", scale(otherNamespace)},
		{"new", func(ctx context.Context, i int) (latency, error) {
			return r.createSingle(ctx, fmt.Sprintf("%s-%s-%d", singleName, phase, i))
		}},
	}
}

// storm waits until all Echoes are ready with an image, and meanwhile measures how long single changes take. It returns the number of
// Echoes that have changed.
func (r *clusterRun) storm(ctx context.Context, phase, image string) (int, error) {
	waiting := func() int { return r.n - r.echoes.ready("/echo-", image) }
	changes := r.singleChanges(phase)
	took := make([][]latency, len(changes))
	err := parallel(ctx, len(changes)+1, func(ctx context.Context, i int) (err error) {
		if i == len(changes) {
			return r.awaitCount(ctx, func() (int, string) { return waiting(), "Echoes wait" })
		}
		took[i], err = r.makeSingles(ctx, changes[i], waiting)
		return err
	})
	if err != nil {
		return 0, err
	}
	changed := r.n
	for i, times := range took {
		r.keepSingles(phase, changes[i].name, times)
		changed += len(times)
	}
	return changed, r.awaitReady(ctx, image)
}

// makeSingles makes a kind of change again and again while Echoes wait. It returns how long each took.
func (r *clusterRun) makeSingles(ctx context.Context, change singleChange, waiting func() int) ([]latency, error) {
	interval := max(minInterval, time.Duration(r.n)*time.Millisecond) // a storm of more Echoes lasts longer
	var took []latency
	for limit := max(1, min(maxSingles, r.n/echoesPerSingle)); len(took) < limit && (len(took) == 0 || waiting() > 0); {
		before := waiting()
		its, err := change.make(ctx, len(took))
		if err != nil {
			return nil, err
		}
		took = append(took, its)
		r.b.say("  a single change (%s) took %.2f s while %d Echoes waited, %d at its end", change.name, its.deployment.Seconds(), before, waiting())
		if err := pause(ctx, interval); err != nil {
			return nil, err
		}
	}
	return took, nil
}

func (r *clusterRun) keepSingles(phase, change string, took []latency) {
	f, name := r.b.figures, r.name+"."+phase+".single."+change
	for _, its := range took {
		f.add(name, its.deployment.Seconds())
		f.add(name+".request", its.request.Seconds())
	}
	f.add(name+".most", slices.Max(f[name]))
	f.add(name+".request.most", slices.Max(f[name+".request"]))
}

// scaleSingle changes the number of replicas of an Echo that is there.
func (r *clusterRun) scaleSingle(ctx context.Context, namespace string) (latency, error) {
	echo := &v1.Echo{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: singleName}, echo); err != nil {
		return latency{}, err
	}
	before := echo.DeepCopy()
	echo.Spec.Replicas = podsPerEcho + podsPerEcho + 1 - echo.Spec.Replicas // one more, or one less again
	return r.untilDeployed(ctx, echo, func() error { return r.client.Patch(ctx, echo, client.MergeFrom(before)) })
}

// createSingle creates an Echo outside the namespaces of the storm.
func (r *clusterRun) createSingle(ctx context.Context, name string) (latency, error) {
	echo := &v1.Echo{Spec: v1.EchoSpec{Replicas: podsPerEcho}}
	echo.Name, echo.Namespace = name, otherNamespace
	return r.untilDeployed(ctx, echo, func() error {
		r.all++ // nothing reads it before the end of the storm
		return r.client.Create(ctx, echo)
	})
}

// untilDeployed makes a change of an Echo and waits until its Deployment has the replicas of the Echo.
func (r *clusterRun) untilDeployed(ctx context.Context, echo *v1.Echo, change func() error) (latency, error) {
	replicas := echo.Spec.Replicas
	anyVersion := &metav1.ListOptions{ResourceVersion: "0"} // otherwise an API server with much to do refuses it
	w, err := r.client.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(echo.Namespace), client.MatchingFields{"metadata.name": echo.Name},
		&client.ListOptions{Raw: anyVersion})
	if err != nil {
		return latency{}, err
	}
	defer w.Stop()
	began, took := time.Now(), latency{}
	if err := change(); err != nil {
		return took, err
	}
	took.request = time.Since(began)
	err = await(ctx, w, r.timeout(), func(object any) bool { return *object.(*appsv1.Deployment).Spec.Replicas == replicas })
	took.deployment = time.Since(began)
	return took, err
}
