package window

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
)

// echoList is the answer for many Echoes.
type echoList struct {
	Items []echoView `json:"items"`
}

// listEchoes answers with all Echoes, or those of one namespace.
func (w *Window) listEchoes(out http.ResponseWriter, r *http.Request) {
	asked, _ := targetOf(r)
	if asked.namespace != "" && !w.watches(asked.namespace) {
		refuse(out, http.StatusNotFound, w.notWatched(asked.namespace))
		return
	}
	echoes := &v1.EchoList{}
	err := w.Cached.List(r.Context(), echoes, client.InNamespace(asked.namespace), client.UnsafeDisableDeepCopy) // they are only read
	if err == nil {
		err = w.answer(r.Context(), out, asked.namespace, echoes.Items)
	}
	if err != nil {
		refuse(out, http.StatusInternalServerError, err.Error())
	}
}

func (w *Window) answer(ctx context.Context, out http.ResponseWriter, namespace string, echoes []v1.Echo) error {
	pods, err := w.pods(ctx, namespace)
	if err != nil {
		return err
	}
	slices.SortFunc(echoes, func(a, b v1.Echo) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	list := echoList{Items: make([]echoView, 0, len(echoes))}
	for i := range echoes {
		list.Items = append(list.Items, w.view(&echoes[i], pods))
	}
	reply(out, http.StatusOK, list)
	return nil
}

// getEcho answers with one Echo.
func (w *Window) getEcho(out http.ResponseWriter, r *http.Request) {
	asked, _ := targetOf(r)
	if !w.watches(asked.namespace) {
		refuse(out, http.StatusNotFound, w.notWatched(asked.namespace))
		return
	}
	echo := &v1.Echo{}
	err := w.Cached.Get(r.Context(), client.ObjectKey{Namespace: asked.namespace, Name: asked.name}, echo)
	if apierrors.IsNotFound(err) {
		refuse(out, http.StatusNotFound, fmt.Sprintf("there is no Echo %q in the namespace %q", asked.name, asked.namespace))
		return
	}
	var pods podIndex
	if err == nil {
		pods, err = w.pods(r.Context(), asked.namespace)
	}
	if err != nil {
		refuse(out, http.StatusInternalServerError, err.Error())
		return
	}
	reply(out, http.StatusOK, w.view(echo, pods))
}

func (w *Window) view(echo *v1.Echo, pods podIndex) echoView {
	key := client.ObjectKeyFromObject(echo)
	return viewOf(echo, pods[key], w.Journal.Events(key, echo.UID))
}

// podIndex are pods by the Echo that they are of.
type podIndex map[types.NamespacedName][]controllers.PodSummary

// pods reads the pods of all Echoes of a namespace at once: to look for those of each Echo would take the square of the time.
func (w *Window) pods(ctx context.Context, namespace string) (podIndex, error) {
	list := &corev1.PodList{}
	if err := w.Cached.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods := podIndex{}
	for i := range list.Items {
		if echo, summary, ok := controllers.SummarizePod(&list.Items[i]); ok {
			pods[echo] = append(pods[echo], summary)
		}
	}
	return pods, nil
}

func (w *Window) notWatched(namespace string) string {
	return fmt.Sprintf("this operator does not look after the namespace %q, but after %s", namespace, strings.Join(w.Namespaces, ", "))
}
