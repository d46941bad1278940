package platform

import (
	"crypto/tls"
	"reflect"
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
)

func TestProfileOf(t *testing.T) {
	custom := func(version configv1.TLSProtocolVersion, ciphers ...string) *configv1.TLSSecurityProfile {
		return &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
			TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: version, Ciphers: ciphers}}}
	}
	for name, c := range map[string]struct {
		set     *configv1.TLSSecurityProfile
		version uint16
		ciphers []uint16 // nil for those of the intermediate profile
	}{
		"none":             {nil, tls.VersionTLS12, nil},
		"without a type":   {&configv1.TLSSecurityProfile{}, tls.VersionTLS12, nil},
		"intermediate":     {&configv1.TLSSecurityProfile{Type: configv1.TLSProfileIntermediateType}, tls.VersionTLS12, nil},
		"a type to come":   {&configv1.TLSSecurityProfile{Type: "Future"}, tls.VersionTLS12, nil},
		"modern":           {&configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}, tls.VersionTLS13, []uint16{4865, 4866, 4867}},
		"custom, empty":    {&configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType}, tls.VersionTLS12, nil},
		"a version of SSL": {custom("SSLv3"), tls.VersionTLS12, nil},
		"a name of OpenSSL": {custom(configv1.VersionTLS12, "ECDHE-RSA-AES128-GCM-SHA256"), tls.VersionTLS12,
			[]uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}},
		"a name of IANA, and one that Go does not have": {custom(configv1.VersionTLS11, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "DHE-RSA-AES128-GCM-SHA256"),
			tls.VersionTLS11, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384}},
		"no cipher": {custom(configv1.VersionTLS12), tls.VersionTLS12, []uint16{}},
	} {
		want := tlsProfile{c.version, c.ciphers}
		if c.ciphers == nil {
			want = intermediate()
		}
		if got := profileOf(c.set); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got := intermediate(); got.minVersion != tls.VersionTLS12 || len(got.ciphers) != 9 {
		t.Errorf("the intermediate profile is %v", got)
	}
}

func TestNamesOfAProfile(t *testing.T) {
	custom := func(version configv1.TLSProtocolVersion, ciphers ...string) *configv1.TLSSecurityProfile {
		return &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{
			TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: version, Ciphers: ciphers}}}
	}
	const aes256 = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
	for name, c := range map[string]struct {
		set     *configv1.TLSSecurityProfile
		version string
		ciphers []string
	}{
		"modern": {&configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}, "VersionTLS13", nil},
		"intermediate": {nil, "VersionTLS12", []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
			"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", aes256,
			"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"}},
		"a version that is too old": {custom(configv1.VersionTLS10, "ECDHE-RSA-AES256-GCM-SHA384"), "VersionTLS12", []string{aes256}},
		"an insecure cipher":        {custom(configv1.VersionTLS12, "ECDHE-RSA-AES256-GCM-SHA384", "AES128-SHA"), "VersionTLS12", []string{aes256}},
		"no cipher that is left":    {custom(configv1.VersionTLS12, "AES128-SHA", "TLS_AES_128_GCM_SHA256"), "VersionTLS13", nil},
	} {
		version, ciphers := profileOf(c.set).names()
		slices.Sort(ciphers)
		if version != c.version || !slices.Equal(ciphers, c.ciphers) {
			t.Errorf("%s: got %s, %v", name, version, ciphers)
		}
	}
}

// TestCiphersOfTLS13CannotBeChosen: Go ignores them, and a list without those of TLS 1.2 would be an error of HTTP/2 servers.
func TestCiphersOfTLS13CannotBeChosen(t *testing.T) {
	config := &tls.Config{}
	profileOf(&configv1.TLSSecurityProfile{Type: configv1.TLSProfileModernType}).apply(config)
	if config.MinVersion != tls.VersionTLS13 || config.CipherSuites != nil {
		t.Errorf("got %x, %v", config.MinVersion, config.CipherSuites)
	}
}
