package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
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
// counted and logged once. The server starts and rotates even while ca.crt is empty.
func TestCertificates_rotations(t *testing.T) {
	a := echotest.NewAuthority(t, "a")
	first, second := a.Issue(t, "first"), a.Issue(t, "second")
	const empty = "\ufeff\r\n"
	synctest.Test(t, func(t *testing.T) {
		volume, log, metrics := echotest.NewSecretVolume(t, echotest.SecretKeys(first, empty)), &echotest.LockedBuffer{}, &TLSMetrics{}
		s := TLSSettings{Folder: volume.Folder, ClientCertificate: ClientCertificateRequest}
		c, err := AwaitCertificates(t.Context(), s, metrics, slog.New(slog.NewJSONHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		go c.Follow(ctx)
		for i, step := range []struct {
			files    map[string]string
			serves   string
			verifies bool // client certificates of the authority
			failures int64
			logged   string
		}{
			{echotest.SecretKeys(first, empty), "first", false, 1, ""}, // logged at the start
			{echotest.SecretKeys(first, a.PEM), "first", true, 1, "certificate rotated"},
			{echotest.SecretKeys(first, a.PEM), "first", true, 1, ""},
			{echotest.SecretKeys(echotest.Issued{Certificate: first.Certificate, Key: second.Key}, a.PEM), "first", true, 2, "do not match"},
			{echotest.SecretKeys(echotest.Issued{Certificate: second.Certificate, Key: "x"}, a.PEM), "first", true, 3,
				"failed to find any PEM data in key input"},
			{echotest.SecretKeys(first, empty), "first", true, 4, "ca.crt"},
			{echotest.SecretKeys(second, empty), "second", true, 4, "certificate rotated"},
			{nil, "second", true, 5, "tls.crt is missing"},
			{echotest.SecretKeys(second, a.PEM), "second", true, 5, ""},
			{nil, "second", true, 6, "tls.crt is missing"},
			{echotest.SecretKeys(second, "broken"), "second", true, 7, "ca.crt"},
			{echotest.SecretKeys(second, ""), "second", false, 7, "certificate rotated"}, // removed on purpose
			{echotest.SecretKeys(first, a.PEM), "first", true, 7, "certificate rotated"},
		} {
			before := len(log.String())
			volume.Update(t, step.files)
			<-time.After(3 * rotationPoll) // long enough to read the files several times
			synctest.Wait()
			logged, pair := log.String()[before:], c.current.Load()
			verifies := verify([]*x509.Certificate{pair.config.Certificates[0].Leaf}, pair.authority) != nil
			if got := pair.config.Certificates[0].Leaf.Subject.CommonName; got != step.serves || verifies != step.verifies ||
				metrics.ReloadFailures.Load() != step.failures {
				t.Errorf("step %d: it serves %s, verifies: %t, %d failures, want %+v", i, got, verifies, metrics.ReloadFailures.Load(), step)
			}
			if (strings.Count(logged, "\n") == 1) != (step.logged != "") || !strings.Contains(logged, step.logged) {
				t.Errorf("step %d: the log is %s, want one line with %q", i, logged, step.logged)
			}
		}
		stop()
		if want := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); metrics.Expiry.Load() != want {
			t.Errorf("the expiry is %d, want %d", metrics.Expiry.Load(), want)
		}
	})
}

// TestSettings_pair checks the errors for files that cannot be used. internal/certificates tests how the files are parsed.
func TestSettings_pair(t *testing.T) {
	first := echotest.NewAuthority(t, "a").Issue(t, "first")
	for name, c := range map[string]struct {
		files  map[string]string
		client string
		want   string // the expected error, or "" for none
	}{
		"no key": {map[string]string{certificateFile: first.Certificate}, ClientCertificateNone,
			"key tls.key is missing"},
		"Require without an authority": {echotest.SecretKeys(first, ""), ClientCertificateRequire,
			"key ca.crt is missing: spec.tls.clientCertificate Require needs it"},
		"Request without an authority": {echotest.SecretKeys(first, ""), ClientCertificateRequest, ""},
		"Request with a bad authority": {echotest.SecretKeys(first, "x"), ClientCertificateRequest,
			"key ca.crt: it contains no PEM certificate"},
		"Require with an empty authority": {map[string]string{certificateFile: first.Certificate, keyFile: first.Key, authorityFile: ""},
			ClientCertificateRequire, "key ca.crt: it contains no PEM certificate"},
		"a bad authority that no one reads": {echotest.SecretKeys(first, "x"), ClientCertificateNone, ""},
	} {
		s := TLSSettings{Folder: echotest.NewSecretVolume(t, c.files).Folder, ClientCertificate: c.client, MinVersion: tls.VersionTLS12}
		files, err := s.read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if pair, err := s.pair(files); c.want == "" && (err != nil || pair.config == nil || pair.authority == nil) ||
			c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestSettings_unreadableFiles replaces a file with a directory.
func TestSettings_unreadableFiles(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, keyFile), 0o700); err != nil {
		t.Fatal(err)
	}
	s := TLSSettings{Folder: folder, ClientCertificate: ClientCertificateNone}
	if _, err := s.read(); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "key tls.key cannot be read: ") {
		t.Errorf("got %v", err)
	}
}

func TestRejectLarge_names(t *testing.T) {
	for names, ok := range map[int]bool{0: true, maxNames: true, maxNames + 1: false} {
		state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{{DNSNames: make([]string, names/2)},
			{URIs: make([]*url.URL, names-names/2)}}}
		if err := rejectLarge(state); (err == nil) != ok {
			t.Errorf("%d names: %v", names, err)
		}
	}
}
