package describe

import (
	"fmt"
	"net/netip"
	"strings"
)

// ParseTrustedProxies parses addresses and CIDRs, separated by commas. If the list is empty, no proxy is trusted.
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

// mappedBits is the length, in bits, of the prefix that all IPv4-mapped addresses share.
const mappedBits = 96

func parsePrefix(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return parseCIDR(text)
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return address.Unmap().Prefix(address.Unmap().BitLen())
}

// parseCIDR parses a CIDR. An IPv4-mapped CIDR becomes an IPv4 CIDR, because mapped addresses are compared as IPv4.
func parseCIDR(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || !prefix.Addr().Is4In6() {
		return prefix, err
	}
	return prefix.Addr().Unmap().Prefix(prefix.Bits() - mappedBits)
}
