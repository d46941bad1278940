package echoesapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	reviewTimeout = 10 * time.Second
	// newTokensPerSecond and newTokenBurst limit the reviews with new tokens, because any client can make up tokens.
	newTokensPerSecond = 20
	newTokenBurst      = 40
	// knownTokens is the maximum number of remembered tokens, and knownTTL is how long a token is remembered after it was last accepted.
	knownTokens = 1024
	knownTTL    = time.Hour
	// logPeriod is the minimum time between two lines in the log about requests that were not reviewed.
	logPeriod = time.Second
)

var errTooManyTokens = errors.New("too many new tokens")

// AccessFilter returns a function for metricsserver.Options.FilterProvider. Its filter passes requests on if the API server permits them.
// Reviews are sent through wrap.
func AccessFilter(wrap transport.WrapperFunc) func(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(config *rest.Config, _ *http.Client) (metricsserver.Filter, error) {
		anonymous := rest.AnonymousClientConfig(config) // no request can use the operator's own credentials
		// An API server that rejects a token also closes an HTTP/2 connection, which other requests share.
		anonymous.NextProtos = []string{"http/1.1"}
		anonymous.QPS, anonymous.RateLimiter = -1, nil
		anonymous.Wrap(wrap)
		client, err := authorizationclient.NewForConfig(anonymous)
		if err != nil {
			return nil, fmt.Errorf("setting up authorization: %w", err)
		}
		reviews := &reviews{
			client:    client.RESTClient(),
			newTokens: rate.NewLimiter(newTokensPerSecond, newTokenBurst),
			known:     utilcache.NewLRUExpireCache(knownTokens),
			failures:  rate.Sometimes{Interval: logPeriod},
		}
		return reviews.filter, nil
	}
}

// reviews asks the API server whether the bearer of a token has a permission, as that bearer (SelfSubjectAccessReview). Only reviews with
// tokens that the API server has not accepted before are limited, so that a flood of made-up tokens does not lock out known clients.
type reviews struct {
	client    rest.Interface
	newTokens *rate.Limiter
	known     *utilcache.LRUExpireCache // keyed by the token's digest
	failures  rate.Sometimes            // limits log lines, which any client can cause
}

func (v *reviews) filter(log logr.Logger, next http.Handler) (http.Handler, error) {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		// A token contains no space, because the API server could find no token in such a header and treat the request as anonymous.
		words := strings.Fields(r.Header.Get("Authorization"))
		if len(words) != 2 || !strings.EqualFold(words[0], "Bearer") {
			reject(out, apierrors.NewUnauthorized("no token"))
			return
		}
		question := questionOf(r)
		status, err := v.review(r.Context(), words[1], question)
		switch {
		case err != nil:
			v.failures.Do(func() { log.Info("Access was not reviewed.", "reason", err.Error()) })
			reject(out, err)
		case !status.Allowed || status.Denied:
			log.V(1).Info("Access denied.", "reason", status.Reason)
			writeError(out, http.StatusForbidden, forbidden(question))
		default:
			next.ServeHTTP(out, r)
		}
	}), nil
}

// questionOf returns the permission that a request requires. Requests for Echoes require the same permission to list or get Echoes as in
// the API server, and all other requests require permission to access their path.
func questionOf(r *http.Request) authorizationv1.SelfSubjectAccessReviewSpec {
	path, isEchoes := strings.CutPrefix(r.URL.Path, echoesPath)
	if !isEchoes || path != "" && path[0] != '/' {
		return authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{
			Verb: strings.ToLower(r.Method), Path: r.URL.Path}}
	}
	echoes := &authorizationv1.ResourceAttributes{Verb: "list", Group: v1.GroupVersion.Group, Version: v1.GroupVersion.Version,
		Resource: "echoes", Namespace: r.URL.Query().Get("namespace")}
	if path != "" {
		echoes.Namespace, echoes.Name, _ = strings.Cut(path[1:], "/")
	}
	if echoes.Name != "" {
		echoes.Verb = "get"
	}
	return authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: echoes}
}

func (v *reviews) review(ctx context.Context, token string,
	question authorizationv1.SelfSubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: question}
	digest := sha256.Sum256([]byte(token))
	if _, known := v.known.Get(digest); !known && !v.newTokens.Allow() {
		return review.Status, errTooManyTokens
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	err := v.client.Post().Resource("selfsubjectaccessreviews").SetHeader("Authorization", "Bearer "+token).MaxRetries(0).Body(review).
		Do(ctx).Into(review)
	switch {
	case err == nil:
		v.known.Add(digest, nil, knownTTL)
	case apierrors.IsUnauthorized(err):
		v.known.Remove(digest)
	}
	return review.Status, err
}

// reject responds to a request that the API server has not reviewed.
func reject(out http.ResponseWriter, err error) {
	switch {
	case apierrors.IsUnauthorized(err):
		out.Header().Set("WWW-Authenticate", "Bearer")
		writeError(out, http.StatusUnauthorized, "a bearer token that the API server accepts is required: see 'kubectl create token'")
	case apierrors.IsForbidden(err): // the cluster does not let all users ask about their own permissions
		writeError(out, http.StatusForbidden, err.Error())
	case errors.Is(err, errTooManyTokens):
		out.Header().Set("Retry-After", "1")
		writeError(out, http.StatusTooManyRequests, "too many tokens are being checked at the moment; try again in a second")
	default:
		delay, _ := apierrors.SuggestsClientDelay(err)
		out.Header().Set("Retry-After", strconv.Itoa(max(delay, 1)))
		writeError(out, http.StatusServiceUnavailable, "the API server cannot check your permissions at the moment; try again later")
	}
}

// forbidden describes the missing permission in the API server's words.
func forbidden(question authorizationv1.SelfSubjectAccessReviewSpec) string {
	if path := question.NonResourceAttributes; path != nil {
		return fmt.Sprintf("the token's user cannot %s path %q", path.Verb, path.Path)
	}
	echoes := question.ResourceAttributes
	where := "at the cluster scope; select a namespace with ?namespace="
	if echoes.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", echoes.Namespace)
	}
	return fmt.Sprintf("the token's user cannot %s resource %q in API group %q %s", echoes.Verb, echoes.Resource, echoes.Group, where)
}
