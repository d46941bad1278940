package openshift

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/client-go/rest"
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
		"no supported cipher": {custom(configv1.VersionTLS12, "AES128-SHA", "TLS_AES_128_GCM_SHA256"), "VersionTLS13", nil},
	} {
		version, ciphers := TLSProfile{spec: c.spec, Found: true}.Names()
		slices.Sort(ciphers)
		g.Expect(version).To(Equal(c.version), name)
		g.Expect(ciphers).To(HaveExactElements(c.ciphers), name)
	}
	if version, ciphers := (TLSProfile{}).Names(); version != "" || ciphers != nil {
		t.Errorf("without a profile: got %s, %v", version, ciphers)
	}
}

// TestTLSProfile_requiresTLS13WithoutKnownCiphers restricts an endpoint to a profile whose ciphers Go does not support. Without ciphers
// from the profile, Go would offer its default ciphers.
func TestTLSProfile_requiresTLS13WithoutKnownCiphers(t *testing.T) {
	endpoint := &tls.Config{} //nolint:gosec // Restrict sets the minimum
	TLSProfile{spec: configv1.TLSProfileSpec{MinTLSVersion: configv1.VersionTLS12, Ciphers: []string{"DHE-RSA-AES128-GCM-SHA256"}}}.Restrict(
		endpoint)
	NewWithT(t).Expect(endpoint.MinVersion).To(BeEquivalentTo(tls.VersionTLS13))
}
