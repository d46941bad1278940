package integration

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/internal/scorecard"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// used contains the permissions that operators have used in the specs of this process.
var used = usedPermissions{seen: map[string]bool{}}

// usedPermissionsEntry is the name of the report entry with which each process reports the used permissions.
const usedPermissionsEntry = "used permissions"

func reportUsedPermissions() {
	AddReportEntry(usedPermissionsEntry, ReportEntryVisibilityNever, strings.Join(slices.Collect(maps.Keys(used.seen)), "\n"))
}

var _ = ReportAfterSuite("the operator uses each of its permissions", func(report Report) {
	if !report.SuiteSucceeded || report.PreRunStats.SpecsThatWillRun < report.PreRunStats.TotalSpecs {
		return // skipped specs do not use permissions
	}
	seen := map[string]bool{}
	for _, spec := range report.SpecReports {
		for _, entry := range spec.ReportEntries {
			if entry.Name == usedPermissionsEntry {
				for permission := range strings.Lines(entry.StringRepresentation()) {
					seen[strings.TrimSpace(permission)] = true
				}
			}
		}
	}
	b, err := scorecard.ReadBundle("../../bundle")
	Expect(err).NotTo(HaveOccurred())
	var unused []string
	for _, permission := range scorecard.Listed(slices.Concat(b.Permissions[0].Rules, b.ClusterPermissions[0].Rules)) {
		ofAnyObject := permission
		ofAnyObject.Name = ""
		if !seen[permission.String()] && !slices.Contains(usedByAdmission(), ofAnyObject.String()) {
			unused = append(unused, permission.String())
		}
	}
	Expect(unused).To(BeEmpty(), "delete a permission that the operator does not need; add a spec that makes it use the others")
})

// usedByAdmission returns the permissions that the operator needs although no request uses them. The admission plugin
// OwnerReferencesPermissionEnforcement requires these permissions when a client adds an owner to an object. The API servers in this suite
// run the plugin, as OpenShift's API servers do.
func usedByAdmission() []string {
	return []string{
		"delete consolequickstarts.console.openshift.io",
		"delete consoleyamlsamples.console.openshift.io",
		"delete prometheusrules.monitoring.coreos.com",
		"delete servicemonitors.monitoring.coreos.com",
	}
}

// usedPermissions contains the permissions that operators have used. It contains each twice: for the specific object, and for any object.
type usedPermissions struct {
	mutex sync.Mutex
	seen  map[string]bool
}

// record records the permissions that a request used, if the request came from an operator.
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
		permission := scorecard.Permission{Group: object.APIGroup, Resource: resource, Verb: verb}
		u.seen[permission.String()] = true
		permission.Name = object.Name
		u.seen[permission.String()] = true
	}
}

// verbsOf returns the verbs for which a request needs permissions.
func verbsOf(event auditv1.Event) []string {
	switch {
	case event.Verb == "patch" && event.ResponseStatus.Code == http.StatusCreated:
		return []string{"patch", "create"}
	case event.Verb == "watch" && strings.Contains(event.RequestURI, "sendInitialEvents=true"):
		return []string{"watch", "list"} // older API servers reject the watch, and the client then sends a list request
	default:
		return []string{event.Verb}
	}
}

// audited makes an API server write its audit log to standard output. The suite reads this log to find the permissions that were used.
func audited(server *envtest.APIServer) {
	server.Configure().Set("audit-policy-file", "audit-policy.yaml").Set("audit-log-path", "-")
	server.Out = &auditLog{}
}

// auditLog processes an audit log as it is written. unread contains the last line while it is incomplete.
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
