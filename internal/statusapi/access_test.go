package statusapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/rest"
)

func request(t *testing.T, handler http.Handler, method, url string) *httptest.ResponseRecorder {
	t.Helper()
	out := httptest.NewRecorder()
	handler.ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), method, url, http.NoBody))
	return out
}

func message(t *testing.T, out *httptest.ResponseRecorder) string {
	t.Helper()
	body := map[string]string{}
	if err := json.Unmarshal(out.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v: %s", err, out.Body)
	}
	return body["error"]
}

func TestAuthorizedHandler(t *testing.T) {
	type decide = func(authorizer.Attributes) (authorizer.Decision, string, error)
	allow := func(authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionAllow, "", nil
	}
	deny := func(authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionDeny, "no", nil
	}
	unsure := func(authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionNoOpinion, "", nil
	}
	broken := func(authorizer.Attributes) (authorizer.Decision, string, error) {
		return authorizer.DecisionAllow, "", errors.New("no connection")
	}
	for name, c := range map[string]struct {
		known   bool
		fails   error // from the authentication
		decide  decide
		url     string
		status  int
		message string
	}{
		"allowed":                       {known: true, decide: allow, url: "/metrics", status: http.StatusOK},
		"allowed, with a partial error": {known: true, fails: errors.New("other"), decide: allow, url: "/metrics", status: http.StatusOK},
		"unknown": {decide: allow, url: "/metrics", status: http.StatusUnauthorized,
			message: "a bearer token that the API server accepts is required: see 'kubectl create token'"},
		"authentication fails": {fails: errors.New("secret detail"), decide: allow, url: "/metrics", status: http.StatusUnauthorized,
			message: "a bearer token that the API server accepts is required: see 'kubectl create token'"},
		"too many tokens": {fails: errTooManyReviews, decide: allow, url: "/metrics", status: http.StatusTooManyRequests,
			message: "too many tokens are being checked"},
		"an invalid namespace": {known: true, decide: allow, url: "/echoes?namespace=A", status: http.StatusBadRequest,
			message: `namespace: "A" is not a valid namespace name`},
		"an invalid namespace, unknown": {decide: allow, url: "/echoes?namespace=A", status: http.StatusUnauthorized, message: "a bearer token"},
		"denied a path": {known: true, decide: deny, url: "/metrics", status: http.StatusForbidden,
			message: `user "jane" cannot get path "/metrics"`},
		"no opinion on a path": {known: true, decide: unsure, url: "/metrics", status: http.StatusForbidden,
			message: `user "jane" cannot get path "/metrics"`},
		"denied all Echoes": {known: true, decide: deny, url: "/echoes", status: http.StatusForbidden,
			message: `user "jane" cannot list resource "echoes" in API group "example.com" at the cluster scope; select a namespace with ` +
				`?namespace=`},
		"denied the Echoes in a namespace": {known: true, decide: deny, url: "/echoes?namespace=a", status: http.StatusForbidden,
			message: `user "jane" cannot list resource "echoes" in API group "example.com" in the namespace "a"`},
		"denied one Echo": {known: true, decide: deny, url: "/echoes/a/x", status: http.StatusForbidden,
			message: `user "jane" cannot get resource "echoes" in API group "example.com" in the namespace "a"`},
		"authorization fails": {known: true, decide: broken, url: "/metrics", status: http.StatusServiceUnavailable,
			message: "the API server cannot check your permissions at the moment; try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			passed := false
			handler := &authorizedHandler{
				authenticate: authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
					return &authenticator.Response{User: &user.DefaultInfo{Name: "jane"}}, c.known, c.fails
				}),
				authorize: authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
					return c.decide(a)
				}),
				log: logr.Discard(), failures: &sampledLog{log: logr.Discard()},
				next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }),
			}
			out := request(t, handler, http.MethodGet, c.url)
			if out.Code != c.status || passed != (c.status == http.StatusOK) {
				t.Errorf("the status is %d, and the request is passed on: %t", out.Code, passed)
			}
			if c.message != "" && !strings.HasPrefix(message(t, out), c.message) {
				t.Errorf("the message is %s", out.Body)
			}
			if challenged := out.Header().Get("WWW-Authenticate") == "Bearer"; challenged != (c.status == http.StatusUnauthorized) {
				t.Errorf("the response asks for a token: %t", challenged)
			}
		})
	}
}

// reviews is an API server that knows one token and the permissions of the token's user.
type reviews struct {
	lock sync.Mutex
	seen []string // the resources and paths that were reviewed
	sent int      // the number of reviewed tokens
}

func (s *reviews) tokens() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.sent
}

// ServeHTTP implements http.Handler.
func (s *reviews) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	var review struct {
		Kind string
		Spec struct {
			Token                 string
			User                  string
			ResourceAttributes    *struct{ Verb, Resource, Namespace string }
			NonResourceAttributes *struct{ Verb, Path string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	reviewed := map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
		"status": map[string]any{"authenticated": review.Spec.Token == "good", "user": map[string]any{"username": "jane"}}}
	if resource, path := review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes; resource != nil || path != nil {
		what := ""
		if resource != nil {
			what = resource.Verb + " " + resource.Resource + " in " + resource.Namespace
		} else {
			what = path.Verb + " " + path.Path
		}
		s.lock.Lock()
		s.seen = append(s.seen, review.Spec.User+" "+what)
		s.lock.Unlock()
		reviewed = map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
			"status": map[string]any{"allowed": what == "get /metrics" || what == "list echoes in a"}}
	} else {
		s.lock.Lock()
		s.sent++
		s.lock.Unlock()
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(reviewed)
}

// asJSON returns a client configuration for an API server that reads JSON. The client has no rate limit.
func asJSON(url string) *rest.Config {
	return &rest.Config{Host: url, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

func TestAccessFilter(t *testing.T) {
	g := NewWithT(t)
	reviewer := &reviews{}
	server := httptest.NewServer(reviewer)
	defer server.Close()
	filter, err := AccessFilter(asJSON(server.URL), server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	handler, err := filter(logr.Discard(), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	g.Expect(err).NotTo(HaveOccurred())
	for name, c := range map[string]struct {
		token, url string
		want       int
	}{
		"a path":                          {"good", "/metrics", http.StatusOK},
		"another path":                    {"good", "/other", http.StatusForbidden},
		"the Echoes of a namespace":       {"good", "/echoes?namespace=a", http.StatusOK},
		"the Echoes of another namespace": {"good", "/echoes?namespace=b", http.StatusForbidden},
		"a token that is not accepted":    {"bad", "/metrics", http.StatusUnauthorized},
		"no token":                        {"", "/metrics", http.StatusUnauthorized}, // requests are never anonymous
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, r)
		if out.Code != c.want {
			t.Errorf("%s: the status is %d: %s", name, out.Code, out.Body)
		}
	}
	slices.Sort(reviewer.seen)
	want := []string{"jane get /metrics", "jane get /other", "jane list echoes in a", "jane list echoes in b"}
	g.Expect(reviewer.seen).To(HaveExactElements(want))
}

func TestAccessFilter_rejectsUnusableConfig(t *testing.T) {
	_, err := AccessFilter(&rest.Config{Host: "http://a b"}, http.DefaultClient)
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("setting up authentication: ")))
}
