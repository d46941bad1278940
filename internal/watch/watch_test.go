package watch

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

func TestReportEnd(t *testing.T) {
	object := watch.Event{Type: watch.Added, Object: &unstructured.Unstructured{}}
	forbidden := apierrors.NewForbidden(kinds()[0].resource.GroupResource(), "", errors.New("no")).ErrStatus
	expired := apierrors.NewResourceExpired("too old").ErrStatus
	closed := apierrors.NewInternalError(errors.New("closed")).ErrStatus
	for name, c := range map[string]struct {
		events []watch.Event
		ended  bool
		want   []string
	}{
		"objects":                     {events: []watch.Event{object, object}},
		"an error":                    {events: []watch.Event{object, {Type: watch.Error, Object: &forbidden}}, want: []string{`pods is forbidden: no`}},
		"too old":                     {events: []watch.Event{{Type: watch.Error, Object: &expired}}},
		"closed after it was too old": {events: []watch.Event{{Type: watch.Error, Object: &expired}, {Type: watch.Error, Object: &closed}}},
		"closed at the end":           {events: []watch.Event{object, {Type: watch.Error, Object: &closed}}, ended: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.ended {
				cancel()
			}
			var reported []string
			filter := reportEnd(ctx, func(err error) { reported = append(reported, err.Error()) })
			for _, event := range c.events {
				if passed, keep := filter(event); !keep || passed.Object != event.Object {
					t.Error("the watch was changed")
				}
			}
			if diff := cmp.Diff(c.want, reported); diff != "" {
				t.Error(diff)
			}
		})
	}
}
