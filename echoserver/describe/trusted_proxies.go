package describe

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParseTrustedProxies parses addresses and CIDRs, separated by commas. If there are none, no proxy is trusted.
func ParseTrustedProxies(text string) ([]netip.Prefix, error) {
	var trusted []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		prefix, err := parsePrefix(part)
		if err != nil {
			return nil, fmt.Errorf("%q is not an address or a CIDR such as 10.0.0.0/8", part)
		}
		trusted = append(trusted, prefix)
	}
	return trusted, nil
}

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return address.Unmap().Prefix(address.Unmap().BitLen())
}
