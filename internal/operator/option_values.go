package operator

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// parseNamespaces returns the names in a list, or none if the list is empty, which stands for all namespaces.
func parseNamespaces(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	namespaces := strings.Split(list, ",")
	for _, name := range namespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return nil, fmt.Errorf("WATCH_NAMESPACE: %q is not a valid namespace name: %s", name, problems[0])
		}
	}
	return namespaces, nil
}

func parseMaxReplicas(text string) (int32, error) {
	limit, err := strconv.ParseInt(text, 10, 32)
	if err != nil || limit < 1 || limit > schemaMaxReplicas {
		return 0, fmt.Errorf("MAX_REPLICAS: %q is not a whole number from 1 to %d", text, schemaMaxReplicas)
	}
	return int32(limit), nil
}

// checkAddresses rejects invalid addresses, which would otherwise stop the operator much later. If an address were empty,
// controller-runtime would use a default address for the metrics, or would not serve probes.
func (o *Options) checkAddresses() error {
	const metrics, probes = "--metrics-bind-address", "--health-probe-bind-address"
	for name, address := range map[string]string{metrics: o.MetricsAddress, probes: o.ProbeAddress} {
		_, port, err := net.SplitHostPort(address)
		if err == nil {
			_, err = strconv.ParseUint(port, 10, 16)
		}
		if err != nil && address != disabled {
			return fmt.Errorf("%s: %q is neither an address such as :8443 or 127.0.0.1:8443 nor %s", name, address, disabled)
		}
	}
	if _, port, _ := net.SplitHostPort(o.MetricsAddress); o.MetricsAddress == o.ProbeAddress && o.MetricsAddress != disabled && port != "0" {
		return fmt.Errorf("%s: %q is also the address of %s", probes, o.ProbeAddress, metrics)
	}
	return nil
}

// disabled is the address that disables an endpoint.
const disabled = "0"

func (o *Options) checkLease() error {
	if problems := validation.IsDNS1123Label(o.LeaderElectionNamespace); o.LeaderElectionNamespace != "" && len(problems) > 0 {
		return fmt.Errorf("--leader-election-namespace: %q is not a valid namespace name: %s", o.LeaderElectionNamespace, problems[0])
	}
	return nil
}
