package window

import (
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// reviewTimeout ends a question to the API server that it does not answer.
	reviewTimeout = 10 * time.Second
	// tokenTTL, allowTTL and denyTTL are for how long an answer of the API server counts: a right that is taken away ends soon, and
	// one that is given begins sooner.
	tokenTTL = time.Minute
	allowTTL = time.Minute
	denyTTL  = 10 * time.Second
)

// Guard lets only those use the endpoint whom the API server knows by their bearer token (TokenReview) and allows what they ask for
// (SubjectAccessReview). It is a metricsserver.Options.FilterProvider. controller-runtime's own knows rights on paths only, and
// Echoes are a resource.
func Guard(config *rest.Config, httpClient *http.Client) (metricsserver.Filter, error) {
	who, err := authentication(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up the authentication: %w", err)
	}
	may, err := authorization(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("setting up the authorization: %w", err)
	}
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return &guard{who, may, log, next}, nil
	}, nil
}

func authentication(config *rest.Config, httpClient *http.Client) (authenticator.Request, error) {
	reviews, err := authenticationv1.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	who, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                &apiserver.AnonymousAuthConfig{Enabled: false},
		CacheTTL:                 tokenTTL,
		TokenAccessReviewClient:  reviews,
		TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff:      reviewRetries(),
	}.New()
	return who, err
}

func authorization(config *rest.Config, httpClient *http.Client) (authorizer.Authorizer, error) {
	reviews, err := authorizationv1.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: reviews,
		AllowCacheTTL:             allowTTL,
		DenyCacheTTL:              denyTTL,
		WebhookRetryBackoff:       reviewRetries(),
	}.New()
}

// reviewRetries has a question that failed asked again, twice within two seconds.
func reviewRetries() *wait.Backoff {
	return &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3}
}

// guard is what stands before a handler.
type guard struct {
	who  authenticator.Request
	may  authorizer.Authorizer
	log  logr.Logger
	next http.Handler
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	known, ok, err := g.who.AuthenticateRequest(r)
	if err != nil {
		g.log.Info("A token was not accepted.", "reason", err.Error(), "path", r.URL.Path)
	}
	if !ok {
		out.Header().Set("WWW-Authenticate", "Bearer")
		refuse(out, http.StatusUnauthorized, "a bearer token that the API server accepts is needed: see 'kubectl create token'")
		return
	}
	if asked, _ := targetOf(r); asked.check() != nil {
		refuse(out, http.StatusBadRequest, asked.check().Error())
		return
	}
	wants := attributes(known.User, r)
	decision, reason, err := g.may.Authorize(r.Context(), wants)
	switch {
	case err != nil:
		g.log.Error(err, "The API server could not be asked for somebody's rights.", "user", known.User.GetName())
		refuse(out, http.StatusServiceUnavailable, "the API server cannot be asked for your rights now; try again")
	case decision != authorizer.DecisionAllow:
		g.log.V(1).Info("Somebody was refused.", "user", known.User.GetName(), "reason", reason)
		refuse(out, http.StatusForbidden, forbidden(wants))
	default:
		g.next.ServeHTTP(out, r)
	}
}

// forbidden says which right is missing, in the words of the API server.
func forbidden(wants authorizer.AttributesRecord) string {
	if !wants.ResourceRequest {
		return fmt.Sprintf("user %q cannot %s path %q", wants.User.GetName(), wants.Verb, wants.Path)
	}
	where := "at the cluster scope: ask for one namespace by ?namespace="
	if wants.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", wants.Namespace)
	}
	return fmt.Sprintf("user %q cannot %s resource %q in API group %q %s", wants.User.GetName(), wants.Verb, wants.Resource, wants.APIGroup, where)
}
