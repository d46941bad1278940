package pathcheck

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"

	"github.com/echo-operator/echo-operator/internal/certificates"
	"github.com/echo-operator/echo-operator/internal/commandline"
	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// checkAddresses checks that all addresses are valid. Its error names the flag with the invalid address.
func (o *Options) checkAddresses() error {
	if _, err := wire.ParseTarget("http://localhost", o.Address); err != nil {
		return fmt.Errorf("--address: %w", err)
	}
	for flag, url := range map[string]string{"--direct": o.Direct, "--own-service": o.Service} {
		if _, err := wire.ParseTarget(url, ""); url != "" && err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	return nil
}

// parseName parses NAMESPACE/NAME. It returns the zero value for an empty string, and rejects a name that no Echo can have.
func parseName(text string) (proof.Echo, error) {
	if text == "" {
		return proof.Echo{}, nil
	}
	if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`).MatchString(text) {
		return proof.Echo{}, fmt.Errorf("--name: %q is not NAMESPACE/NAME, such as shop/web", text)
	}
	namespace, name, _ := strings.Cut(text, "/")
	return proof.Echo{Namespace: namespace, Name: name}, nil
}

func parseSource(text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, nil
	}
	source, err := netip.ParseAddr(text)
	if err != nil {
		return source, fmt.Errorf("--source: %q is not an IP address without a port, such as 192.0.2.1", text)
	}
	return source.Unmap(), nil
}

// readAuthorities returns the certificates in a file. It rejects incomplete PEM blocks, which would otherwise be ignored.
func readAuthorities(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	if _, err := certificates.Parse(data); err != nil {
		return nil, fmt.Errorf("--ca-file: %s: %w", file, err)
	}
	return []byte(commandline.WithoutMark(string(data))), nil
}
