package statusapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestOnLeader(t *testing.T) {
	noElection := func(s *Server) { s.Lease = client.ObjectKey{} }
	for name, c := range map[string]struct {
		leads  bool
		store  store
		change func(*Server)
		status int
		want   map[string]string // in the body
	}{
		"the leader":                          {leads: true, status: http.StatusOK},
		"the leader, without a lease":         {leads: true, change: noElection, status: http.StatusOK},
		"the leader, whatever the lease says": {leads: true, store: store{holder: "manager-0_uuid"}, status: http.StatusOK},
		"another replica": {store: store{holder: "manager-0_uuid"}, status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "this replica is not the leader; ask pod manager-0", "leader": "manager-0"}},
		"no lease yet": {status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "there is no leader at the moment; try again later"}},
		"a lease that was released": {store: store{holder: "_"}, status: http.StatusServiceUnavailable,
			want: map[string]string{"error": "there is no leader at the moment; try again later"}},
		"about to start, without an election": {change: noElection, store: store{holder: "manager-0_uuid"},
			status: http.StatusServiceUnavailable, want: map[string]string{"error": "there is no leader at the moment; try again later"}},
		"a lease that cannot be read": {store: store{fail: map[string]error{"Lease": errors.New("refused")}},
			status: http.StatusServiceUnavailable,
			want:   map[string]string{"error": "this replica is not the leader, and the leader cannot be determined: reading the lease: refused"}},
		"the leader, the lease cannot be read": {leads: true, store: store{fail: map[string]error{"Lease": errors.New("refused")}},
			status: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := newServer(c.leads, &c.store)
			if c.change != nil {
				c.change(server)
			}
			c.store.echoes = threeEchoes().echoes
			for _, url := range []string{"/echoes", "/echoes/a/x"} {
				out := request(t, server.handler(), http.MethodGet, url)
				g.Expect(out.Code).To(Equal(c.status), "%s", url)
				if c.want == nil {
					continue
				}
				got := map[string]string{}
				g.Expect(json.Unmarshal(out.Body.Bytes(), &got)).To(Succeed())
				g.Expect(got).To(BeComparableTo(c.want), "%s", url)
			}
		})
	}
}

func TestDiagnose_failsIfLeaderUnknown(t *testing.T) {
	g := NewWithT(t)
	server := newServer(false, &store{fail: map[string]error{"Lease": errors.New("refused")}})
	out := request(t, server.handler(), http.MethodGet, "/diagnostics")
	g.Expect(out.Code).To(Equal(http.StatusInternalServerError))
	g.Expect(message(t, out)).To(ContainSubstring("reading the lease: refused"))
}

func TestPodOf(t *testing.T) {
	for holder, want := range map[string]string{
		"echo-operator-controller-manager-6d5f-abcde_8a3f0c1e-0b6a-4f4e-9b0a-0e3c5a1d2b3c": "echo-operator-controller-manager-6d5f-abcde",
		"laptop":    "laptop",
		"lap_top_1": "lap_top",
	} {
		NewWithT(t).Expect(podOf(holder)).To(Equal(want), "%s", holder)
	}
}
