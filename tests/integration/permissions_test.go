package integration

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// used contains the permissions that the operators in all specs have used.
var used = usedPermissions{seen: map[bundle.Permission]bool{}}

var _ = ReportAfterSuite("the operator uses each of its permissions", func(report Report) {
	if !report.SuiteSucceeded || report.PreRunStats.SpecsThatWillRun < report.PreRunStats.TotalSpecs {
		return // a skipped spec uses no permissions
	}
	b, err := bundle.Read("../../bundle")
	Expect(err).NotTo(HaveOccurred())
	install := b.CSV.Spec.Install.Spec
	var unused []string
	for _, permission := range bundle.Listed(slices.Concat(install.Permissions[0].Rules, install.ClusterPermissions[0].Rules)) {
		ofAnyObject := permission
		ofAnyObject.Name = ""
		if !used.seen[permission] && !slices.Contains(usedByAdmission(), ofAnyObject.String()) {
			unused = append(unused, permission.String())
		}
	}
	Expect(unused).To(BeEmpty(), "delete a permission that the operator does not need; add a spec that makes it use the others")
})

// usedByAdmission returns the permissions that no request uses. The admission plugin OwnerReferencesPermissionEnforcement requires them
// when a client adds an owner to an object. These API servers run the plugin, as OpenShift's do.
func usedByAdmission() []string {
	return []string{
		"delete consolequickstarts.console.openshift.io",
		"delete consoleyamlsamples.console.openshift.io",
		"delete prometheusrules.monitoring.coreos.com",
		"delete servicemonitors.monitoring.coreos.com",
	}
}

// usedPermissions are the permissions that operators have used, for a single object or for any object.
type usedPermissions struct {
	mutex sync.Mutex
	seen  map[bundle.Permission]bool
}

// record records the permissions that a request used if an operator sent the request.
func (u *usedPermissions) record(event auditv1.Event) {
	user, object := event.User.Username, event.ObjectRef
	if event.ImpersonatedUser != nil {
		user = event.ImpersonatedUser.Username
	}
	isOperator := user == controlplane.OperatorUser || strings.HasPrefix(user, "operator-")
	if !isOperator || object == nil || event.ResponseStatus == nil || event.ResponseStatus.Code == http.StatusForbidden {
		return
	}
	resource := strings.TrimSuffix(object.Resource+"/"+object.Subresource, "/")
	u.mutex.Lock()
	defer u.mutex.Unlock()
	for _, verb := range verbsOf(event) {
		u.seen[bundle.Permission{Group: object.APIGroup, Resource: resource, Verb: verb}] = true
		u.seen[bundle.Permission{Group: object.APIGroup, Resource: resource, Verb: verb, Name: object.Name}] = true
	}
}

// verbsOf returns the verbs that a request needs.
func verbsOf(event auditv1.Event) []string {
	switch {
	case event.Verb == "patch" && event.ResponseStatus.Code == http.StatusCreated:
		return []string{"patch", "create"}
	case event.Verb == "watch" && strings.Contains(event.RequestURI, "sendInitialEvents=true"):
		return []string{"watch", "list"} // older API servers reject the watch, and the client lists instead
	default:
		return []string{event.Verb}
	}
}

// audited makes an API server write its audit log to standard output. The suite reads the used permissions from the log.
func audited(server *envtest.APIServer) {
	server.Configure().Set("audit-policy-file", "audit-policy.yaml").Set("audit-log-path", "-")
	server.Out = &auditLog{}
}

// auditLog reads an audit log. unread is the start of an incomplete line.
type auditLog struct{ unread []byte }

func (l *auditLog) Write(text []byte) (int, error) {
	l.unread = append(l.unread, text...)
	for {
		line, rest, isWhole := bytes.Cut(l.unread, []byte("\n"))
		if !isWhole {
			return len(text), nil
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return 0, err
		}
		used.record(event)
		l.unread = rest
	}
}
