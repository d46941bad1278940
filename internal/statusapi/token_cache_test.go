package statusapi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

func TestTokenCache_keepsAcceptedTokenForTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		api := &reviewer{}
		tokens := newTokenCache(newTokenReviews(api))
		accepted := func(token string) bool {
			reviewed, ok, err := tokens.AuthenticateToken(t.Context(), token)
			if ok != (err == nil) || ok && reviewed.User.GetName() != "jane" {
				t.Errorf("the response for %s is %+v, %t, %v", token, reviewed, ok, err)
			}
			return ok
		}
		if !accepted("good") || accepted("bad") || accepted("bad") || api.asked.Load() != 3 {
			t.Errorf("after a good token and the same bad token twice, there were %d reviews", api.asked.Load())
		}
		api.revoked.Store(true)
		time.Sleep(tokenTTL - time.Second) //nolint:forbidigo // the bubble's clock
		if !accepted("good") || accepted("good-2") || api.asked.Load() != 4 {
			t.Errorf("within a minute, there were %d reviews", api.asked.Load())
		}
		time.Sleep(2 * time.Second) //nolint:forbidigo // the bubble's clock
		g.Expect(accepted("good")).To(BeFalse())
		g.Expect(api.asked.Load()).To(BeEquivalentTo(5))
	})
}

func TestTokenCache_sharesConcurrentReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		api := &reviewer{respond: make(chan struct{})}
		tokens := newTokenCache(newTokenReviews(api))
		leaving, leave := context.WithCancel(t.Context())
		rejected := make(chan error, 6)
		ask := func(ctx context.Context) {
			_, _, err := tokens.AuthenticateToken(ctx, "slow")
			rejected <- err
		}
		go ask(leaving)
		synctest.Wait()
		for range 5 {
			go ask(t.Context())
		}
		leave() // the first client disconnects, which does not affect the others
		synctest.Wait()
		close(api.respond)
		for range 6 {
			g.Expect(<-rejected).To(MatchError("the API server rejects the token: invalid bearer token"))
		}
		g.Expect(api.asked.Load()).To(BeEquivalentTo(1))
	})
}
