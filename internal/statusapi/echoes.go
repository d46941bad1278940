package statusapi

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
	"github.com/echo-operator/echo-operator/internal/status"
)

// echoList is the response to a list request.
type echoList struct {
	Items []echoView `json:"items"`
}

// listEchoes responds with all Echoes, or with the Echoes in one namespace.
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
	err := s.Cached.List(r.Context(), echoes, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) // read-only
	var pods podIndex
	if err == nil {
		pods, err = s.pods(r.Context(), namespace)
	}
	if err != nil {
		writeError(out, http.StatusInternalServerError, err.Error())
		return
	}
	slices.SortFunc(echoes.Items, func(a, b v1.Echo) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	list := echoList{Items: make([]echoView, 0, len(echoes.Items))}
	for i := range echoes.Items {
		list.Items = append(list.Items, viewOf(&echoes.Items[i], pods[client.ObjectKeyFromObject(&echoes.Items[i])]))
	}
	writeJSON(out, http.StatusOK, list)
}

func (s *Server) getEcho(out http.ResponseWriter, r *http.Request) {
	asked := questionOf(r).ResourceAttributes
	key, echo := client.ObjectKey{Namespace: asked.Namespace, Name: asked.Name}, &v1.Echo{}
	if !s.watches(key.Namespace) {
		writeError(out, http.StatusNotFound, s.notWatched(key.Namespace))
		return
	}
	err := s.Cached.Get(r.Context(), key, echo)
	if apierrors.IsNotFound(err) {
		writeError(out, http.StatusNotFound, fmt.Sprintf("Echo %q not found in namespace %q", key.Name, key.Namespace))
		return
	}
	var pods podIndex
	if err == nil {
		pods, err = s.pods(r.Context(), key.Namespace)
	}
	if err != nil {
		writeError(out, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(out, http.StatusOK, viewOf(echo, pods[key]))
}

// podIndex maps each Echo to its pods.
type podIndex map[types.NamespacedName][]status.PodSummary

// pods reads the pods of all Echoes in a namespace at once, because listing each Echo's pods would take quadratic time.
func (s *Server) pods(ctx context.Context, namespace string) (podIndex, error) {
	list := &corev1.PodList{}
	if err := s.Cached.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods := podIndex{}
	for i := range list.Items {
		if echo, summary, ok := status.SummarizePod(&list.Items[i]); ok {
			pods[echo] = append(pods[echo], summary)
		}
	}
	return pods, nil
}

func (s *Server) notWatched(namespace string) string {
	return fmt.Sprintf("this operator does not watch namespace %q, only %s", namespace, strings.Join(s.Namespaces, ", "))
}
