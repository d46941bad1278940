package openshift

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

func TestFindTLSProfile(t *testing.T) {
	object := `{"apiVersion": "config.openshift.io/v1", "kind": "APIServer", "metadata": {"name": "cluster"}, "spec": ` +
		`{"tlsSecurityProfile": {"type": %q}}}`
	for name, c := range map[string]struct {
		status         int
		profile        string
		found, refused bool
		failed         bool
		version        uint16
	}{
		"no OpenShift":              {status: http.StatusNotFound, version: tls.VersionTLS12},
		"modern":                    {status: http.StatusOK, profile: "Modern", found: true, version: tls.VersionTLS13},
		"none is set":               {status: http.StatusOK, found: true, version: tls.VersionTLS12},
		"a future type":             {status: http.StatusOK, profile: "Future", found: true, version: tls.VersionTLS12},
		"custom, empty":             {status: http.StatusOK, profile: "Custom", refused: true, version: tls.VersionTLS12},
		"the operator may not read": {status: http.StatusForbidden, refused: true, version: tls.VersionTLS12},
		"the API server fails":      {status: http.StatusInternalServerError, failed: true},
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			_, _ = fmt.Fprintf(w, object, c.profile)
		}))
		profile, err := FindTLSProfile(t.Context(), &rest.Config{Host: server.URL})
		server.Close()
		if c.failed != (err != nil) || requests != 1 {
			t.Errorf("%s: %v after %d requests", name, err, requests)
		}
		if c.failed {
			continue
		}
		endpoint := &tls.Config{} //nolint:gosec // Restrict sets the minimum
		profile.Restrict(endpoint)
		if profile.Found != c.found || (profile.Refused != "") != c.refused || endpoint.MinVersion != c.version {
			t.Errorf("%s: got %+v, and the minimum %s", name, profile, tls.VersionName(endpoint.MinVersion))
		}
	}
}

func TestTLSProfile_namesVersionAndCiphers(t *testing.T) {
	g := NewWithT(t)
	custom := func(version configv1.TLSProtocolVersion, ciphers ...string) configv1.TLSProfileSpec {
		return configv1.TLSProfileSpec{MinTLSVersion: version, Ciphers: ciphers}
	}
	const aes256 = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
	for name, c := range map[string]struct {
		spec    configv1.TLSProfileSpec
		version string
		ciphers []string
	}{
		"modern": {*configv1.TLSProfiles[configv1.TLSProfileModernType], "VersionTLS13", nil},
		"intermediate": {*configv1.TLSProfiles[configv1.TLSProfileIntermediateType], "VersionTLS12", []string{
			"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
			"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", aes256,
			"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"}},
		"a version that is too old": {custom(configv1.VersionTLS10, "ECDHE-RSA-AES256-GCM-SHA384"), "VersionTLS12", []string{aes256}},
		"a name of IANA":            {custom(configv1.VersionTLS11, aes256, "DHE-RSA-AES128-GCM-SHA256"), "VersionTLS12", []string{aes256}},
		"an insecure cipher": {custom(configv1.VersionTLS12, "ECDHE-RSA-AES256-GCM-SHA384", "AES128-SHA"), "VersionTLS12",
			[]string{aes256}},
		"no known cipher":     {custom(configv1.VersionTLS12, "DHE-RSA-AES128-GCM-SHA256"), "VersionTLS13", nil},
		"no supported cipher": {custom(configv1.VersionTLS12, "AES128-SHA", "TLS_AES_128_GCM_SHA256"), "VersionTLS13", nil},
	} {
		profile, endpoint := TLSProfile{spec: c.spec, Found: true}, &tls.Config{} //nolint:gosec // Restrict sets the minimum
		profile.Restrict(endpoint)
		if len(endpoint.CipherSuites) == 0 && endpoint.MinVersion != tls.VersionTLS13 {
			t.Errorf("%s: Go would offer its default ciphers", name)
		}
		version, ciphers := profile.Names()
		slices.Sort(ciphers)
		g.Expect(version).To(Equal(c.version), name)
		g.Expect(ciphers).To(HaveExactElements(c.ciphers), name)
	}
	if version, ciphers := (TLSProfile{}).Names(); version != "" || ciphers != nil {
		t.Errorf("without a profile: got %s, %v", version, ciphers)
	}
}

func TestServingCertificate(t *testing.T) {
	g := NewWithT(t)
	folder, logged := t.TempDir(), []string{}
	served := &ServingCertificate{Folder: folder, Log: funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})}
	name := func() string {
		certificate, err := served.Get(&tls.ClientHelloInfo{})
		g.Expect(err).NotTo(HaveOccurred())
		leaf, err := x509.ParseCertificate(certificate.Certificate[0])
		g.Expect(err).NotTo(HaveOccurred())
		return leaf.DNSNames[0]
	}
	write := func(host string) {
		certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
		g.Expect(err).NotTo(HaveOccurred())
		for file, content := range map[string][]byte{"tls.crt": certificate, "tls.key": key} {
			g.Expect(os.WriteFile(filepath.Join(folder, file), content, 0o600)).To(Succeed())
		}
	}
	first, err := served.Get(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(served.Get(nil)).To(BeIdenticalTo(first), "a self-signed certificate is kept")
	for _, step := range []struct {
		change func()
		want   string
		logs   int
	}{
		{func() {}, "localhost", 0},
		{func() { write("a.example.com") }, "a.example.com", 0},
		{func() { write("b.example.com") }, "b.example.com", 0},
		{func() { _ = os.WriteFile(filepath.Join(folder, "tls.crt"), []byte("broken"), 0o600) }, "b.example.com", 1},
		{func() {}, "b.example.com", 1},
		{func() { // a rotation is half done: the certificate is new, but the key is not
			_, key, _ := cert.GenerateSelfSignedCertKey("other", nil, nil)
			write("half.example.com")
			_ = os.WriteFile(filepath.Join(folder, "tls.key"), key, 0o600)
		}, "b.example.com", 2},
		{func() { write("c.example.com") }, "c.example.com", 2},
		{func() { _ = os.Remove(filepath.Join(folder, "tls.key")) }, "c.example.com", 2},
	} {
		step.change()
		if got := name(); got != step.want || len(logged) != step.logs {
			t.Errorf("got %s, want %s; logged %q", got, step.want, logged)
		}
	}
	if len(logged) > 0 && !strings.Contains(logged[0], folder) {
		t.Errorf("logged %s", logged[0])
	}
}
