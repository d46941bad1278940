package echoesapi

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

func (s *Server) listEchoes(out http.ResponseWriter, r *http.Request) {
	namespace := questionOf(r).ResourceAttributes.Namespace
	if namespace != "" {
		if problems := validation.IsDNS1123Label(namespace); problems != nil {
			writeError(out, http.StatusBadRequest, fmt.Sprintf("namespace: %q is not a valid namespace name: %s", namespace, problems[0]))
			return
		}
		if !s.watches(namespace) {
			writeError(out, http.StatusNotFound, s.notWatched(namespace))
			return
		}
	}
	echoes := &v1.EchoList{}
	unread := s.Cached.List(r.Context(), echoes, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) // read-only
	pods, err := s.pods(r.Context(), namespace)
	if err := cmp.Or(unread, err); err != nil {
		writeError(out, http.StatusInternalServerError, err.Error())
		return
	}
	slices.SortFunc(echoes.Items, func(a, b v1.Echo) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	views := make([]echoView, 0, len(echoes.Items))
	for i := range echoes.Items {
		views = append(views, viewOf(&echoes.Items[i], pods[client.ObjectKeyFromObject(&echoes.Items[i])]))
	}
	writeJSON(out, http.StatusOK, map[string][]echoView{"items": views})
}

func (s *Server) getEcho(out http.ResponseWriter, r *http.Request) {
	asked := questionOf(r).ResourceAttributes
	key, echo := client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}, &v1.Echo{}
	if !s.watches(key.Namespace) {
		writeError(out, http.StatusNotFound, s.notWatched(key.Namespace))
		return
	}
	unread := s.Cached.Get(r.Context(), key, echo)
	if apierrors.IsNotFound(unread) {
		writeError(out, http.StatusNotFound, fmt.Sprintf("Echo %q not found in namespace %q", key.Name, key.Namespace))
		return
	}
	pods, err := s.pods(r.Context(), key.Namespace)
	if err := cmp.Or(unread, err); err != nil {
		writeError(out, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(out, http.StatusOK, viewOf(echo, pods[key]))
}

// pods reads the pods of all Echoes in a namespace at once, because listing each Echo's pods would take quadratic time.
func (s *Server) pods(ctx context.Context, namespace string) (map[types.NamespacedName][]status.PodSummary, error) {
	list := &corev1.PodList{}
	if err := s.Cached.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods := map[types.NamespacedName][]status.PodSummary{}
	for i := range list.Items {
		if echo, summary, ok := status.SummarizePod(objects.PodOf(&list.Items[i])); ok {
			pods[echo] = append(pods[echo], summary)
		}
	}
	return pods, nil
}

func (s *Server) notWatched(namespace string) string {
	return fmt.Sprintf("this operator does not watch namespace %q, only %s", namespace, strings.Join(s.Namespaces, ", "))
}

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

// viewOf returns the view of an Echo with its pods. Both the nodes and the pods on each node are sorted by name.
func viewOf(echo *v1.Echo, pods []status.PodSummary) echoView {
	view := echoView{
		Namespace: echo.Namespace, Name: echo.Name, Spec: specViewOf(&echo.Spec), Status: echo.Status, Nodes: []nodeView{}}
	slices.SortFunc(pods, func(a, b status.PodSummary) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range pods {
		if len(view.Nodes) == 0 || view.Nodes[len(view.Nodes)-1].Name != pod.Node {
			view.Nodes = append(view.Nodes, nodeView{Name: pod.Node})
		}
		last := &view.Nodes[len(view.Nodes)-1]
		last.Pods = append(last.Pods, podView{pod.Name, pod.State, pod.Companion})
	}
	return view
}

func specViewOf(spec *v1.EchoSpec) specView {
	view := specView{
		Replicas: spec.DesiredReplicas(), Image: spec.Image, Port: spec.Port, Paused: spec.Paused,
		Service: string(spec.Service.Type),
	}
	for _, e := range spec.Env {
		view.Env = append(view.Env, e.Name)
	}
	if spec.Ingress != nil && spec.Ingress.Enabled != nil && *spec.Ingress.Enabled {
		view.Ingress = spec.Ingress.Host
	}
	if r := spec.Response; r != nil {
		view.Response = &responseView{StatusCode: r.StatusCode, DelayMilliseconds: r.DelayMilliseconds, BodyLength: len(r.Body)}
		for _, h := range r.Headers {
			view.Response.Headers = append(view.Response.Headers, h.Name)
		}
	}
	return view
}
