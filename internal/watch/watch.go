// Package watch implements the 'manager watch' command, which prints changes to the objects of a kind.
package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Options select the objects to watch and the output format.
type Options struct {
	API                                   schema.GroupVersion // must be served by the cluster
	resource, namespace, selector, output string
}

// AddFlags adds the flags of the command.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch; defaults to all")
	flags.StringVarP(&o.selector, "selector", "l", "", "label selector, such as app=web,tier!=cache")
	flags.StringVarP(&o.output, "output", "o", "text", "output format: text, or json for one JSON object per line")
}

// Complete reads the command's arguments after the flags have been parsed. Its errors name the problem and the valid values.
func (o *Options) Complete(arguments []string, flags *pflag.FlagSet) error {
	o.resource = strings.Join(arguments, " ")
	o.API = map[string]schema.GroupVersion{"pods": corev1.SchemeGroupVersion, "nodes": corev1.SchemeGroupVersion,
		"deployments": appsv1.SchemeGroupVersion, "echoes": v1.GroupVersion}[o.resource]
	switch _, err := labels.Parse(o.selector); {
	case o.API.Empty():
		return fmt.Errorf("watch requires one of pods, nodes, deployments, echoes, but got %q", o.resource)
	case flags.Changed("namespace") && (o.resource == "nodes" || len(validation.IsDNS1123Label(o.namespace)) > 0):
		return fmt.Errorf("--namespace: %q is not a valid namespace of %s: omit the flag to watch all %[2]s", o.namespace, o.resource)
	case err != nil:
		return fmt.Errorf("--selector: %q is not a valid label selector, such as app=web,tier!=cache (%w)", o.selector, err)
	case o.output != "text" && o.output != "json":
		return fmt.Errorf("--output: %q is not a known format: use text or json", o.output)
	}
	return nil
}

// Run prints changes until ctx is done. It fails only if it cannot start or cannot print. It prints other errors, and retries.
func Run(ctx context.Context, cluster *rest.Config, o Options, stdout, stderr io.Writer) error {
	client, err := dynamic.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("the cluster configuration cannot be used: %w", err)
	}
	objects := client.Resource(o.API.WithResource(o.resource)).Namespace(o.namespace)
	selected := func(list metav1.ListOptions) metav1.ListOptions { list.LabelSelector = o.selector; return list }
	report := func(_ context.Context, _ *cache.Reflector, err error) {
		_, _ = fmt.Fprintf(stderr, "ERROR    %s  %v\n", time.Now().Format(time.RFC3339), err)
	}
	informer := cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			return objects.List(ctx, selected(list))
		},
		WatchFuncWithContext: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			stream, err := objects.Watch(ctx, selected(list))
			if utilnet.IsConnectionRefused(err) { // the informer does not report this error
				report(ctx, nil, err)
			}
			return stream, err
		},
	}, &unstructured.Unstructured{}, cache.SharedIndexInformerOptions{ObjectDescription: o.resource})
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	_, err = informer.AddEventHandler(newPrinter(stdout, o.output == "json", fail))
	if err := errors.Join(err, informer.SetTransform(strip), informer.SetWatchErrorHandlerWithContext(report)); err != nil {
		return err
	}
	go informer.RunWithContext(ctx) // Run does not wait for the informer's next attempt
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return fmt.Errorf("printing: %w", cause)
	}
	return nil
}

// strip removes managed fields, and all parts of an object that contain environment variables, arguments, or bodies.
func strip(object any) (any, error) {
	if o, ok := object.(*unstructured.Unstructured); ok {
		for _, path := range []string{"metadata managedFields", "metadata annotations " + corev1.LastAppliedConfigAnnotation, "spec env",
			"spec args", "spec response", "spec template", "spec containers", "spec initContainers", "spec ephemeralContainers"} {
			unstructured.RemoveNestedField(o.Object, strings.Fields(path)...)
		}
	}
	return object, nil
}

// text is the template of a line. It ends with the state of the object.
const text = `{{.time.Format "2006-01-02T15:04:05Z07:00"}}  {{printf "%-7s" .type}}  {{with .namespace}}{{.}}/{{end}}{{.name}}  ` +
	`{{with .object}}{{if eq .kind "Pod"}}{{.status.phase}}{{with .spec.nodeName}} on {{.}}{{end}}{{else if eq .kind "Node"}}` +
	`{{$is := "NotReady"}}{{range .status.conditions}}{{if eq (print .type .status) "ReadyTrue"}}{{$is = "Ready"}}{{end}}{{end}}{{$is}}` +
	`{{if .spec.unschedulable}}, unschedulable{{end}}` +
	`{{else}}{{with .status.phase}}{{.}} {{end}}{{or .status.readyReplicas 0}}/{{or .spec.replicas 0}} ready{{end}}{{end}}` + "\n"

// newPrinter returns a handler that prints the changes that an informer reports.
func newPrinter(to io.Writer, asJSON bool, fail func(error)) cache.ResourceEventHandler {
	write := func(what string, object any) {
		o, line := object.(*unstructured.Unstructured), &strings.Builder{}
		event := map[string]any{
			"time": time.Now(), "type": what, "kind": o.GetKind(), "namespace": o.GetNamespace(), "name": o.GetName(), "object": o.Object}
		err := template.Must(template.New("").Parse(text)).Execute(line, event)
		if asJSON {
			line.Reset()
			err = json.NewEncoder(line).Encode(event)
		}
		if _, failed := io.WriteString(to, line.String()); err != nil || failed != nil {
			fail(errors.Join(err, failed))
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { write("ADDED", object) },
		UpdateFunc: func(before, after any) {
			if before.(metav1.Object).GetResourceVersion() != after.(metav1.Object).GetResourceVersion() { // not just listed again
				write("UPDATED", after)
			}
		},
		DeleteFunc: func(object any) {
			if lost, ok := object.(cache.DeletedFinalStateUnknown); ok { // deleted during an interruption
				object = lost.Obj
			}
			write("DELETED", object)
		},
	}
}
