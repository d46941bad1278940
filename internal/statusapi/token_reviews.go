package statusapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// reviewsPerSecond, reviewBurst, and reviewsAtOnce limit the reviews of unknown tokens, because any client can make up tokens.
	reviewsPerSecond = 20
	reviewBurst      = 40
	reviewsAtOnce    = 10
	// knownTokens is the maximum number of remembered tokens, and knownTTL is how long a token is remembered after it was last accepted.
	knownTokens = 1024
	knownTTL    = time.Hour
)

var errTooManyReviews = errors.New("too many tokens are being reviewed")

// tokenReviews is an authenticator.Token that asks the API server (TokenReview). It limits only reviews of tokens that the API server has
// not accepted before. Therefore, a flood of unknown tokens does not lock out users with known tokens.
type tokenReviews struct {
	reviews authenticationclient.TokenReviewInterface
	rate    flowcontrol.PassiveRateLimiter
	slots   chan struct{}
	known   *utilcache.LRUExpireCache // keyed by the token's digest
}

func newTokenReviews(reviews authenticationclient.TokenReviewInterface) *tokenReviews {
	return &tokenReviews{
		reviews: reviews,
		rate:    flowcontrol.NewTokenBucketPassiveRateLimiter(reviewsPerSecond, reviewBurst),
		slots:   make(chan struct{}, reviewsAtOnce),
		known:   utilcache.NewLRUExpireCache(knownTokens),
	}
}

// AuthenticateToken implements authenticator.Token.
func (r *tokenReviews) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	digest := sha256.Sum256([]byte(token))
	if _, known := r.known.Get(digest); !known {
		select {
		case r.slots <- struct{}{}:
			defer func() { <-r.slots }()
		default:
			return nil, false, errTooManyReviews
		}
		if !r.rate.TryAccept() {
			return nil, false, errTooManyReviews
		}
	}
	status, err := r.review(ctx, token)
	switch {
	case err != nil:
		return nil, false, err
	case !status.Authenticated:
		r.known.Remove(digest)
		return nil, false, fmt.Errorf("the API server rejects the token: %s", status.Error)
	default:
		r.known.Add(digest, nil, knownTTL)
		return responseTo(status), true, nil
	}
}

func (r *tokenReviews) review(ctx context.Context, token string) (*authenticationv1.TokenReviewStatus, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	reviewed, err := retryReview(ctx, func(ctx context.Context) (*authenticationv1.TokenReview, error) {
		return r.reviews.Create(ctx, review, metav1.CreateOptions{})
	})
	if err != nil {
		return nil, fmt.Errorf("reviewing a token: %w", err)
	}
	return &reviewed.Status, nil
}

// responseTo returns the user of a token that the API server accepts.
func responseTo(status *authenticationv1.TokenReviewStatus) *authenticator.Response {
	extra := map[string][]string{}
	for key, values := range status.User.Extra {
		extra[key] = values
	}
	return &authenticator.Response{User: &user.DefaultInfo{
		Name: status.User.Username, UID: status.User.UID, Groups: status.User.Groups, Extra: extra}}
}
