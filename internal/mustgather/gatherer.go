package mustgather

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/yaml"
)

const requestTimeout = 30 * time.Second

// object is an object of any kind, or a part of one.
type object = unstructured.Unstructured

// gatherer reads data from a cluster, one request at a time, and writes only data that may leave the cluster.
type gatherer struct {
	options
	config   *rest.Config
	client   kubernetes.Interface
	objects  dynamic.Interface
	redactor *redactor
	out      io.Writer // for progress messages

	// found holds, by kind, the parts of objects that will be written.
	found map[string][]object
	// missed says what could not be read, and why. forbidden is true if the user lacks a permission.
	missed    []string
	forbidden bool
	// unwritten holds the errors for the files that could not be written.
	unwritten error
}

func (g *gatherer) miss(what string, err error) {
	reason := g.redactor.text(err.Error())
	g.missed = append(g.missed, what+": "+reason+"\n")
	g.forbidden = g.forbidden || apierrors.IsForbidden(err) // the API server's message names the permission
	g.say("  could not read %s: %s", what, reason)
}

func (g *gatherer) say(format string, arguments ...any) {
	_, _ = fmt.Fprintf(g.out, format+"\n", arguments...)
}

// list calls a function for each object of a kind in the given namespaces. The namespace "" stands for all namespaces. If the cluster does
// not serve the kind, there are no objects.
func (g *gatherer) list(ctx context.Context, kind string, namespaces []string, selector string, each func(*object)) {
	for _, namespace := range namespaces {
		pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return g.resource(kind, namespace).List(ctx, options)
		})
		err := pages.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector}, func(o runtime.Object) error {
			each(o.(*object))
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) {
			g.miss(where(kind, namespace, ""), err)
		}
	}
}

// get reads an object that has not been found yet, and keeps it if it exists.
func (g *gatherer) get(ctx context.Context, kind, namespace, name string) {
	if slices.ContainsFunc(g.found[kind], func(o object) bool { return o.GetNamespace() == namespace && o.GetName() == name }) {
		return
	}
	o, err := g.resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		g.keep(kind)(o)
	case !apierrors.IsNotFound(err):
		g.miss(where(kind, namespace, name), err)
	}
}

func (g *gatherer) keep(kind string) func(*object) {
	return func(o *object) { g.found[kind] = append(g.found[kind], g.redactor.object(o)) }
}

func (g *gatherer) resource(kind, namespace string) dynamic.ResourceInterface {
	resource, _ := schema.ParseResourceArg(kind)
	return g.objects.Resource(*resource).Namespace(namespace)
}

// where describes all objects of a kind, or one object if a name is given.
func where(kind, namespace, name string) string {
	resource, _ := schema.ParseResourceArg(kind)
	text := resource.GroupResource().String()
	if name != "" {
		text += "/" + name
	}
	if namespace != "" {
		text += " in the namespace " + namespace
	}
	return text
}

// write writes a file that only its owner can read. If a file cannot be written, the other files are still written.
func (g *gatherer) write(path, content string) {
	path = filepath.Join(g.folder, path)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	g.unwritten = errors.Join(g.unwritten, err)
}

// finish writes the data that was found, in one file for each kind and namespace, and a list of the data that could not be read.
func (g *gatherer) finish() error {
	g.write("version", "echo-operator/must-gather\n"+g.version+"\n") // the format that oc uses
	for kind, objects := range g.found {
		resource, _ := schema.ParseResourceArg(kind)
		lists := map[string][]any{} // by folder
		for _, o := range objects {
			folder := "cluster-scoped-resources"
			if o.GetNamespace() != "" {
				folder = filepath.Join("namespaces", o.GetNamespace())
			}
			lists[folder] = append(lists[folder], o.Object)
		}
		for folder, items := range lists {
			text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
			g.unwritten = errors.Join(g.unwritten, err)
			g.write(filepath.Join(folder, cmp.Or(resource.Group, "core"), resource.Resource+".yaml"), string(text))
		}
	}
	g.write("not-read.txt", strings.Join(g.missed, ""))
	g.say("wrote %s; could not read %d", g.folder, len(g.missed))
	if g.forbidden {
		g.say("To read more, request the permissions in not-read.txt, or name the namespaces that you can read with --namespace and " +
			"--operator-namespace.")
	}
	if len(g.found) == 0 && len(g.missed) > 0 {
		return errors.Join(g.unwritten, errors.New("nothing could be read: not-read.txt lists the reasons"))
	}
	return g.unwritten
}
