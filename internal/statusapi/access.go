package statusapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// AccessFilter returns a filter that authenticates requests by their bearer token (TokenReview) and authorizes them (SubjectAccessReview).
// AccessFilter can be used as metricsserver.Options.FilterProvider. controller-runtime's own filter checks only permissions for paths, but
// access to Echoes requires permissions for a resource.
func AccessFilter(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	authenticate, err := authentication(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up authentication: %w", err)
	}
	authorize, err := authorization(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up authorization: %w", err)
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return &authorizedHandler{authenticate, authorize, log, &sampledLog{log: log}, next}, nil
	}, nil
}

func authentication(config *rest.Config, httpClient *http.Client) (authenticator.Request, error) {
	reviews, err := authenticationv1.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return group.NewAuthenticatedGroupAdder(bearertoken.New(newTokenCache(newTokenReviews(reviews.TokenReviews())))), nil
}

func authorization(config *rest.Config, httpClient *http.Client) (authorizer.Authorizer, error) {
	reviews, err := authorizationv1.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return authorizer.AuthorizerFunc(newAccessReviews(reviews.SubjectAccessReviews()).authorize), nil
}

// authorizedHandler passes authorized requests to the next handler.
type authorizedHandler struct {
	authenticate authenticator.Request
	authorize    authorizer.Authorizer
	log          logr.Logger
	failures     *sampledLog // authentication failures, which any client can cause
	next         http.Handler
}

// ServeHTTP implements http.Handler.
func (h *authorizedHandler) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	known, ok, err := h.authenticate.AuthenticateRequest(r)
	if err != nil {
		h.failures.info("Authentication failed.", "reason", err.Error(), "path", r.URL.Path)
	}
	if errors.Is(err, errTooManyReviews) {
		out.Header().Set("Retry-After", "1")
		writeError(out, http.StatusTooManyRequests, "too many tokens are being checked at the moment; try again in a second")
		return
	}
	if !ok {
		out.Header().Set("WWW-Authenticate", "Bearer")
		writeError(out, http.StatusUnauthorized, "a bearer token that the API server accepts is required: see 'kubectl create token'")
		return
	}
	if asked, _ := targetOf(r); asked.check() != nil {
		writeError(out, http.StatusBadRequest, asked.check().Error())
		return
	}
	wants := attributes(known.User, r)
	decision, reason, err := h.authorize.Authorize(r.Context(), wants)
	switch {
	case err != nil:
		h.log.Error(err, "Authorization failed because the API server did not review the request.", "user", known.User.GetName())
		writeError(out, http.StatusServiceUnavailable, "the API server cannot check your permissions at the moment; try again later")
	case decision != authorizer.DecisionAllow:
		h.log.V(1).Info("Access denied.", "user", known.User.GetName(), "reason", reason)
		writeError(out, http.StatusForbidden, forbidden(wants))
	default:
		h.next.ServeHTTP(out, r)
	}
}

// forbidden describes the missing permission in the API server's words.
func forbidden(wants authorizer.AttributesRecord) string {
	if !wants.ResourceRequest {
		return fmt.Sprintf("user %q cannot %s path %q", wants.User.GetName(), wants.Verb, wants.Path)
	}
	where := "at the cluster scope; select a namespace with ?namespace="
	if wants.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", wants.Namespace)
	}
	return fmt.Sprintf("user %q cannot %s resource %q in API group %q %s", wants.User.GetName(), wants.Verb, wants.Resource, wants.APIGroup,
		where)
}
