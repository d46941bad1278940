package integration

import (
	"context"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// requestLog records the requests that an operator sends, except requests for authorization and leader election.
type requestLog struct {
	lock sync.Mutex
	all  []sentRequest
}

// sentRequest is a request, with the status code of the response, or 0 if there is no response yet.
type sentRequest struct {
	Method, URL string
	Status      int
}

// proxy starts a proxy that records requests and forwards them to an API server, with an administrator's permissions unless they have a
// token. It returns the proxy's URL.
func (l *requestLog) proxy(to *rest.Config) string {
	GinkgoHelper()
	target, err := url.Parse(to.Host)
	Expect(err).NotTo(HaveOccurred())
	admin, err := rest.TransportFor(to)
	Expect(err).NotTo(HaveOccurred())
	withToken := rest.AnonymousClientConfig(to)
	withToken.NextProtos = []string{"http/1.1"} // as the operator itself does
	anonymous, err := rest.TransportFor(withToken)
	Expect(err).NotTo(HaveOccurred())
	reverse := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Header.Get("Authorization") != "" {
				return anonymous.RoundTrip(r)
			}
			return admin.RoundTrip(r)
		}),
		FlushInterval: -1,
		ErrorLog:      log.New(GinkgoWriter, "", 0),
		ModifyResponse: func(response *http.Response) error {
			if number, isRecorded := response.Request.Context().Value(l).(int); isRecorded {
				l.lock.Lock()
				l.all[number].Status = response.StatusCode
				l.lock.Unlock()
			}
			return nil
		},
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/selfsubjectaccessreviews") && !strings.Contains(r.URL.Path, "/leases") {
			l.lock.Lock()
			r = r.WithContext(context.WithValue(r.Context(), l, len(l.all)))
			l.all = append(l.all, sentRequest{Method: r.Method, URL: r.URL.String()})
			l.lock.Unlock()
		}
		reverse.ServeHTTP(w, r)
	}))
	DeferCleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
	})
	return listening.URL
}

// data returns the recorded requests.
func (l *requestLog) data() []sentRequest {
	l.lock.Lock()
	defer l.lock.Unlock()
	return slices.Clone(l.all)
}
