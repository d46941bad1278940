package statusapi

import (
	"context"
	"crypto/sha256"
	"time"

	"golang.org/x/sync/singleflight"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// tokenTTL is how long a token that was accepted is not asked about again.
const tokenTTL = time.Minute

// tokenAnswers is an authenticator.Token that remembers which tokens another one accepted. Those who ask for the same token at the same time
// wait for one answer. The cache of k8s.io/apiserver links the metrics and the audit log of the API server, which take a sixth of the time until
// main begins.
type tokenAnswers struct {
	tokens   authenticator.Token
	accepted *utilcache.LRUExpireCache // by the digest of the token
	asking   singleflight.Group
}

func newTokenAnswers(tokens authenticator.Token) *tokenAnswers {
	return &tokenAnswers{tokens: tokens, accepted: utilcache.NewLRUExpireCache(knownTokens)}
}

// AuthenticateToken implements authenticator.Token.
func (a *tokenAnswers) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	digest := sha256.Sum256([]byte(token))
	if answer, found := a.accepted.Get(digest); found {
		return answer.(*authenticator.Response), true, nil
	}
	answer, err, _ := a.asking.Do(string(digest[:]), func() (any, error) {
		answer, ok, err := a.tokens.AuthenticateToken(context.WithoutCancel(ctx), token) // others wait for it, too
		if !ok || err != nil {
			return nil, err
		}
		a.accepted.Add(digest, answer, tokenTTL)
		return answer, nil
	})
	response, ok := answer.(*authenticator.Response)
	return response, ok, err
}
