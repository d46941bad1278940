package statusapi

import (
	"context"
	"crypto/sha256"
	"time"

	"golang.org/x/sync/singleflight"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// tokenTTL is how long an accepted token is cached without another review.
const tokenTTL = time.Minute

// tokenCache is an authenticator.Token that caches which tokens another authenticator accepted. Concurrent requests with the same token
// wait for one review. tokenCache replaces k8s.io/apiserver's cache, which would also link in the API server's metrics and audit log. Their
// initialization would account for a sixth of the time before main starts.
type tokenCache struct {
	tokens   authenticator.Token
	accepted *utilcache.LRUExpireCache // keyed by the token's digest
	asking   singleflight.Group
}

func newTokenCache(tokens authenticator.Token) *tokenCache {
	return &tokenCache{tokens: tokens, accepted: utilcache.NewLRUExpireCache(knownTokens)}
}

// AuthenticateToken implements authenticator.Token.
func (c *tokenCache) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	digest := sha256.Sum256([]byte(token))
	if response, found := c.accepted.Get(digest); found {
		return response.(*authenticator.Response), true, nil
	}
	shared, err, _ := c.asking.Do(string(digest[:]), func() (any, error) {
		response, ok, err := c.tokens.AuthenticateToken(context.WithoutCancel(ctx), token) // other requests may wait for this review
		if !ok || err != nil {
			return nil, err
		}
		c.accepted.Add(digest, response, tokenTTL)
		return response, nil
	})
	response, ok := shared.(*authenticator.Response)
	return response, ok, err
}
