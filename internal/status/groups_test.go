package status

import (
	"errors"
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func TestValidateGroups(t *testing.T) {
	const known = "The known groups are body, client, grpc, latency, loadBalancing, outlierDetection, request, response, retries, " +
		"timeouts, tls, websocket."
	for name, c := range map[string]struct {
		groups []string
		want   string
	}{
		"none":       {nil, ""},
		"all":        {knownGroups(), ""},
		"one of two": {[]string{"client", "others"}, "The group others is unknown. " + known},
		"other case": {[]string{"outlierdetection"}, "The group outlierdetection is unknown. " + known},
	} {
		err := ValidateGroups(&v1.EchoCheck{Name: "path", Groups: c.groups})
		if invalid := (*objects.InvalidSpecError)(nil); c.want == "" && err != nil ||
			c.want != "" && (!errors.As(err, &invalid) || invalid.Error() != c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
