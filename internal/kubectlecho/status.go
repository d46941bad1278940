package kubectlecho

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/kinds"
)

func newStatus(flags *genericclioptions.ConfigFlags) *cobra.Command {
	all, format := false, ""
	command := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show what is wrong with Echoes, and what to do",
		Long: `Show what is wrong with an Echo and what to do, with its conditions, its objects, problems with its nodes, and the last warnings.
Without a name, list Echoes, starting with the ones that are not Ready.
The exit code is 0 if all Echoes shown are Ready or are being deleted, 1 if an Echo is not Ready or its deletion is blocked, and 2 for
errors.`,
		Example: `  # Show what is wrong with the Echo web, and what to do
  kubectl echo status web

  # Show the same as JSON, for a program
  kubectl echo status web -o json

  # List the Echoes in all namespaces
  kubectl echo status -A`,
		ValidArgsFunction: completeEcho(flags),
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) > 1 || len(names) == 1 && all {
				return usage(c, errors.New("at most one name is allowed, and none with --all-namespaces"))
			}
			if format != "" && format != "json" {
				return usage(c, fmt.Errorf("--output: %q is not json", format))
			}
			cluster, err := connect(flags, all)
			if err != nil {
				return err
			}
			if len(names) == 1 {
				return cluster.describe(c.Context(), names[0], format, c.OutOrStdout(), c.ErrOrStderr())
			}
			return cluster.list(c.Context(), format, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the Echoes in all namespaces")
	command.Flags().StringVarP(&format, "output", "o", "", "The output format: json, or empty for text")
	completeFlag(command, "output", cobra.FixedCompletions([]string{"json"}, cobra.ShellCompDirectiveNoFileComp))
	return command
}

func (c *cluster) list(ctx context.Context, format string, stdout, stderr io.Writer) error {
	list := &v1.EchoList{}
	if err := read(ctx, c.from("apis/example.com/v1", "echoes"), list); err != nil {
		return err
	}
	all := reports{Items: make([]report, 0, len(list.Items))}
	for i := range list.Items {
		all.Items = append(all.Items, newReport(&list.Items[i]))
	}
	// This stable sort keeps the API server's order by name. Echoes that are not Ready come first, because "false" is less than "true".
	slices.SortStableFunc(all.Items, func(a, b report) int { return strings.Compare(fmt.Sprint(a.Ready), fmt.Sprint(b.Ready)) })
	if err := write(stdout, format, all); err != nil {
		return err
	}
	if len(all.Items) == 0 && format == "" {
		_, _ = fmt.Fprintln(stderr, "No Echoes found")
	}
	return yes(!slices.ContainsFunc(all.Items, func(r report) bool { return !r.isWell() }))
}

// describe prints the full report about an Echo. Objects that cannot be read cause a warning, not a failure.
func (c *cluster) describe(ctx context.Context, name, format string, stdout, stderr io.Writer) error {
	echo, events := &v1.Echo{}, &corev1.EventList{}
	if err := read(ctx, c.from("apis/example.com/v1", "echoes").Name(name), echo); err != nil {
		return err
	}
	r := newReport(echo)
	objects, problems := c.objects(ctx, name)
	problems = append(problems, read(ctx, c.from("api/v1", "events").Param("fieldSelector", "type=Warning"), events))
	for _, problem := range slices.DeleteFunc(problems, func(err error) bool { return err == nil }) {
		_, _ = fmt.Fprintf(stderr, "warning: not everything is shown: %v\n", problem)
	}
	r.add(tree(object{Metadata: echo.ObjectMeta, kind: "Echo", cells: map[string]string{"Ready": r.replicas(), "Status": r.Phase}}, objects),
		events.Items)
	if err := write(stdout, format, r); err != nil {
		return err
	}
	return yes(r.isWell())
}

// report holds the data that is shown about an Echo. Only a report about a single Echo contains objects and warnings.
type report struct {
	Namespace       string                `json:"namespace"`
	Name            string                `json:"name"`
	Ready           bool                  `json:"ready"`
	Phase           string                `json:"phase"`
	Message         string                `json:"message"`
	ReadyReplicas   int32                 `json:"readyReplicas"`
	DesiredReplicas int32                 `json:"desiredReplicas"`
	Conditions      []condition           `json:"conditions,omitempty"`
	Objects         []row                 `json:"objects,omitempty"`
	NodeProblems    []v1.EchoNodeProblems `json:"nodeProblems,omitempty"`
	Warnings        []warning             `json:"warnings,omitempty"`
}

// condition is a condition without its message, which the report's message summarizes.
type condition struct {
	Type   string                 `json:"type"`
	Status metav1.ConditionStatus `json:"status"`
	Reason string                 `json:"reason"`
	Since  metav1.Time            `json:"lastTransitionTime"`
}

type row struct {
	Kind     string      `json:"kind"`
	Name     string      `json:"name"`
	Owner    string      `json:"owner,omitempty"`
	Ready    string      `json:"ready,omitempty"`
	Status   string      `json:"status,omitempty"`
	Restarts string      `json:"restarts,omitempty"`
	Node     string      `json:"node,omitempty"`
	Created  metav1.Time `json:"creationTimestamp"`
	lines    string
}

type warning struct {
	LastSeen metav1.Time `json:"lastSeen"`
	Object   string      `json:"object"`
	Reason   string      `json:"reason"`
	Message  string      `json:"message"`
}

func newReport(echo *v1.Echo) report {
	r := report{
		Namespace: echo.Namespace, Name: echo.Name, Ready: isReady(echo), Phase: cmp.Or(echo.Status.Phase, "unknown"), Message: message(echo),
		ReadyReplicas: echo.Status.ReadyReplicas, DesiredReplicas: echo.Spec.DesiredReplicas(), NodeProblems: echo.Status.NodeProblems,
	}
	for _, c := range echo.Status.Conditions {
		r.Conditions = append(r.Conditions, condition{c.Type, c.Status, c.Reason, c.LastTransitionTime})
	}
	return r
}

func isReady(echo *v1.Echo) bool {
	return meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionReady) &&
		echo.Status.ObservedGeneration == echo.Generation && echo.DeletionTimestamp.IsZero()
}

// isWell reports whether an Echo is Ready, or is being deleted without a problem.
func (r report) isWell() bool {
	return r.Ready || r.Phase == v1.PhaseTerminating && !slices.ContainsFunc(r.Conditions, func(c condition) bool {
		return c.Type == v1.ConditionDegraded && c.Status == metav1.ConditionTrue
	})
}

// message returns the status message. If the operator has not reported the current status, message says so instead.
func message(echo *v1.Echo) string {
	const check = "Check its pods: kubectl get pods -A -l control-plane=controller-manager"
	switch {
	case echo.Status.Message == "":
		return "The operator has not reported a status: it is not running, or does not watch the namespace. " + check
	case echo.Status.ObservedGeneration != echo.Generation:
		return "The operator has not reported on the last change, and may not be running. " +
			check + "\nBefore the change: " + echo.Status.Message
	}
	return echo.Status.Message
}

// add adds the Echo's objects and their latest events, except for events that repeat the report's message.
func (r *report) add(objects []object, events []corev1.Event) {
	for i := range objects {
		o := &objects[i]
		r.Objects = append(r.Objects, row{Kind: o.kind, Name: o.Metadata.Name, Owner: o.owner, Ready: o.cells["Ready"], Status: o.cells["Status"],
			Restarts: o.cells["Restarts"], Node: o.cells["Node"], Created: o.Metadata.CreationTimestamp, lines: o.lines})
	}
	events = slices.DeleteFunc(events, func(e corev1.Event) bool { return e.Message != "" && strings.Contains(r.Message, e.Message) })
	for _, e := range lastOf(events, objects) {
		r.Warnings = append(r.Warnings,
			warning{metav1.NewTime(lastSeen(e)), e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name, e.Reason, oneLine(e.Message)})
	}
}

func (r report) replicas() string { return fmt.Sprintf("%d/%d", r.ReadyReplicas, r.DesiredReplicas) }

func (r report) writeText(out io.Writer) error {
	conditions := [][]string{{"\nCONDITION", "STATUS", "REASON", "SINCE"}}
	for _, c := range r.Conditions {
		conditions = append(conditions, []string{c.Type, string(c.Status), c.Reason, age(c.Since)})
	}
	objects := [][]string{{"\nOBJECT", "READY", "STATUS", "RESTARTS", "NODE", "AGE"}}
	for _, o := range r.Objects {
		objects = append(objects, []string{o.lines + o.Kind + "/" + o.Name, o.Ready, o.Status, o.Restarts, o.Node, age(o.Created)})
	}
	nodes := [][]string{{"\nNODE", "PROBLEMS"}}
	for _, node := range r.NodeProblems {
		nodes = append(nodes, []string{node.Name, strings.Join(node.Problems, ", ")})
	}
	warnings := [][]string{{"\nLAST SEEN", "OBJECT", "WARNING", "MESSAGE"}}
	for _, w := range r.Warnings {
		warnings = append(warnings, []string{age(w.LastSeen), w.Object, w.Reason, w.Message})
	}
	lines := strings.Split(r.Message, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	_, err := fmt.Fprintf(out, "Echo %s/%s: %s, %s ready\n%s\n", r.Namespace, r.Name, printable(r.Phase), r.replicas(),
		strings.Join(lines, "\n"))
	return cmp.Or(err, printTable(out, conditions), printTable(out, objects), printTable(out, nodes), printTable(out, warnings))
}

type reports struct {
	Items []report `json:"items"`
}

func (all reports) writeText(out io.Writer) error {
	rows := [][]string{{"NAMESPACE", "NAME", "READY", "PHASE", "MESSAGE"}}
	for _, r := range all.Items {
		rows = append(rows, []string{r.Namespace, r.Name, r.replicas(), r.Phase, oneLine(r.Message)})
	}
	return printTable(out, rows)
}

// write writes a report as text if the format is empty, and as JSON otherwise.
func write(out io.Writer, format string, shown interface{ writeText(out io.Writer) error }) error {
	if format == "" {
		return shown.writeText(out)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "    ")
	return encoder.Encode(shown)
}

func age(t metav1.Time) string { return duration.HumanDuration(time.Since(t.Time)) }

// lastOf returns at most five events about the objects, starting with the latest.
func lastOf(events []corev1.Event, objects []object) []corev1.Event {
	events = slices.DeleteFunc(events, func(e corev1.Event) bool { return !contains(objects, e.InvolvedObject.UID) })
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return lastSeen(b).Compare(lastSeen(a)) })
	return events[:min(len(events), 5)]
}

// lastSeen returns the time at which an event last occurred. The API version that the sender uses determines which field contains the time.
func lastSeen(e corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time)
}

// pathOf returns the path of a kind in the Kubernetes API. Kinds in the core group use the legacy path.
func pathOf(kind kinds.Kind) string {
	if kind.Group == "" {
		return "api/" + kind.Version
	}
	return "apis/" + kind.Group + "/" + kind.Version
}

type object struct {
	Metadata           metav1.ObjectMeta
	kind, owner, lines string            // lines connects the object with its owner
	cells              map[string]string // the columns that kubectl shows
}

// objects returns the objects with an Echo's labels, and the errors for the kinds that cannot be read.
func (c *cluster) objects(ctx context.Context, echo string) (all []object, problems []error) {
	selector := "app.kubernetes.io/instance=" + echo + ",app.kubernetes.io/managed-by=echo-operator"
	shown := append(kinds.Table(), kinds.Kind{Version: "v1", Kind: "Pod", Resource: "pods"}, // Kubernetes creates the pods and ReplicaSets
		kinds.Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet", Resource: "replicasets"})
	slices.SortFunc(shown, func(a, b kinds.Kind) int { return strings.Compare(a.Kind, b.Kind) })
	for _, kind := range shown {
		var table struct {
			metav1.Table          // each row includes the metadata of its object
			Items        []object // from a server without tables
		}
		request := c.from(pathOf(kind), kind.Resource).Param("labelSelector", selector).SetHeader("Accept",
			"application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
		err := read(ctx, request, &table)
		incomplete := len(table.Items) > 0
		for _, o := range table.Items {
			o.kind = kind.Kind
			all = append(all, o)
		}
		for _, row := range table.Rows {
			o := object{kind: kind.Kind, cells: map[string]string{}}
			err = cmp.Or(err, json.Unmarshal(row.Object.Raw, &o))
			incomplete = incomplete || len(row.Cells) < len(table.ColumnDefinitions)
			for i, column := range table.ColumnDefinitions[:min(len(table.ColumnDefinitions), len(row.Cells))] {
				o.cells[column.Name] = fmt.Sprint(row.Cells[i])
			}
			all = append(all, o)
		}
		if incomplete {
			err = cmp.Or(err, fmt.Errorf("the server sends no complete table of %s", kind.Resource))
		}
		if !apierrors.IsNotFound(err) && (!apierrors.IsForbidden(err) || c.serves(ctx, kind)) { // not every cluster serves all kinds
			problems = append(problems, err)
		}
	}
	return all, problems
}

// serves reports whether the cluster serves a kind, or may serve it. A request for a kind that is not served is forbidden if the user lacks
// the permission, because the API server checks permissions first. All users may read the list of served kinds.
func (c *cluster) serves(ctx context.Context, kind kinds.Kind) bool {
	list := metav1.APIResourceList{}
	if err := read(ctx, c.Get().AbsPath(pathOf(kind)), &list); err != nil {
		return !apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == kind.Resource })
}

// tree returns an Echo and its objects. Each object follows its owner. tree omits objects that have the Echo's labels but another owner,
// and ReplicaSets without pods, such as ReplicaSets of earlier revisions. The numbers in a ReplicaSet's status exclude terminating pods.
func tree(echo object, objects []object) []object {
	owned, owners := map[types.UID][]object{}, map[types.UID]bool{}
	for _, o := range objects {
		if owner := metav1.GetControllerOfNoCopy(&o.Metadata); owner != nil {
			owners[owner.UID] = true
		}
	}
	for _, o := range objects {
		owner := metav1.GetControllerOfNoCopy(&o.Metadata)
		if owner == nil || o.cells["Desired"] == "0" && o.cells["Current"] == "0" && !owners[o.Metadata.UID] {
			continue
		}
		parent := owner.UID
		if owner.Kind != "Echo" && !contains(objects, parent) { // the parent may be unreadable, or may be the pod that has a companion
			parent = echo.Metadata.UID
		}
		owned[parent] = append(owned[parent], o)
	}
	return append([]object{echo}, branches(owned, &echo, "")...)
}

func contains(all []object, uid types.UID) bool {
	return slices.ContainsFunc(all, func(o object) bool { return o.Metadata.UID == uid })
}

// branches returns the objects below an owner in the tree. Each object's lines begin with the given lines of the levels above.
func branches(owned map[types.UID][]object, owner *object, lines string) (all []object) {
	for i, o := range owned[owner.Metadata.UID] {
		here, below := "├─", "│ "
		if i == len(owned[owner.Metadata.UID])-1 {
			here, below = "└─", "  "
		}
		o.owner, o.lines = owner.kind+"/"+owner.Metadata.Name, lines+here
		all = append(append(all, o), branches(owned, &o, lines+below)...)
	}
	return all
}
