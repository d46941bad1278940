package reliability

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// connection connects an operator process to the simulated API server. It replaces only the network below the shipped client.
type connection struct {
	*simulation
	process *process
}

// call is a request for one object or for a resource's objects.
type call struct {
	objectKey
	*http.Request
	part string // "status", or empty
	body []byte
}

// RoundTrip responds to a request or causes a fault.
func (c connection) RoundTrip(request *http.Request) (*http.Response, error) {
	if answer := c.discover(request.URL.Path); answer != nil {
		return respond(request, answer, nil)
	}
	to, err := parse(request)
	if err != nil {
		return nil, err
	}
	switch to.resource {
	case "events":
		return c.recordEvent(to)
	case "apiservers": // the cluster is not OpenShift
		return respond(request, nil, apierrors.NewNotFound(schema.GroupResource{Resource: to.resource}, to.name))
	}
	c.amnesia.strike(c.process)
	defer c.amnesia.strike(c.process)
	return c.faults.happen(c.process, to, func() (*http.Response, error) {
		if to.watches() {
			return c.watch(to)
		}
		answer, err := c.answer(to)
		return respond(request, answer, err)
	})
}

// discover returns the response to a discovery request, or nil for other requests.
func (c scenario) discover(path string) any {
	switch parts := strings.Split(strings.Trim(path, "/"), "/"); {
	case path == "/api":
		return metav1.APIVersions{Kind: "APIVersions", APIVersion: "v1", Versions: []string{"v1"}}
	case path == "/apis":
		return c.apiGroups()
	case parts[0] == "api" && len(parts) == 2:
		return c.apiResources("", parts[1])
	case parts[0] == "apis" && len(parts) == 3:
		return c.apiResources(parts[1], parts[2])
	default:
		return nil
	}
}

// parse returns the namespace, resource, name, and part that follow the prefix, group, and version in a request's path.
func parse(request *http.Request) (call, error) {
	to := call{Request: request}
	parts := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	parts = parts[2:]
	if strings.HasPrefix(request.URL.Path, "/apis/") {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		to.namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&to.resource, &to.name, &to.part} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	if request.Body == nil {
		return to, nil
	}
	var err error
	to.body, err = io.ReadAll(request.Body)
	return to, err
}

func (c call) watches() bool { return c.URL.Query().Get("watch") != "" }

// String returns a call as text, such as "apply services x".
func (c call) String() string {
	verb := strings.ToLower(c.Method)
	switch {
	case c.watches():
		verb = "watch"
	case c.Method == http.MethodGet && c.name == "":
		verb = "list"
	case c.Header.Get("Content-Type") == string(types.ApplyPatchType):
		verb = "apply"
	}
	return strings.Join(slices.DeleteFunc([]string{verb, c.resource, c.name, c.part}, func(word string) bool { return word == "" }), " ")
}

// respond returns a response with an object, or with an error in the API server's format.
func respond(request *http.Request, answer any, err error) (*http.Response, error) {
	code := http.StatusOK
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		told := status.Status()
		told.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		answer, code = told, int(told.Code)
	case err != nil:
		return nil, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if code == http.StatusTooManyRequests {
		header.Set("Retry-After", "1")
	}
	return &http.Response{StatusCode: code, Header: header, Body: io.NopCloser(bytes.NewReader(text)), Request: request}, nil
}

// answer carries out a request and returns the result.
func (c connection) answer(to call) (any, error) {
	query := to.URL.Query()
	switch to.Method {
	case http.MethodGet:
		if to.name == "" {
			return c.selected(to)
		}
		if found := c.read(to.objectKey); found != nil {
			return found.Object, nil
		}
		return nil, to.notFound()
	case http.MethodPatch:
		if to.Header.Get("Content-Type") != string(types.ApplyPatchType) {
			return plain(c.patch(to.objectKey, to.part, to.body, query.Get("fieldManager")))
		}
		want := &unstructured.Unstructured{}
		if err := want.UnmarshalJSON(to.body); err != nil {
			return nil, err
		}
		return plain(c.apply(to.objectKey, want, query.Get("fieldManager"), query.Get("force") == "true"))
	case http.MethodPost:
		tried := &unstructured.Unstructured{}
		if query.Get("dryRun") == "" {
			return nil, apierrors.NewMethodNotSupported(kinds[to.resource].groupResource(to.resource), to.Method)
		}
		return tried, tried.UnmarshalJSON(to.body) // the operator does not distinguish this from an object that already exists
	case http.MethodDelete:
		options := metav1.DeleteOptions{}
		if err := json.Unmarshal(to.body, &options); err != nil {
			return nil, err
		}
		return metav1.Status{Kind: "Status", APIVersion: "v1", Status: metav1.StatusSuccess}, c.removeOwn(to.objectKey, options)
	default:
		return nil, apierrors.NewMethodNotSupported(kinds[to.resource].groupResource(to.resource), to.Method)
	}
}

func plain(object *unstructured.Unstructured, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object.Object, nil
}

// selected returns the list of objects that a request selects.
func (c connection) selected(to call) (any, error) {
	which, err := selectorOf(to)
	if err != nil {
		return nil, err
	}
	items, version := []any{}, strconv.Itoa(c.commits())
	for _, object := range c.list(to.resource) {
		if which.matches(object) {
			items = append(items, object.Object)
		}
	}
	k := kinds[to.resource]
	return map[string]any{"kind": k.kind + "List", "apiVersion": k.gvk().GroupVersion().String(), "items": items,
		"metadata": map[string]any{"resourceVersion": version}}, nil
}

// selector selects the objects for a list or watch request.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func selectorOf(to call) (selector, error) {
	byLabel, err := labels.Parse(to.URL.Query().Get("labelSelector"))
	if err != nil {
		return selector{}, err
	}
	byField, err := fields.ParseSelector(to.URL.Query().Get("fieldSelector"))
	return selector{to.namespace, byLabel, byField}, err
}

// matches reports whether the selector selects an object. It returns false for nil.
func (s selector) matches(o *unstructured.Unstructured) bool {
	return o != nil && (s.namespace == "" || s.namespace == o.GetNamespace()) && s.labels.Matches(labels.Set(o.GetLabels())) &&
		s.fields.Matches(fields.Set{"metadata.name": o.GetName()})
}
