// timeline measures how long Echoes take to become ready in a cluster that runs the operator, and how much of this time they wait for the
// operator and for the kubelet. It prints a Markdown table. Run it with `make benchmark-timeline`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	n := flag.Int("n", 100, "the number of Echoes to create one after another")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *n)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "timeline: "+err.Error())
		os.Exit(1)
	}
}

// run observes an Echo that it does not measure, which pulls the image, and then n Echoes.
func run(ctx context.Context, n int) (err error) {
	if n < 1 {
		return fmt.Errorf("-n=%d: at least one Echo is required", n)
	}
	k8s, err := support.NewClient(0)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{GenerateName: "timeline-",
		Labels: map[string]string{support.TestLabel: "true", "pod-security.kubernetes.io/enforce": "restricted"}}
	if err := k8s.Create(ctx, namespace); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k8s.Delete(context.WithoutCancel(ctx), namespace)) }()
	var lines []line
	for i := range n + 1 {
		echo := support.Echo(namespace.Name, fmt.Sprintf("echo-%03d", i), func(e *v1.Echo) { // has a PodDisruptionBudget
			e.Spec.Replicas, e.Spec.DisruptionBudget.MaxUnavailable = new(int32(1)), new(int32(0))
		})
		l, err := observe(ctx, k8s, echo)
		if err != nil {
			return fmt.Errorf("%s: %w", echo.Name, err)
		}
		lines = append(lines, l)
		fmt.Fprintf(os.Stderr, "%d of %d: ready after %s\n", i, n, l.ready)
	}
	fmt.Print(table(lines[1:]))
	return nil
}

// line is the timeline of an Echo: the times from its creation until each step was observed, or 0.
type line struct{ deployment, running, podReady, available, ready time.Duration }

// note records the steps that an object shows for the first time.
func (l *line) note(object any, at time.Duration) {
	first := func(step *time.Duration, done bool) {
		if done && *step == 0 {
			*step = at
		}
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		first(&l.deployment, true)
		first(&l.available, o.Status.AvailableReplicas == 1)
	case *corev1.Pod:
		first(&l.running, slices.ContainsFunc(o.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Running != nil }))
		first(&l.podReady, slices.ContainsFunc(o.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}))
	case *v1.Echo:
		first(&l.ready, o.Status.Phase == v1.PhaseReady && o.Status.ObservedGeneration == o.Generation)
	}
}

func (l *line) complete() bool {
	return l.deployment > 0 && l.running > 0 && l.podReady > 0 && l.available > 0 && l.ready > 0
}

// observe creates an Echo, waits until it is ready, and removes it.
func observe(ctx context.Context, k8s client.WithWatch, echo *v1.Echo) (line, error) {
	watching, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	events := make(chan func(*line), 1000) // more than there are
	var began time.Time
	labeled := client.MatchingLabels(objects.SelectorLabels(echo))
	for list, which := range map[client.ObjectList]client.ListOption{
		&v1.EchoList{}: client.MatchingFields{"metadata.name": echo.Name}, &appsv1.DeploymentList{}: labeled, &corev1.PodList{}: labeled,
	} {
		w, err := k8s.Watch(watching, list, client.InNamespace(echo.Namespace), which)
		if err != nil {
			return line{}, err
		}
		defer w.Stop()
		go func() { // ends when the watch is stopped
			for event := range w.ResultChan() {
				at := time.Now()
				events <- func(l *line) {
					if event.Type != watch.Deleted {
						l.note(event.Object, at.Sub(began))
					}
				}
			}
		}()
	}
	l := line{}
	began = time.Now()
	if err := k8s.Create(ctx, echo); err != nil {
		return l, err
	}
	for !l.complete() {
		select {
		case note := <-events:
			note(&l)
		case <-watching.Done():
			return l, fmt.Errorf("not all steps were seen: %+v: %w", l, watching.Err())
		}
	}
	if err := k8s.Delete(ctx, echo); err != nil {
		return l, err
	}
	return l, wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := k8s.Get(ctx, client.ObjectKeyFromObject(echo), &v1.Echo{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// table returns the medians and the 99th percentiles. The slice must not be empty.
func table(lines []line) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "| milliseconds of %d Echoes with one replica | median | p99 |\n|---|---|---|\n", len(lines))
	for _, r := range []struct {
		name  string
		value func(line) time.Duration
	}{
		{"until the Echo is ready", func(l line) time.Duration { return l.ready }},
		{"waiting for the operator", func(l line) time.Duration { return l.deployment + l.ready - l.available }},
		{"from the start of the container until the pod is Ready", func(l line) time.Duration { return l.podReady - l.running }},
	} {
		var sorted []time.Duration
		for _, l := range lines {
			sorted = append(sorted, r.value(l))
		}
		slices.Sort(sorted)
		percentile := func(p int) int64 { return sorted[(len(sorted)*p+99)/100-1].Milliseconds() } // by the nearest rank
		fmt.Fprintf(text, "| %s | %d | %d |\n", r.name, percentile(50), percentile(99))
	}
	return text.String()
}
