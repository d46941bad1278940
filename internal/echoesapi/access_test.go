package echoesapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// apiServer is a transport that responds as an API server does. It accepts tokens that begin with "good" unless they are revoked, and
// allows their users "get /metrics" and to list Echoes in the namespace "a".
type apiServer struct {
	respond respond // nil: review
	revoked bool
	sent    []*http.Request
}

// RoundTrip implements http.RoundTripper.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent = append(s.sent, r)
	if s.respond != nil {
		return s.respond(r)
	}
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer good") || s.revoked {
		return failure(http.StatusUnauthorized, "Unauthorized", "")(r)
	}
	review := authorizationv1.SelfSubjectAccessReview{}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		return nil, err
	}
	path, echoes := review.Spec.NonResourceAttributes, review.Spec.ResourceAttributes
	allowed := path != nil && *path == authorizationv1.NonResourceAttributes{Verb: "get", Path: "/metrics"} ||
		echoes != nil && echoes.Verb == "list" && echoes.Namespace == "a"
	return reviewed(fmt.Sprintf(`{"allowed": %t}`, allowed))
}

func reviewed(status string) (*http.Response, error) {
	return response(http.StatusCreated, `{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": `+status+`}`)
}

func response(status int, body string) (*http.Response, error) {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

type respond = func(*http.Request) (*http.Response, error)

// failure responds with an error. Its text may have more fields.
func failure(status int, reason, more string) respond {
	return func(*http.Request) (*http.Response, error) {
		return response(status, fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d%s}`, reason,
			status, more))
	}
}

// guarded returns a handler that responds to permitted requests with 200.
func guarded(t *testing.T, api *apiServer, log logr.Logger) http.Handler {
	t.Helper()
	config := &rest.Config{Host: "http://api.example.com", ContentType: "application/json",
		BearerToken: "of the operator", CertFile: "/of/the/operator"}
	return filtered(t, config, func(http.RoundTripper) http.RoundTripper { return api }, log)
}

func filtered(t *testing.T, config *rest.Config, wrap transport.WrapperFunc, log logr.Logger) http.Handler {
	t.Helper()
	filter, err := AccessFilter(wrap)(config, http.DefaultClient)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	handler, err := filter(log, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return handler
}

// get sends a request with the given Authorization header, unless it is empty.
func get(t *testing.T, handler http.Handler, url, authorization string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	out := httptest.NewRecorder()
	handler.ServeHTTP(out, r)
	return out
}

func TestAccessFilter(t *testing.T) {
	const noToken = "a bearer token that the API server accepts is required: see 'kubectl create token'"
	for name, c := range map[string]struct {
		authorization, url string
		status             int
		message            string
	}{
		"a path":          {"Bearer good", "/metrics", http.StatusOK, ""},
		"the Echoes":      {"bearer  good", "/echoes?namespace=a", http.StatusOK, ""},
		"a made-up token": {"Bearer bad", "/metrics", http.StatusUnauthorized, noToken},
		"another path":    {"Bearer good", "/other", http.StatusForbidden, `the token's user cannot get path "/other"`},
		"all Echoes": {"Bearer good", "/echoes", http.StatusForbidden, `the token's user cannot list resource "echoes" in API group ` +
			`"example.com" at the cluster scope; select a namespace with ?namespace=`},
		"the Echoes of another namespace": {"Bearer good", "/echoes?namespace=b", http.StatusForbidden,
			`the token's user cannot list resource "echoes" in API group "example.com" in the namespace "b"`},
		"one Echo": {"Bearer good", "/echoes/a/x", http.StatusForbidden,
			`the token's user cannot get resource "echoes" in API group "example.com" in the namespace "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			api := &apiServer{}
			out := get(t, guarded(t, api, logr.Discard()), c.url, c.authorization)
			g.Expect(out.Code).To(Equal(c.status))
			if c.message != "" {
				g.Expect(message(t, out)).To(Equal(c.message))
			}
			challenge := map[int][]string{http.StatusUnauthorized: {"Bearer"}}
			g.Expect(out.Header().Values("WWW-Authenticate")).To(Equal(challenge[c.status]))
			g.Expect(api.sent).To(HaveLen(1))
			g.Expect(api.sent[0].Header["Authorization"]).To(HaveExactElements("Bearer " + strings.Fields(c.authorization)[1]))
			g.Expect(api.sent[0].URL.String()).To(Equal("http://api.example.com/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"))
		})
	}
}

// TestAccessFilter_sendsNoRequestWithoutToken uses headers in which the API server would find no token, or another one.
func TestAccessFilter_sendsNoRequestWithoutToken(t *testing.T) {
	for _, authorization := range []string{"", "Bearer", "Bearer ", "good", "Basic good", "Bearer good bad", "Bearer \u00a0"} {
		g := NewWithT(t)
		api := &apiServer{}
		g.Expect(get(t, guarded(t, api, logr.Discard()), "/metrics", authorization).Code).To(Equal(http.StatusUnauthorized), authorization)
		g.Expect(api.sent).To(BeEmpty(), authorization)
	}
}

func TestAccessFilter_allowsOnlyIfAllowedAndNotDenied(t *testing.T) {
	for status, want := range map[string]int{
		`{"allowed": true}`:                 http.StatusOK,
		`{"allowed": true, "denied": true}`: http.StatusForbidden,
		`{"denied": true}`:                  http.StatusForbidden,
		`{"evaluationError": "no webhook"}`: http.StatusForbidden,
		`{"allowed": "true"}`:               http.StatusServiceUnavailable,
	} {
		api := &apiServer{respond: func(*http.Request) (*http.Response, error) { return reviewed(status) }}
		NewWithT(t).Expect(get(t, guarded(t, api, logr.Discard()), "/metrics", "Bearer good").Code).To(Equal(want), status)
	}
}

func TestAccessFilter_reportsFailedReview(t *testing.T) {
	const unavailable = "the API server cannot check your permissions at the moment; try again later"
	for name, c := range map[string]struct {
		respond respond
		status  int
		retry   string
		message string
		takes   time.Duration
	}{
		"down": {func(*http.Request) (*http.Response, error) { return nil, errors.New("no connection") },
			http.StatusServiceUnavailable, "1", unavailable, 0},
		"slow": {func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, http.StatusServiceUnavailable, "1", unavailable, reviewTimeout},
		"busy": {func(*http.Request) (*http.Response, error) {
			r, err := response(http.StatusTooManyRequests, "Too many requests, please try again later.")
			r.Header = http.Header{"Content-Type": {"text/plain"}, "Retry-After": {"7"}}
			return r, err
		}, http.StatusServiceUnavailable, "7", unavailable, 0},
		"starting": {failure(http.StatusServiceUnavailable, "ServiceUnavailable", `, "details": {"retryAfterSeconds": 3}`),
			http.StatusServiceUnavailable, "3", unavailable, 0},
		"broken": {failure(http.StatusInternalServerError, "InternalError", ""), http.StatusServiceUnavailable, "1",
			unavailable, 0},
		"a server without reviews": {failure(http.StatusNotFound, "NotFound", ""), http.StatusServiceUnavailable, "1", unavailable, 0},
		"a user who may not ask": {failure(http.StatusForbidden, "Forbidden", `, "message": "jane cannot create selfsubjectaccessreviews"`),
			http.StatusForbidden, "", "jane cannot create selfsubjectaccessreviews", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			api, began := &apiServer{respond: c.respond}, time.Now()
			out := get(t, guarded(t, api, logr.Discard()), "/metrics", "Bearer good")
			g.Expect(out.Code).To(Equal(c.status), name)
			g.Expect(message(t, out)).To(Equal(c.message), name)
			g.Expect(out.Header().Get("Retry-After")).To(Equal(c.retry), name)
			g.Expect(time.Since(began)).To(Equal(c.takes), name)
			g.Expect(api.sent).To(HaveLen(1), name)
		})
	}
}

// TestAccessFilter_limitsReviewsDuringFlood checks that made-up tokens cause few reviews and log lines, and a known client is served.
func TestAccessFilter_limitsReviewsDuringFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var lines []string
		api := &apiServer{}
		handler := guarded(t, api, funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
		scrape := func(token string) int { return get(t, handler, "/metrics", "Bearer "+token).Code }
		flood := func() map[int]int {
			statuses := map[int]int{}
			for i := range 3000 {
				out := get(t, handler, "/metrics", fmt.Sprintf("Bearer made-up-%d", i))
				statuses[out.Code]++
				if out.Code == http.StatusTooManyRequests {
					g.Expect(out.Header().Get("Retry-After")).To(Equal("1"))
					g.Expect(message(t, out)).To(ContainSubstring("try again in a second"))
				}
			}
			return statuses
		}
		g.Expect(scrape("good")).To(Equal(http.StatusOK))
		rejected := map[int]int{http.StatusUnauthorized: newTokenBurst - 1, http.StatusTooManyRequests: 3000 - newTokenBurst + 1}
		g.Expect(flood()).To(Equal(rejected))
		g.Expect(scrape("good")).To(Equal(http.StatusOK))
		g.Expect(scrape("good-2")).To(Equal(http.StatusTooManyRequests), "a token that is new")
		g.Expect(api.sent).To(HaveLen(newTokenBurst + 1))
		g.Expect(lines).To(HaveLen(1))

		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		g.Expect(flood()).To(HaveKeyWithValue(http.StatusUnauthorized, newTokensPerSecond))
		g.Expect(lines).To(HaveLen(2))

		api.revoked = true
		g.Expect(scrape("good")).To(Equal(http.StatusUnauthorized), "a token that was revoked")
		g.Expect(scrape("good")).To(Equal(http.StatusTooManyRequests), "a token that is no longer known")
	})
}

func TestAccessFilter_knowsTokenForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		handler := guarded(t, &apiServer{}, logr.Discard())
		afterFlood := func() int {
			for i := range newTokenBurst {
				get(t, handler, "/metrics", fmt.Sprintf("Bearer made-up-%d", i))
			}
			return get(t, handler, "/metrics", "Bearer good").Code
		}
		g.Expect(get(t, handler, "/metrics", "Bearer good").Code).To(Equal(http.StatusOK))
		for range 2 {
			time.Sleep(knownTTL - time.Second) //nolint:forbidigo // the bubble's clock
			g.Expect(afterFlood()).To(Equal(http.StatusOK))
		}
		time.Sleep(knownTTL + time.Second) //nolint:forbidigo // the bubble's clock
		g.Expect(afterFlood()).To(Equal(http.StatusTooManyRequests))
	})
}

// TestAccessFilter_usesHTTP1 checks that a rejected token does not close a connection that other requests use.
func TestAccessFilter_usesHTTP1(t *testing.T) {
	protocol := ""
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { protocol = r.Proto }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	config := &rest.Config{Host: server.URL, Insecure: true}
	get(t, filtered(t, config, nil, logr.Discard()), "/metrics", "Bearer good")
	NewWithT(t).Expect(protocol).To(Equal("HTTP/1.1"))
}
