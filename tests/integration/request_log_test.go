package integration

import (
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

// requestLog records the requests that an operator sends.
type requestLog struct {
	lock sync.Mutex
	all  []string
}

// proxy starts a proxy that records requests and, with an administrator's permissions, forwards them to an API server. It returns the
// proxy's URL.
func (l *requestLog) proxy(to *rest.Config) string {
	GinkgoHelper()
	target, err := url.Parse(to.Host)
	Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(to)
	Expect(err).NotTo(HaveOccurred())
	reverse := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.lock.Lock()
		l.all = append(l.all, r.Method+" "+r.URL.String())
		l.lock.Unlock()
		reverse.ServeHTTP(w, r)
	}))
	DeferCleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
	})
	return listening.URL
}

// data returns the recorded requests, except requests for authentication, authorization, and leader election.
func (l *requestLog) data() []string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(request string) bool {
		return strings.Contains(request, "/tokenreviews") || strings.Contains(request, "/subjectaccessreviews") ||
			strings.Contains(request, "/leases")
	})
}
