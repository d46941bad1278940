package election

import (
	"strings"
	"testing"
	"time"
)

// at returns a request that arrives after 100 ms. Its response takes another 100 ms.
func at(process, second int, verb, path, holder string) request {
	sent := time.Duration(second) * time.Second
	return request{process: process, verb: verb, path: path, holder: holder, sent: sent, arrived: sent + 100*time.Millisecond,
		answered: sent + 200*time.Millisecond, code: 200}
}

func renewal(process, second int) request {
	return at(process, second, "PUT", "/namespaces/ns/leases/x", "a")
}
func work(process, second int) request {
	return at(process, second, "PATCH", "/namespaces/ns/deployments/x", "")
}

func TestJudge(t *testing.T) {
	event, review := at(1, 1, "POST", "/namespaces/ns/events", ""), at(1, 1, "POST", "/selfsubjectaccessreviews", "")
	unanswered, refused, release := renewal(1, 10), renewal(1, 10), at(1, 3, "PUT", "/namespaces/ns/leases/x", "")
	unanswered.answered, refused.code = 0, 409
	for name, c := range map[string]struct {
		log  []request
		want []string // strings that the violations must contain
	}{
		"in time":                        {[]request{renewal(1, 1), work(1, 14)}, nil},
		"too late":                       {[]request{renewal(1, 1), work(1, 15)}, []string{"13.8s after the last renewal"}},
		"renewed in between":             {[]request{renewal(1, 1), renewal(1, 3), work(1, 15)}, nil},
		"a renewal without a response":   {[]request{renewal(1, 1), unanswered, work(1, 15)}, []string{"13.8s after the last renewal"}},
		"a renewal that was rejected":    {[]request{renewal(1, 1), refused, work(1, 15)}, []string{"13.8s after the last renewal"}},
		"never elected":                  {[]request{work(1, 1)}, []string{"never the leader", "while process 0"}},
		"another leader":                 {[]request{renewal(1, 1), renewal(2, 5), work(1, 6), work(2, 7)}, []string{"while process 2"}},
		"released":                       {[]request{renewal(1, 1), release, work(1, 4)}, []string{"while process 0"}},
		"an event, a review and a read":  {[]request{event, review, at(1, 1, "GET", "/pods", "")}, nil},
		"a standby that reads the lease": {[]request{renewal(1, 1), at(2, 2, "GET", "/namespaces/ns/leases/x", ""), work(1, 3)}, nil},
		"a valid change of leaders":      {[]request{renewal(1, 1), work(1, 2), release, renewal(2, 4), work(2, 5)}, nil},
	} {
		got := judge(c.log).violations
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%s: %q, want %q", name, got[i], want)
			}
		}
	}
}
