package server

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestRun_awaitsCertificates checks how long the server waits for a Secret.
func TestRun_awaitsCertificates(t *testing.T) {
	good := echotest.SecretKeys(echotest.NewAuthority(t, "a").Issue(t, "first"), "")
	other := echotest.NewAuthority(t, "b").Issue(t, "other")
	for name, c := range map[string]struct {
		first  map[string]string
		after  time.Duration // how long until there is a valid pair
		want   string
		atMost time.Duration
	}{
		"at once":       {good, time.Hour, "", 0},
		"after a while": {nil, 9 * time.Second, "", 10 * time.Second},
		"never": {nil, time.Hour, `TLS: Secret "web-tls": key tls.crt is missing`,
			10 * time.Second},
		"a bad pair": {echotest.SecretKeys(echotest.Issued{Certificate: good["tls.crt"], Key: other.Key}, ""), time.Hour,
			`TLS: Secret "web-tls": keys tls.crt and tls.key do not match`, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			volume := echotest.NewSecretVolume(t, c.first)
			update := time.AfterFunc(c.after, func() { volume.Update(t, good) })
			defer update.Stop()
			began := time.Now()
			// Run cannot listen on this HTTP address. It must not try before it has a certificate, so an error about the certificate comes first.
			s := settingsOf(t, "ECHO_TLS_ADDR=:0", "ECHO_TLS_DIR="+volume.Folder, "ECHO_TLS_SECRET=web-tls", "ECHO_HTTP_ADDR=192.0.2.1:1")
			err := Run(t.Context(), s, "dev", echotest.Quiet())
			if took := time.Since(began); took > c.atMost || c.want != "" && took < c.atMost {
				t.Errorf("%s: it took %s", name, took)
			}
			if c.want == "" && !strings.HasPrefix(err.Error(), "cannot listen: ") || c.want != "" && err.Error() != c.want {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}
