package discovery

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestWatch_queriesRequiredAndMissedKinds(t *testing.T) {
	all := []Kind{{GroupVersionKind: route()}, {GroupVersionKind: gate()}}
	missed := func(w *Watch) { w.Miss() }
	for name, c := range map[string]struct {
		required []Kind
		before   func(*Watch)
		answer   Access
		want     []int // how many kinds the watch asks about in each minute
	}{
		"nothing is required":                      {nil, func(*Watch) {}, Usable, []int{0, 0, 0}},
		"one kind is required":                     {all[:1], func(*Watch) {}, Usable, []int{1, 1, 1}},
		"a used kind was missed":                   {nil, missed, Usable, []int{1, 0, 0}},
		"a used kind was missed and is not served": {nil, missed, NotServed, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []int
			w := &Watch{
				Changes: Changes{Times: Times{Period: time.Minute, Rest: time.Hour}, Began: begin(),
					Start: Offer{route(): {Access: Usable}, gate(): {Access: NotServed}}},
				Kinds:    all,
				Required: func(context.Context) func(Kind) bool { return func(k Kind) bool { return contains(c.required, k) } },
				Leads:    func() bool { return false },
			}
			w.Ask = func(_ context.Context, kinds []Kind) (Offer, error) {
				asked[len(asked)-1] = len(kinds)
				return Offer{route(): {Access: c.answer}}, nil
			}
			c.before(w)
			for minute := range c.want {
				asked = append(asked, 0)
				w.Look(t.Context(), begin().Add(time.Duration(minute)*time.Minute))
			}
			NewWithT(t).Expect(asked).To(HaveExactElements(c.want))
		})
	}
}

func contains(kinds []Kind, kind Kind) bool {
	return slices.ContainsFunc(kinds, func(k Kind) bool { return k.GroupVersionKind == kind.GroupVersionKind })
}

// TestWatch_restartsCount checks the events that restart the count. If the count did not restart, the process would exit in minute 1.
func TestWatch_restartsCount(t *testing.T) {
	for name, inMinuteOne := range map[string]func(*Watch) error{
		"a failed response": func(*Watch) error { return errors.New("no response") },
		"a call of Drop":    func(w *Watch) error { w.Drop(); return nil },
	} {
		minute := 0
		w := &Watch{
			Changes:  Changes{Times: Times{Period: time.Minute}, Began: begin(), Start: Offer{route(): {Access: NotServed}}},
			Kinds:    []Kind{{GroupVersionKind: route()}},
			Required: func(context.Context) func(Kind) bool { return func(Kind) bool { return true } },
			Leads:    func() bool { return false },
		}
		w.Ask = func(context.Context, []Kind) (Offer, error) {
			if minute == 0 {
				return Offer{route(): {Access: Usable}}, inMinuteOne(w)
			}
			return Offer{route(): {Access: Usable}}, nil
		}
		for ; minute < 10; minute++ {
			if changes := w.Look(t.Context(), begin().Add(time.Duration(minute)*time.Minute)); len(changes) > 0 {
				break
			}
		}
		if minute != 3 { // the first odd minute after two responses
			t.Errorf("%s: the process exits in minute %d", name, minute)
		}
	}
}
