package server

import (
	"context"
	"crypto/tls"
	"net/http"
	"sync"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestCertificates_rotatesUnderLoad sends requests on new and persistent connections while the certificate is rotated.
func TestCertificates_rotatesUnderLoad(t *testing.T) {
	s := serveTLS(t, "")
	second := s.authority.Issue(t, "second")
	var mutex sync.Mutex
	seen := map[string]int{}
	count := func(name string) int {
		mutex.Lock()
		defer mutex.Unlock()
		return seen[name]
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, client := range append(tlsClientList(t, s.config(), false), tlsClientList(t, s.config(), true)...) {
		all.Go(func() {
			for ctx.Err() == nil {
				got := echotest.Send(t, client, http.MethodGet, "https://"+s.address+"/", "")
				mutex.Lock()
				seen[got.TLS.PeerCertificates[0].Subject.CommonName]++
				mutex.Unlock()
				if got.StatusCode != http.StatusOK {
					t.Errorf("a response has the status %d", got.StatusCode)
				}
			}
		})
	}
	echotest.Until(t, "the first certificate is seen", func() bool { return count("first") > 10 })
	s.volume.Update(t, echotest.SecretKeys(second, ""))
	s.certificates.Rotate()
	echotest.Until(t, "the second certificate is seen", func() bool { return count("second") > 10 })
	stop()
	all.Wait()
}

func tlsClientList(t *testing.T, config *tls.Config, reuse bool) (list []*http.Client) {
	for _, client := range tlsClients(t, config) {
		client.Transport.(*http.Transport).DisableKeepAlives = !reuse //nolint:forcetypeassert // tlsClients creates it
		list = append(list, client)
	}
	return list
}
