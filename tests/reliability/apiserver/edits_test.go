package apiserver

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// edit is a change that another client makes to a child with kubectl patch.
type edit struct {
	kind, what string
	patchType  types.PatchType
	patch      string
	// kept locates an addition that the operator must preserve. If the operator must revert the edit, kept is nil.
	kept *place
	// removes is true if the edit also removes labels that other clients have added.
	removes bool
	// needs is a field that the Echo's spec must set, and excludedBy is a field that the spec must not set. Both can be empty.
	needs, excludedBy string
}

// place locates a map key or a list item in an object.
type place struct {
	path []string
	// field is the key in the map, or the field whose value identifies the list item.
	field, value string
}

func (e edit) command(namespace string) string {
	return fmt.Sprintf("kubectl -n %s patch %s %s --type=%s -p '%s' # %s", namespace, e.kind, echoName, typeOf(e.patchType), e.patch, e.what)
}

func typeOf(patch types.PatchType) string {
	if patch == types.JSONPatchType {
		return "json"
	}
	return "merge"
}

func reverted(kind, what, patch string) edit {
	return edit{kind: kind, what: what, patchType: types.JSONPatchType, patch: patch}
}

// added returns an edit whose addition the operator must preserve.
func added(kind, what, path, item string, kept place) edit {
	return edit{kind: kind, what: what, patchType: types.JSONPatchType,
		patch: `[{"op": "add", "path": "` + path + `", "value": ` + item + `}]`, kept: &kept}
}

// metadataEdits returns the edits to the metadata of the children of a kind.
func metadataEdits(kind string) []edit {
	merge := func(what, patch string, kept *place) edit {
		return edit{kind: kind, what: what, patchType: types.MergePatchType, patch: patch, kept: kept}
	}
	return []edit{
		merge("a foreign label", `{"metadata": {"labels": {"example.org/theirs": "yes"}}}`,
			&place{path: []string{"labels"}, field: "example.org/theirs"}),
		merge("a foreign annotation", `{"metadata": {"annotations": {"example.org/theirs": "yes"}}}`,
			&place{path: []string{"annotations"}, field: "example.org/theirs"}),
		merge("a label of the operator", `{"metadata": {"labels": {"app.kubernetes.io/component": "other"}}}`, nil),
		merge("the label that the cache selects by", `{"metadata": {"labels": {"app.kubernetes.io/managed-by": "Helm"}}}`, nil),
		{kind: kind, what: "no labels", patchType: types.MergePatchType, patch: `{"metadata": {"labels": null}}`, removes: true},
		merge("the annotation of kubectl apply", `{"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}}`,
			&place{path: []string{"annotations"}, field: "kubectl.kubernetes.io/last-applied-configuration"}),
	}
}

// edits returns the edits to the children of a kind.
func edits(kind string) []edit {
	all := metadataEdits(kind)
	switch kind {
	case "Service":
		return append(all, serviceEdits()...)
	case "Deployment":
		return append(append(all, deploymentEdits()...), podEdits()...)
	case "PodDisruptionBudget":
		return append(all,
			reverted(kind, "a key in the selector", `[{"op": "add", "path": "/spec/selector/matchLabels/more", "value": "narrow"}]`),
			reverted(kind, "an expression in the selector",
				`[{"op": "add", "path": "/spec/selector/matchExpressions", "value": [{"key": "a", "operator": "Exists"}]}]`),
			reverted(kind, "the number", `[{"op": "replace", "path": "/spec/maxUnavailable", "value": "50%"}]`),
			reverted(kind, "no policy", `[{"op": "remove", "path": "/spec/unhealthyPodEvictionPolicy"}]`))
	case "Ingress":
		return append(all,
			reverted(kind, "a rule", `[{"op": "add", "path": "/spec/rules/-", "value": {"host": "theirs.example.com"}}]`),
			reverted(kind, "the host", `[{"op": "add", "path": "/spec/rules/0/host", "value": "theirs.example.com"}]`),
			reverted(kind, "no host", `[{"op": "remove", "path": "/spec/rules/0/host"}]`).with("ingress.host"),
			reverted(kind, "the type of a path", `[{"op": "replace", "path": "/spec/rules/0/http/paths/0/pathType", "value": "Exact"}]`),
			reverted(kind, "a path",
				`[{"op": "add", "path": "/spec/rules/0/http/paths/-", "value": {"path": "/theirs", "pathType": "Exact", "backend": {"service": `+
					`{"name": "theirs", "port": {"number": 1}}}}}]`),
			reverted(kind, "the backend", `[{"op": "replace", "path": "/spec/rules/0/http/paths/0/backend/service/name", "value": "theirs"}]`),
			reverted(kind, "the certificate", `[{"op": "replace", "path": "/spec/tls/0/secretName", "value": "theirs"}]`),
			reverted(kind, "a host of the certificate", `[{"op": "add", "path": "/spec/tls/0/hosts", "value": ["theirs.example.com"]}]`))
	default:
		return append(all,
			reverted(kind, "a key in podSelector", `[{"op": "add", "path": "/spec/podSelector/matchLabels/more", "value": "narrow"}]`),
			reverted(kind, "from", `[{"op": "add", "path": "/spec/ingress/0/from", "value": [{"namespaceSelector": {}}]}]`),
			reverted(kind, "no from", `[{"op": "remove", "path": "/spec/ingress/0/from"}]`),
			reverted(kind, "a port", `[{"op": "add", "path": "/spec/ingress/0/ports/-", "value": {"port": 1}}]`),
			reverted(kind, "a rule", `[{"op": "add", "path": "/spec/ingress/-", "value": {}}]`),
			reverted(kind, "egress", `[{"op": "add", "path": "/spec/egress", "value": [{}]}]`),
			reverted(kind, "no egress in the types", `[{"op": "replace", "path": "/spec/policyTypes", "value": ["Ingress"]}]`))
	}
}

func serviceEdits() []edit {
	const kind = "Service"
	return []edit{
		reverted(kind, "a key in the selector", `[{"op": "add", "path": "/spec/selector/more", "value": "narrow"}]`),
		reverted(kind, "no selector", `[{"op": "remove", "path": "/spec/selector"}]`),
		reverted(kind, "the number of the port", `[{"op": "replace", "path": "/spec/ports/0/port", "value": 64001}]`),
		reverted(kind, "the protocol of the port", `[{"op": "replace", "path": "/spec/ports/0/protocol", "value": "UDP"}]`),
		reverted(kind, "the name of the port", `[{"op": "replace", "path": "/spec/ports/0/name", "value": "renamed"}]`),
		reverted(kind, "the application protocol of the port",
			`[{"op": "add", "path": "/spec/ports/0/appProtocol", "value": "theirs"}]`).with("service.appProtocol"),
		reverted(kind, "the target of the port", `[{"op": "replace", "path": "/spec/ports/0/targetPort", "value": 1}]`),
		reverted(kind, "the number and the target of the port",
			`[{"op": "replace", "path": "/spec/ports/0/port", "value": 64001}, {"op": "replace", "path": "/spec/ports/0/targetPort", "value": 1}]`),
		reverted(kind, "the type", `[{"op": "replace", "path": "/spec/type", "value": "NodePort"}]`),
		added(kind, "a foreign port", "/spec/ports/-", `{"name": "theirs", "port": 64999, "protocol": "TCP", "targetPort": 1}`,
			place{path: []string{"spec", "ports"}, field: "name", value: "theirs"}),
	}
}

func deploymentEdits() []edit {
	const kind = "Deployment"
	return []edit{
		reverted(kind, "the replicas", `[{"op": "replace", "path": "/spec/replicas", "value": 7}]`),
		reverted(kind, "the deadline", `[{"op": "replace", "path": "/spec/progressDeadlineSeconds", "value": 77}]`),
		reverted(kind, "the strategy", `[{"op": "replace", "path": "/spec/strategy", "value": {"type": "Recreate"}}]`),
		reverted(kind, "the surge", `[{"op": "replace", "path": "/spec/strategy/rollingUpdate/maxSurge", "value": 7}]`),
		reverted(kind, "a label on the pods",
			`[{"op": "replace", "path": "/spec/template/metadata/labels/app.kubernetes.io~1component", "value": "other"}]`),
		added(kind, "another client's label on the pods", "/spec/template/metadata/labels/theirs", `"yes"`,
			place{path: []string{"spec", "template", "metadata", "labels"}, field: "theirs"}),
	}
}

func podEdits() []edit {
	const kind, pod, container = "Deployment", "/spec/template/spec", "/spec/template/spec/containers/0"
	set := func(what, path, value string) edit {
		return reverted(kind, what, `[{"op": "add", "path": "`+path+`", "value": `+value+`}]`)
	}
	containers := []string{"spec", "template", "spec", "containers"}
	volume := place{path: []string{"spec", "template", "spec", "volumes"}, field: "name", value: "theirs"}
	return []edit{
		set("the image", container+"/image", `"theirs"`),
		set("the name of the container", container+"/name", `"renamed"`),
		set("the number of a container port", container+"/ports/0/containerPort", `64001`),
		set("the protocol of a container port", container+"/ports/0/protocol", `"UDP"`),
		set("the name of a container port", container+"/ports/0/name", `"renamed"`),
		set("the name of a variable", container+"/env/0/name", `"RENAMED"`),
		set("the value of a variable", container+"/env/5/value", `"theirs"`),
		set("the requests", container+"/resources/requests", `{"cpu": "7"}`).unless("resources"),
		set("the capabilities", container+"/securityContext/capabilities", `{"drop": ["KILL"]}`).unless("securityContext"),
		set("privileges", container+"/securityContext/allowPrivilegeEscalation", `true`).unless("securityContext"),
		set("the probe", container+"/readinessProbe/periodSeconds", `77`).unless("image"),
		set("nodeSelector", pod+"/nodeSelector", `{"theirs": "yes"}`).with("nodeSelector"),
		set("another operating system", pod+"/nodeSelector", `{"kubernetes.io/os": "windows"}`).unless("image"),
		set("the topology key of a spread constraint", pod+"/topologySpreadConstraints/0/topologyKey", `"theirs"`),
		set("whenUnsatisfiable of a spread constraint", pod+"/topologySpreadConstraints/0/whenUnsatisfiable", `"DoNotSchedule"`),
		set("the skew of a spread constraint", pod+"/topologySpreadConstraints/0/maxSkew", `7`),
		set("the selector of a spread constraint", pod+"/topologySpreadConstraints/0/labelSelector",
			`{"matchLabels": {"theirs": "yes"}}`).unless("topologySpreadConstraints"),
		set("the grace period", pod+"/terminationGracePeriodSeconds", `7`),
		reverted(kind, "no security context", `[{"op": "replace", "path": "`+pod+`/securityContext", "value": {}}]`),
		reverted(kind, "no variables", `[{"op": "remove", "path": "`+container+`/env"}]`),
		reverted(kind, "no probe", `[{"op": "remove", "path": "`+container+`/livenessProbe"}]`),
		added(kind, "a foreign container", pod+"/containers/-", `{"name": "theirs", "image": "theirs"}`,
			place{path: containers, field: "name", value: "theirs"}),
		added(kind, "another client's container before the operator's", pod+"/containers/0", `{"name": "first", "image": "theirs"}`,
			place{path: containers, field: "name", value: "first"}),
		added(kind, "a foreign volume", pod+"/volumes", `[{"name": "theirs", "emptyDir": {}}]`, volume).unless("tls"),
		added(kind, "another client's volume after the operator's", pod+"/volumes/-", `{"name": "theirs", "emptyDir": {}}`, volume).with("tls"),
		added(kind, "another client's spread constraint", pod+"/topologySpreadConstraints/-",
			`{"maxSkew": 1, "topologyKey": "theirs", "whenUnsatisfiable": "ScheduleAnyway"}`,
			place{path: []string{"spec", "template", "spec", "topologySpreadConstraints"}, field: "topologyKey", value: "theirs"}),
	}
}

// aimed returns an edit with its list index changed to the index of the operator's list item. Other clients may have added items before
// that item.
func (e edit) aimed(child *object, spec map[string]any) edit {
	portName := portNameOf(spec)
	for list, path := range map[string][]string{"/spec/ports/": {"spec", "ports"},
		"/containers/": {"spec", "template", "spec", "containers"}} {
		items, _, _ := unstructured.NestedSlice(child.Object, path...)
		for i, item := range items {
			if name := item.(map[string]any)["name"]; name == "echo" || name == portName {
				e.patch = strings.ReplaceAll(e.patch, list+"0/", fmt.Sprintf("%s%d/", list, i))
			}
		}
	}
	return e
}

// portNameOf returns the port name that a spec sets for the Service, or the default name.
func portNameOf(spec map[string]any) string {
	name, _, _ := unstructured.NestedString(spec, "service", "portName")
	return cmp.Or(name, "http")
}

// with returns an edit that applies only if the Echo's spec sets a field.
func (e edit) with(field string) edit {
	e.needs = field
	return e
}

// unless returns an edit that applies only if the Echo's spec does not set a field.
func (e edit) unless(field string) edit {
	e.excludedBy = field
	return e
}

// fits reports whether an edit applies to a spec and has a known outcome. While an Echo is paused, edits accumulate. The operator then
// cannot distinguish a list item whose name and number have both changed from an item that another client added.
func (e edit) fits(spec map[string]any) bool {
	if spec["paused"] == true && strings.HasPrefix(e.what, "the name of ") {
		return false
	}
	needed, found, _ := unstructured.NestedFieldNoCopy(spec, strings.Split(e.needs, ".")...)
	if object, isMap := needed.(map[string]any); isMap {
		found = len(object) > 0
	}
	return (e.needs == "" || found) && (e.excludedBy == "" || spec[e.excludedBy] == nil)
}
