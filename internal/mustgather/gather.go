// Package mustgather collects diagnostic data about the operator and its Echoes for a bug report.
//
// The data excludes Secrets, arguments, response bodies, and the values of environment variables.
package mustgather

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/kinds"
	"github.com/echo-operator/echo-operator/internal/process"
)

// Run collects all data. It fails only if no object can be read, or if a file cannot be written. The output lists unreadable data.
func Run(ctx context.Context, version string, arguments []string, getenv func(string) string, out io.Writer) error {
	o, err := parse(version, arguments, getenv, out)
	if err != nil {
		return err
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("no cluster was found; set KUBECONFIG: %w", err)
	}
	config.UserAgent, config.WarningHandler = "echo-operator-must-gather/"+o.version, rest.NoWarnings{}
	config.Timeout, config.QPS, config.Burst = requestTimeout, 50, 100
	client, noClient := kubernetes.NewForConfig(config)
	objects, noObjects := dynamic.NewForConfig(config)
	redactor, noRules := newRedactor()
	if err := cmp.Or(noClient, noObjects, noRules); err != nil {
		return err
	}
	g := &gatherer{options: o, config: config, client: client, objects: objects, redactor: redactor, out: out, found: map[string][]object{}}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	server := struct{ GitVersion string }{}
	text, err := g.client.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(text, &server)
	}
	switch {
	case apierrors.IsForbidden(err):
		g.miss("the version of Kubernetes", err)
	case err != nil:
		return fmt.Errorf("the API server %s does not respond: %w", config.Host, err)
	default:
		g.write("kubernetes-version.json", string(text))
	}
	g.say("reading from %s, Kubernetes %s", config.Host, server.GitVersion)
	g.gather(ctx)
	return g.finish()
}

const usage = "gather [flags]"

type options struct {
	namespaces        []string
	operatorNamespace string
	folder            string
	metricsAccount    string
	timeout           time.Duration
	version           string // the version of this program
}

func parse(version string, arguments []string, getenv func(string) string, out io.Writer) (options, error) {
	o, folder := options{version: version}, "must-gather-"+time.Now().UTC().Format("20060102-150405")
	if getenv("KUBERNETES_SERVICE_HOST") != "" {
		folder = "/must-gather" // oc copies this directory
	}
	flags := pflag.NewFlagSet("gather", pflag.ContinueOnError)
	flags.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "the `NAMESPACES` of the Echoes, separated by commas; all if not set")
	flags.StringVar(&o.operatorNamespace, "operator-namespace", "", "the operator's `NAMESPACE`; found automatically if not set")
	flags.StringVar(&o.folder, "dest-dir", folder, "the `DIRECTORY` to write to")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute,
		"the maximum time for reading, a `DURATION` such as 90s; data that was read by then is written")
	flags.StringVar(&o.metricsAccount, "metrics-account", "",
		"a service account, as `NAMESPACE/NAME`, that may read the operator's metrics: "+
			"must-gather requests a token that is valid for ten minutes. In a pod, it uses the pod's token; elsewhere, it reads no metrics without this flag")
	err := process.ParseFlags(flags, usage, version, arguments, out)
	if err == nil && flags.NArg() > 0 {
		err = &process.UsageError{Usage: usage, Err: fmt.Errorf("unknown argument %q", flags.Arg(0))}
	}
	return o, err
}

// These are kinds in the form resource.version.group. kinds.Table lists the kinds that the operator creates.
const (
	echoes                 = "echoes.v1.example.com"
	pods                   = "pods.v1."
	services               = "services.v1."
	deployments            = "deployments.v1.apps"
	replicaSets            = "replicasets.v1.apps"
	disruptionBudgets      = "poddisruptionbudgets.v1.policy"
	jobs                   = "jobs.v1.batch"
	endpointSlices         = "endpointslices.v1.discovery.k8s.io"
	events                 = "events.v1.events.k8s.io"
	leases                 = "leases.v1.coordination.k8s.io"
	definitions            = "customresourcedefinitions.v1.apiextensions.k8s.io"
	subscriptions          = "subscriptions.v1alpha1.operators.coreos.com"
	clusterServiceVersions = "clusterserviceversions.v1alpha1.operators.coreos.com"
	installPlans           = "installplans.v1alpha1.operators.coreos.com"
	operatorGroups         = "operatorgroups.v1.operators.coreos.com"
)

const (
	// childrenSelector selects the objects that the operator created, and the objects that Kubernetes created for them.
	childrenSelector = "app.kubernetes.io/managed-by=echo-operator"
	operatorSelector = "app.kubernetes.io/name=echo-operator,control-plane=controller-manager"
	// usualNamespace is the usual namespace of an operator that OLM did not install.
	usualNamespace = "echo-operator-system"
	// mostLookups is the maximum number of unready Echoes for which objects are looked up by name.
	mostLookups = 100
)

// gather reads all data. It reads the Echoes first, because it removes their secrets from all strings.
func (g *gatherer) gather(ctx context.Context) {
	for _, step := range []struct {
		name string
		read func(context.Context)
	}{
		{"Echoes", g.readEchoes},
		{"the operator", g.readOperator},
		{"the objects of Echoes", g.readChildren},
		{"OLM", g.readOLM},
		{"events", g.readEvents},
		{"logs", g.readLogs},
		{"metrics", g.readEndpoints},
	} {
		g.say("reading %s", step.name)
		step.read(ctx)
	}
}

// scope returns the namespaces to read: the requested namespaces plus the given others, or "" for all namespaces if none are requested.
func (g *gatherer) scope(others ...string) []string {
	if len(g.namespaces) == 0 {
		return []string{""}
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(g.namespaces, others))))
}

func (g *gatherer) readEchoes(ctx context.Context) {
	if len(g.namespaces) > 0 { // the operator's log quotes Echoes in all namespaces
		g.list(ctx, echoes, []string{""}, "", g.redactor.learn)
	}
	var all []*object
	g.list(ctx, echoes, g.scope(), "", func(o *object) {
		g.redactor.learn(o)
		all = append(all, o)
	})
	for _, echo := range all {
		g.keep(echoes)(echo)
	}
	g.say("  %d Echoes", len(all))
}

func (g *gatherer) readOperator(ctx context.Context) {
	g.get(ctx, definitions, "", "echoes.example.com")
	g.list(ctx, deployments, []string{g.operatorNamespace}, operatorSelector, g.keep(deployments))
	if len(ofOperator(g.found[deployments])) == 0 { // listing Deployments in all namespaces might be forbidden
		g.list(ctx, deployments, g.operatorNamespaces(), operatorSelector, g.keep(deployments))
	}
	for _, kind := range []string{replicaSets, disruptionBudgets, pods, services} {
		g.list(ctx, kind, g.operatorNamespaces(), operatorSelector, g.keep(kind))
	}
	for _, namespace := range g.operatorNamespaces() {
		g.get(ctx, leases, namespace, "echo-operator.example.com")
	}
}

func ofOperator(objects []object) []object {
	return slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return o.GetLabels()["app.kubernetes.io/name"] != "echo-operator" })
}

// operatorNamespaces returns the operator's namespaces, one for each installation.
func (g *gatherer) operatorNamespaces() []string {
	operators := ofOperator(g.found[deployments])
	if len(operators) == 0 {
		return []string{cmp.Or(g.operatorNamespace, usualNamespace)}
	}
	return namespacesOf(operators)
}

func (g *gatherer) readChildren(ctx context.Context) {
	var created, named []string // the objects of a named kind have the same name as their Echo
	for _, k := range kinds.Table() {
		kind := k.Resource + "." + k.Version + "." + k.Group
		created = append(created, kind)
		if k.Named {
			named = append(named, kind)
		}
	}
	for _, kind := range slices.Concat(created, []string{jobs, replicaSets, endpointSlices, pods}) {
		before := len(g.found[kind])
		g.list(ctx, kind, g.scope(), childrenSelector, g.keep(kind))
		g.say("  %d %s", len(g.found[kind])-before, where(kind, "", ""))
	}
	// If a foreign object already has the name of an Echo's child, the operator does not create the child.
	notReady := slices.DeleteFunc(slices.Clone(g.found[echoes]), func(echo object) bool {
		return textOf(echo, "status", "phase") == v1.PhaseReady
	})
	for _, echo := range notReady[:min(len(notReady), mostLookups)] {
		for _, kind := range named {
			g.get(ctx, kind, echo.GetNamespace(), echo.GetName())
		}
	}
}

// readOLM reads OLM's objects for the operator if the cluster has OLM. A Subscription may be the only OLM object that exists.
func (g *gatherer) readOLM(ctx context.Context) {
	namespaces := []string{g.operatorNamespace}
	for _, kind := range []string{subscriptions, clusterServiceVersions, installPlans, operatorGroups} {
		g.list(ctx, kind, namespaces, "", func(o *object) {
			names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "clusterServiceVersionNames")
			names = append(names, o.GetName(), textOf(*o, "spec", "name"))
			if kind == operatorGroups || slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "echo-operator") }) {
				g.keep(kind)(o)
			}
		})
		namespaces = namespacesOf(slices.Concat(ofOperator(g.found[deployments]), g.found[subscriptions]))
	}
}

// readEvents reads the events from the operator, and the events about found objects and about their ReplicaSets and pods.
func (g *gatherer) readEvents(ctx context.Context) {
	names := map[string]bool{}
	for _, objects := range g.found {
		for _, o := range objects {
			names[o.GetNamespace()+"/"+o.GetName()] = true
		}
	}
	g.list(ctx, events, g.scope(g.operatorNamespaces()...), "", func(o *object) {
		if textOf(*o, "reportingController") == "echo-operator" || isAbout(names, *o) {
			g.keep(events)(o)
		}
	})
	g.say("  %d events", len(g.found[events]))
}

// isAbout reports whether an event is about an object with one of the names, or about its ReplicaSets or pods.
func isAbout(names map[string]bool, event object) bool {
	name := textOf(event, "regarding", "name")
	for suffixes := map[string]int{"ReplicaSet": 1, "Pod": 2}[textOf(event, "regarding", "kind")]; ; suffixes-- {
		if names[textOf(event, "regarding", "namespace")+"/"+name] {
			return true
		}
		end := strings.LastIndexByte(name, '-')
		if suffixes == 0 || end < 0 {
			return false
		}
		name = name[:end]
	}
}

// textOf returns a string in an object, or "" if there is none.
func textOf(o object, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

func namespacesOf(objects []object) []string {
	var namespaces []string
	for _, o := range objects {
		namespaces = append(namespaces, o.GetNamespace())
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
