package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/echotest"
)

// TestAwaitCertificates lets the Secret appear at different times.
func TestAwaitCertificates(t *testing.T) {
	good := keysOf(newAuthority(t, "a").issue(t, "first"), "")
	other := newAuthority(t, "b").issue(t, "other")
	for name, c := range map[string]struct {
		first  map[string]string
		after  time.Duration // until there is a good pair
		want   string
		atMost time.Duration
	}{
		"at once":       {good, time.Hour, "", 0},
		"after a while": {nil, 9 * time.Second, "", 10 * time.Second},
		"never":         {nil, time.Hour, `TLS: Secret "web-tls": key tls.crt is missing: create the Secret, or remove spec.tls`, 10 * time.Second},
		"a bad pair": {keysOf(issued{good[certificateFile], other.key}, ""), time.Hour, `TLS: Secret "web-tls": keys tls.crt and tls.key do not match`,
			10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			volume := newSecretVolume(t, c.first)
			update := time.AfterFunc(c.after, func() { volume.update(t, good) })
			defer update.Stop()
			began := time.Now()
			// Not a part of the server listens before it has a certificate: run would return with the error of the address.
			s := settingsOf(t, "ECHO_TLS_ADDR=:0", "ECHO_TLS_DIR="+volume.folder, "ECHO_TLS_SECRET=web-tls", "ECHO_HTTP_ADDR=192.0.2.1:1")
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

// TestAwaitCertificatesEndsWithTheServer sends SIGTERM to a server that still waits.
func TestAwaitCertificatesEndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began, folder := time.Now(), filepath.Join(t.TempDir(), "none")
		_, err := awaitCertificates(ctx, tlsSettings{folder: folder}, &tlsMetrics{}, echotest.Quiet())
		if took := time.Since(began); err == nil || !strings.HasPrefix(err.Error(), "TLS: folder "+folder+": key tls.crt is missing") || took != time.Second {
			t.Errorf("after %s it ends with %v", took, err)
		}
	})
}

// TestRotations follows the files over good and bad contents: a bad one leaves the last certificate, and is counted and logged once.
func TestRotations(t *testing.T) {
	a := newAuthority(t, "a")
	first, second := a.issue(t, "first"), a.issue(t, "second")
	synctest.Test(t, func(t *testing.T) {
		volume, log, metrics := newSecretVolume(t, keysOf(first, "")), &echotest.LockedBuffer{}, &tlsMetrics{}
		s := tlsSettings{folder: volume.folder, clientCertificate: clientCertificateNone}
		c, err := awaitCertificates(t.Context(), s, metrics, slog.New(slog.NewJSONHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go c.follow(ctx)
		for i, step := range []struct {
			files    map[string]string
			serves   string
			failures int64
			logged   string
		}{
			{keysOf(first, ""), "first", 0, ""},
			{keysOf(issued{first.certificate, second.key}, ""), "first", 1, "do not match"},
			{keysOf(issued{second.certificate, "x"}, ""), "first", 2, "failed to find any PEM data in key input"},
			{keysOf(second, ""), "second", 2, "certificate rotated"},
			{nil, "second", 3, "tls.crt is missing"},
			{keysOf(second, ""), "second", 3, ""},
			{nil, "second", 4, "tls.crt is missing"},
			{keysOf(first, a.pem), "first", 4, "certificate rotated"},
		} {
			before := len(log.String())
			volume.update(t, step.files)
			<-time.After(3 * rotationPoll) // each content is read several times
			synctest.Wait()
			logged := log.String()[before:]
			if got := c.current.Load().config.Certificates[0].Leaf.Subject.CommonName; got != step.serves || metrics.reloadFailures.Load() != step.failures {
				t.Errorf("step %d: it serves %s, want %s; %d failures, want %d", i, got, step.serves, metrics.reloadFailures.Load(), step.failures)
			}
			lines := 1
			if step.logged == "" {
				lines = 0
			}
			if strings.Count(logged, "\n") != lines || !strings.Contains(logged, step.logged) {
				t.Errorf("step %d: the log is %s, want one line with %q", i, logged, step.logged)
			}
		}
		stop()
		if want := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); metrics.expiry.Load() != want {
			t.Errorf("the expiry is %d, want %d", metrics.expiry.Load(), want)
		}
	})
}
