package controllers

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// newsOf returns what a pod is told about its companion, nil if all is well.
func newsOf(view *children.Companionship, plan children.CompanionPlan) *status.Transition {
	if !plan.EchoMissing {
		return nil
	}
	missing := status.EchoNotFound(view.Owner.Labels[v1.CompanionLabel])
	return &missing
}

// report sends an event about the companion of a pod, unless it was the last one sent. Nil ends what was reported.
func (r *CompanionReconciler) report(owner *corev1.Pod, request ctrl.Request, news *status.Transition) {
	said := ""
	if owner != nil && news != nil {
		said = string(owner.UID) + "/" + owner.Labels[v1.CompanionLabel] + "/" + news.Reason.String()
	}
	if r.reported.changes(request.NamespacedName, said) && said != "" {
		r.Recorder.Eventf(owner, nil, news.Reason.EventType(), news.Reason.String(), news.Action, "%s", news.EventNote())
	}
}

// lastReports holds what was last reported about each pod. A new process starts with none and reports once more.
type lastReports struct {
	lock sync.Mutex
	said map[types.NamespacedName]string
}

// changes keeps what is to be reported about a pod, empty for nothing, and tells whether that is new.
func (l *lastReports) changes(pod types.NamespacedName, said string) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.said[pod] == said {
		return false
	}
	if l.said == nil {
		l.said = map[types.NamespacedName]string{}
	}
	l.said[pod] = said
	if said == "" {
		delete(l.said, pod)
	}
	return true
}
