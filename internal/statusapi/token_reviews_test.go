package statusapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// reviewer is an API server that reviews tokens. It accepts tokens that begin with "good" unless they are revoked, returns an error for
// "down", and delays its response to "slow" until the test releases it.
type reviewer struct {
	authenticationclient.TokenReviewInterface
	asked   atomic.Int32
	revoked atomic.Bool
	respond chan struct{}
}

// Create implements authenticationclient.TokenReviewInterface.
func (r *reviewer) Create(_ context.Context, review *authenticationv1.TokenReview,
	_ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	r.asked.Add(1)
	reviewed := review.DeepCopy()
	switch token := review.Spec.Token; {
	case token == "down":
		return nil, errors.New("no connection")
	case strings.HasPrefix(token, "slow"):
		<-r.respond
	case strings.HasPrefix(token, "good") && !r.revoked.Load():
		reviewed.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{
			Username: "jane", UID: "u", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a"}}}}
		return reviewed, nil
	}
	reviewed.Status.Error = "invalid bearer token"
	return reviewed, nil
}

// flood tries to authenticate many made-up tokens, and returns how many were rejected without a review.
func flood(t *testing.T, tokens *tokenReviews, round string) int {
	t.Helper()
	refused := 0
	for i := range 3000 {
		_, ok, err := tokens.AuthenticateToken(t.Context(), fmt.Sprintf("%s-%d", round, i))
		if ok || err == nil {
			t.Fatalf("a token that no one has issued is accepted: %v", err)
		}
		if errors.Is(err, errTooManyReviews) {
			refused++
		}
	}
	return refused
}

func TestTokenReviews_limitsReviewsOfUnknownTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &reviewer{}
		tokens := newTokenReviews(api)
		if refused := flood(t, tokens, "a"); refused != 3000-reviewBurst || api.asked.Load() != reviewBurst {
			t.Errorf("%d tokens are refused and %d reviewed", refused, api.asked.Load())
		}
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		if flood(t, tokens, "b"); api.asked.Load() != reviewBurst+reviewsPerSecond {
			t.Errorf("%d tokens are reviewed after a second", api.asked.Load())
		}
	})
}

func TestTokenReviews_reviewsKnownTokenDuringFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &reviewer{}
		tokens := newTokenReviews(api)
		accepted := func() bool {
			reviewed, ok, err := tokens.AuthenticateToken(t.Context(), "good")
			if ok && (reviewed.User.GetName() != "jane" || reviewed.User.GetUID() != "u" || reviewed.User.GetGroups()[0] != "g" ||
				reviewed.User.GetExtra()["scopes"][0] != "a") {
				t.Errorf("the user is %+v, %v", reviewed.User, err)
			}
			return ok
		}
		if !accepted() {
			t.Fatal("the good token is not accepted at first")
		}
		flood(t, tokens, "a")
		if _, ok, err := tokens.AuthenticateToken(t.Context(), "good-2"); ok || !errors.Is(err, errTooManyReviews) {
			t.Errorf("a new token is accepted: %t, %v", ok, err)
		}
		if !accepted() {
			t.Error("the good token is not accepted during the flood")
		}
		api.revoked.Store(true)
		if accepted() {
			t.Error("the good token is accepted after its revocation")
		}
		if accepted() || api.asked.Load() != reviewBurst+2 { // the token is no longer known
			t.Errorf("after the revocation, there were %d reviews", api.asked.Load())
		}
	})
}

func TestTokenReviews_limitsConcurrentReviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &reviewer{respond: make(chan struct{})}
		tokens := newTokenReviews(api)
		results := make(chan error, 2*reviewsAtOnce)
		for i := range 2 * reviewsAtOnce {
			go func() {
				_, _, err := tokens.AuthenticateToken(t.Context(), fmt.Sprintf("slow-%d", i))
				results <- err
			}()
		}
		synctest.Wait()
		if api.asked.Load() != reviewsAtOnce || len(results) != reviewsAtOnce {
			t.Errorf("%d reviews at once, and %d are refused", api.asked.Load(), len(results))
		}
		close(api.respond)
		synctest.Wait()
		if _, _, err := tokens.AuthenticateToken(t.Context(), "later"); errors.Is(err, errTooManyReviews) {
			t.Error("no place is free again")
		}
	})
}

func TestTokenReviews_reportsFailedReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ok, err := newTokenReviews(&reviewer{}).AuthenticateToken(t.Context(), "down")
		if ok || err == nil || err.Error() != "reviewing a token: no connection" {
			t.Errorf("got %t, %v", ok, err)
		}
	})
}

// TestAccessFilter_limitsReviewsDuringFlood sends made-up tokens to the endpoint, and checks that the reviews and the log lines stay within
// their rate limits.
func TestAccessFilter_limitsReviewsDuringFlood(t *testing.T) {
	api := &reviews{}
	server := httptest.NewServer(api)
	defer server.Close()
	filter, err := AccessFilter(asJSON(server.URL), server.Client())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	log := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	handler, err := filter(log, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	if err != nil {
		t.Fatal(err)
	}
	get := func(token string) *httptest.ResponseRecorder {
		out, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(out, r)
		return out
	}
	if out := get("good"); out.Code != http.StatusOK {
		t.Fatalf("a good token gets %d: %q", out.Code, lines)
	}
	began, statuses := time.Now(), map[int]int{}
	for i := range 3000 {
		out := get(fmt.Sprintf("made-up-%d", i))
		statuses[out.Code]++
		if out.Code == http.StatusTooManyRequests && (out.Header().Get("Retry-After") != "1" || !strings.Contains(message(t, out), "try again")) {
			t.Fatalf("the rejection does not say what to do: %v %s", out.Header(), out.Body)
		}
	}
	if out := get("good"); out.Code != http.StatusOK {
		t.Errorf("the good token gets %d after the flood", out.Code)
	}
	seconds := int(time.Since(began).Seconds()) + 1
	if statuses[http.StatusUnauthorized]+statuses[http.StatusTooManyRequests] != 3000 ||
		statuses[http.StatusUnauthorized] > reviewBurst+seconds*reviewsPerSecond {
		t.Errorf("in %d s, the responses were %v", seconds, statuses)
	}
	if reviewed := api.tokens(); reviewed != statuses[http.StatusUnauthorized]+1 {
		t.Errorf("%d reviews led to %v", reviewed, statuses)
	}
	if len(lines) == 0 || len(lines) > seconds {
		t.Errorf("in %d s, there are %d lines in the log", seconds, len(lines))
	}
}

func TestSampledLog_countsDroppedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		sampled := &sampledLog{log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})}
		for range 3 {
			sampled.info("failed", "reason", "a")
		}
		time.Sleep(logPeriod) //nolint:forbidigo // the bubble's clock
		sampled.info("failed", "reason", "b")
		time.Sleep(logPeriod) //nolint:forbidigo // the bubble's clock
		sampled.info("failed", "reason", "c")
		if len(lines) != 3 || strings.Contains(lines[0], "leftOut") || !strings.Contains(lines[1], `"leftOut"=2`) ||
			strings.Contains(lines[2], "leftOut") {
			t.Errorf("the lines are %q", lines)
		}
	})
}
