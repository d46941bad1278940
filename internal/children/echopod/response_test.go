package echopod

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func TestResponse(t *testing.T) {
	type env = map[string]string
	for name, c := range map[string]struct {
		wanted *v1.EchoResponse
		want   env
	}{
		"not configured": {nil, env{}},
		"empty":          {&v1.EchoResponse{}, env{}},
		"a status":       {&v1.EchoResponse{StatusCode: 503}, env{"ECHO_RESPONSE_STATUS": "503"}},
		"a delay":        {&v1.EchoResponse{DelayMilliseconds: 30000}, env{"ECHO_RESPONSE_DELAY": "30000ms"}},
		"a body":         {&v1.EchoResponse{Body: "a\nb"}, env{"ECHO_RESPONSE_BODY": "a\nb"}},
		"headers": {&v1.EchoResponse{Headers: []v1.EchoHeader{{Name: "X-A", Value: `a "b"`}, {Name: "X-A"}}},
			env{"ECHO_RESPONSE_HEADERS": `[{"name":"X-A","value":"a \"b\""},{"name":"X-A"}]`}},
		"faults": {
			&v1.EchoResponse{Faults: []v1.EchoFault{{Percentage: 100, StatusCode: 503, Failures: 2},
				{Percentage: 5, Connection: v1.ConnectionReset}}},
			env{"ECHO_RESPONSE_FAULTS": `[{"percentage":100,"statusCode":503,"failures":2},{"percentage":5,"connection":"Reset"}]`}},
		"a range of delays": {&v1.EchoResponse{Faults: []v1.EchoFault{{Percentage: 100, DelayMilliseconds: 10, MaxDelayMilliseconds: 90}}},
			env{"ECHO_RESPONSE_FAULTS": `[{"percentage":100,"delayMilliseconds":10,"maxDelayMilliseconds":90}]`}},
		"a reference in the body": {&v1.EchoResponse{Body: "$(POD_NAME) costs $5, $$"},
			env{"ECHO_RESPONSE_BODY": "$$(POD_NAME) costs $$5, $$$$"}},
		"a reference in a header": {&v1.EchoResponse{Headers: []v1.EchoHeader{{Name: "X-$", Value: "$(HOST_IP)"}}},
			env{"ECHO_RESPONSE_HEADERS": `[{"name":"X-$$","value":"$$(HOST_IP)"}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := env{}
			for _, e := range response(c.wanted) {
				got[*e.Name] = *e.Value
			}
			NewWithT(t).Expect(got).To(BeComparableTo(c.want))
		})
	}
}

// TestResponse_longestFitsIntoContainer checks the longest response that the schema accepts. Linux limits each environment variable to 128
// KiB, and a container with a longer variable cannot be started.
func TestResponse_longestFitsIntoContainer(t *testing.T) {
	quotes := v1.EchoHeader{Name: "a", Value: strings.Repeat(`"`, 1874)} // 32 such headers have 60,000 bytes in total
	all := append(response(&v1.EchoResponse{Body: strings.Repeat("$", 65536)}),
		response(&v1.EchoResponse{Body: strings.Repeat("語", 43666), Headers: slices.Repeat([]v1.EchoHeader{quotes}, 32)})...)
	for _, e := range all {
		started := strings.ReplaceAll(*e.Value, "$$", "$") // as the kubelet expands the value
		if size := len(*e.Name + "=" + started + "\x00"); size > 128*1024 {
			t.Errorf("%s has %d bytes", *e.Name, size)
		}
	}
}
