package transport

import (
	"context"
	"crypto/x509"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestAwaitCertificates_endsWithTheServer stops a server that is still waiting for its certificate.
func TestAwaitCertificates_endsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began, folder := time.Now(), filepath.Join(t.TempDir(), "none")
		_, err := AwaitCertificates(ctx, TLSSettings{Folder: folder}, &TLSMetrics{}, echotest.Quiet())
		if took := time.Since(began); err == nil || !strings.HasPrefix(err.Error(), "TLS: directory "+folder+": key tls.crt is missing") ||
			took != time.Second {
			t.Errorf("after %s it ends with %v", took, err)
		}
	})
}

// TestCertificates_rotations replaces the files. If they are invalid, the last certificate must stay in use, and the failure must be
// counted and logged once.
func TestCertificates_rotations(t *testing.T) {
	a := echotest.NewAuthority(t, "a")
	first, second := a.Issue(t, "first"), a.Issue(t, "second")
	synctest.Test(t, func(t *testing.T) {
		volume, log, metrics := echotest.NewSecretVolume(t, echotest.SecretKeys(first, "")), &echotest.LockedBuffer{}, &TLSMetrics{}
		s := TLSSettings{Folder: volume.Folder, ClientCertificate: ClientCertificateNone}
		c, err := AwaitCertificates(t.Context(), s, metrics, slog.New(slog.NewJSONHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go c.Follow(ctx)
		for i, step := range []struct {
			files    map[string]string
			serves   string
			failures int64
			logged   string
		}{
			{echotest.SecretKeys(first, ""), "first", 0, ""},
			{echotest.SecretKeys(echotest.Issued{Certificate: first.Certificate, Key: second.Key}, ""), "first", 1, "do not match"},
			{echotest.SecretKeys(echotest.Issued{Certificate: second.Certificate, Key: "x"}, ""), "first", 2,
				"failed to find any PEM data in key input"},
			{echotest.SecretKeys(second, ""), "second", 2, "certificate rotated"},
			{nil, "second", 3, "tls.crt is missing"},
			{echotest.SecretKeys(second, ""), "second", 3, ""},
			{nil, "second", 4, "tls.crt is missing"},
			{echotest.SecretKeys(first, a.PEM), "first", 4, "certificate rotated"},
		} {
			before := len(log.String())
			volume.Update(t, step.files)
			<-time.After(3 * rotationPoll) // long enough to read the files several times
			synctest.Wait()
			logged := log.String()[before:]
			if got := c.current.Load().config.Certificates[0].Leaf.Subject.CommonName; got != step.serves ||
				metrics.ReloadFailures.Load() != step.failures {
				t.Errorf("step %d: it serves %s, want %s; %d failures, want %d", i, got, step.serves, metrics.ReloadFailures.Load(), step.failures)
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
		if want := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); metrics.Expiry.Load() != want {
			t.Errorf("the expiry is %d, want %d", metrics.Expiry.Load(), want)
		}
	})
}

// TestCertificates_emptyAuthority starts with an empty ca.crt that becomes valid later. Throughout, the server must serve and rotate the
// certificate. Each time ca.crt becomes empty, the server must log and count this only once.
func TestCertificates_emptyAuthority(t *testing.T) {
	a := echotest.NewAuthority(t, "a")
	first, second := a.Issue(t, "first"), a.Issue(t, "second")
	const empty = "\ufeff\r\n"
	volume, log, metrics := echotest.NewSecretVolume(t, echotest.SecretKeys(first, empty)), &echotest.LockedBuffer{}, &TLSMetrics{}
	s := TLSSettings{Folder: volume.Folder, ClientCertificate: ClientCertificateRequest}
	c, err := AwaitCertificates(t.Context(), s, metrics, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		pair      echotest.Issued
		authority string
		serves    string
		verifies  bool
		failures  int64
	}{
		{first, empty, "first", false, 1},
		{first, a.PEM, "first", true, 1},
		{first, empty, "first", true, 2},
		{second, empty, "second", true, 2},
		{second, a.PEM, "second", true, 2},
		{second, "broken", "second", true, 3},
		{second, "", "second", false, 3}, // removed on purpose
	} {
		volume.Update(t, echotest.SecretKeys(step.pair, step.authority))
		c.Rotate()
		c.Rotate()
		pair := c.current.Load()
		verifies := verify([]*x509.Certificate{pair.config.Certificates[0].Leaf}, pair.authority) != nil
		if got := pair.config.Certificates[0].Leaf.Subject.CommonName; got != step.serves || verifies != step.verifies ||
			metrics.ReloadFailures.Load() != step.failures || strings.Count(log.String(), `"level":"WARN"`) != int(step.failures) {
			t.Errorf("step %d: it serves %s, verifies: %t, %d failures, and the log is %s", i, got, verifies, metrics.ReloadFailures.Load(), log)
		}
	}
}
