package platform

import (
	"crypto/tls"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/openshift/library-go/pkg/crypto"
)

// tlsProfile is what clients of an endpoint must at least support.
type tlsProfile struct {
	minVersion uint16
	// ciphers are those of TLS 1.2 and earlier. Go does not let one choose those of TLS 1.3.
	ciphers []uint16
}

// apply restricts a configuration to a profile.
func (p tlsProfile) apply(c *tls.Config) {
	c.MinVersion = p.minVersion
	if p.minVersion < tls.VersionTLS13 {
		c.CipherSuites = p.ciphers
	}
}

// names returns the minimum version and the ciphers of TLS 1.2 of a profile by their names, as flags of servers have them. Servers in pods
// support no version before TLS 1.2 and no cipher that Go calls insecure. Without a cipher that they support, TLS 1.3 is the minimum.
func (p tlsProfile) names() (minVersion string, ciphers []string) {
	if p.minVersion < tls.VersionTLS13 {
		for _, suite := range tls.CipherSuites() {
			if slices.Contains(suite.SupportedVersions, tls.VersionTLS12) && slices.Contains(p.ciphers, suite.ID) {
				ciphers = append(ciphers, suite.Name)
			}
		}
	}
	if len(ciphers) == 0 {
		return string(configv1.VersionTLS13), nil
	}
	return string(configv1.VersionTLS12), ciphers
}

// intermediate returns the profile of clusters that have or set none. It is also OpenShift's default:
// https://wiki.mozilla.org/Security/Server_Side_TLS
func intermediate() tlsProfile {
	return profileOf(&configv1.TLSSecurityProfile{Type: configv1.TLSProfileIntermediateType})
}

// profileOf returns the profile that an APIServer of OpenShift sets: spec.tlsSecurityProfile, nil if it sets none. A profile that is
// incomplete or of a type that is not known is the intermediate one. Ciphers that Go does not have are left out.
func profileOf(set *configv1.TLSSecurityProfile) tlsProfile {
	spec := configv1.TLSProfiles[configv1.TLSProfileIntermediateType]
	switch {
	case set == nil:
	case set.Type == configv1.TLSProfileCustomType && set.Custom != nil:
		spec = &set.Custom.TLSProfileSpec
	case configv1.TLSProfiles[set.Type] != nil:
		spec = configv1.TLSProfiles[set.Type]
	}
	version, err := crypto.TLSVersion(string(spec.MinTLSVersion))
	if err != nil {
		return intermediate()
	}
	return tlsProfile{minVersion: version, ciphers: cipherSuites(spec.Ciphers)}
}

// cipherSuites returns the numbers of ciphers, which are given by their name at IANA or in OpenSSL. It is never nil, which would mean all.
func cipherSuites(names []string) []uint16 {
	suites := []uint16{}
	for _, name := range slices.Concat(names, crypto.OpenSSLToIANACipherSuites(names)) {
		if suite, err := crypto.CipherSuite(name); err == nil {
			suites = append(suites, suite)
		}
	}
	slices.Sort(suites)
	return slices.Compact(suites)
}
