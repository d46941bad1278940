package statusapi

import (
	"cmp"
	"slices"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

// echoView is the status API's view of an Echo.
type echoView struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`
	Spec      specView      `json:"spec"`
	Status    v1.EchoStatus `json:"status"`
	Nodes     []nodeView    `json:"nodes"`
}

// specView is a summary of a spec. It omits fields that may be secret: the values of variables and headers, the arguments, and the body.
type specView struct {
	Replicas int32         `json:"replicas"`
	Image    string        `json:"image,omitempty"`
	Port     int32         `json:"port"`
	Env      []string      `json:"env,omitempty"` // names only
	Response *responseView `json:"response,omitempty"`
	Service  string        `json:"service"`
	Ingress  string        `json:"ingress,omitempty"` // its host
	Paused   bool          `json:"paused,omitempty"`
}

type responseView struct {
	StatusCode        int32    `json:"statusCode,omitempty"`
	DelayMilliseconds int32    `json:"delayMilliseconds,omitempty"`
	Headers           []string `json:"headers,omitempty"` // names only
	BodyLength        int      `json:"bodyLength,omitempty"`
}

// nodeView is a node and an Echo's pods on it. Pods without a node are listed in an entry without a name.
type nodeView struct {
	Name string    `json:"name,omitempty"`
	Pods []podView `json:"pods"`
}

type podView struct {
	Name      string `json:"name"`
	State     string `json:"state"`
	Companion bool   `json:"companion,omitempty"`
}

func viewOf(echo *v1.Echo, pods []status.PodSummary) echoView {
	return echoView{
		Namespace: echo.Namespace, Name: echo.Name, Spec: specViewOf(&echo.Spec), Status: echo.Status, Nodes: byNode(pods)}
}

func specViewOf(spec *v1.EchoSpec) specView {
	view := specView{
		Replicas: spec.DesiredReplicas(), Image: spec.Image, Port: spec.Port, Paused: spec.Paused,
		Service: string(spec.Service.Type), Response: responseViewOf(spec.Response),
	}
	for _, e := range spec.Env {
		view.Env = append(view.Env, e.Name)
	}
	if spec.Ingress != nil && spec.Ingress.Enabled {
		view.Ingress = spec.Ingress.Host
	}
	return view
}

func responseViewOf(response *v1.EchoResponse) *responseView {
	if response == nil {
		return nil
	}
	view := &responseView{StatusCode: response.StatusCode, DelayMilliseconds: response.DelayMilliseconds, BodyLength: len(response.Body)}
	for _, h := range response.Headers {
		view.Headers = append(view.Headers, h.Name)
	}
	return view
}

// byNode groups pods by node. Both the nodes and the pods on each node are sorted by name.
func byNode(pods []status.PodSummary) []nodeView {
	slices.SortFunc(pods, func(a, b status.PodSummary) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Name, b.Name))
	})
	nodes := []nodeView{}
	for _, pod := range pods {
		if len(nodes) == 0 || nodes[len(nodes)-1].Name != pod.Node {
			nodes = append(nodes, nodeView{Name: pod.Node})
		}
		last := &nodes[len(nodes)-1]
		last.Pods = append(last.Pods, podView{pod.Name, pod.State, pod.Companion})
	}
	return nodes
}
