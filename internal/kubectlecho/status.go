package kubectlecho

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	all := false
	command := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Say what is wrong with Echoes, and what to do",
		Long: `Say what is wrong with an Echo and what to do, and show its conditions, its objects, problems of its nodes, and the last warnings. Without a
name, list Echoes, those that are not Ready first. The exit code is 0 if all Echoes shown are Ready, 1 if one is not, and 2 for errors.`,
		Example: `  # Say what is wrong with the Echo web, and what to do
  kubectl echo status web

  # List the Echoes of all namespaces
  kubectl echo status -A`,
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) > 1 || len(names) == 1 && all {
				return usage(c, errors.New("at most one name is allowed, and none across all namespaces"))
			}
			cluster, err := connect(flags, all)
			if err != nil {
				return err
			}
			if len(names) == 1 {
				return cluster.describe(c.Context(), names[0], c.OutOrStdout(), c.ErrOrStderr())
			}
			return cluster.list(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	command.Flags().BoolVarP(&all, "all-namespaces", "A", false, "List the Echoes of all namespaces")
	return command
}

// list prints a line for each Echo.
func (c *cluster) list(ctx context.Context, stdout, stderr io.Writer) error {
	list := &v1.EchoList{}
	err := read(ctx, c.from("apis/example.com/v1", "echoes"), list)
	if err == nil && len(list.Items) == 0 {
		_, err = fmt.Fprintln(stderr, "No Echoes found")
	}
	if err != nil || len(list.Items) == 0 {
		return err
	}
	// The API server sorts them by name, and false is less than true.
	slices.SortStableFunc(list.Items, func(a, b v1.Echo) int { return strings.Compare(fmt.Sprint(isReady(&a)), fmt.Sprint(isReady(&b))) })
	rows := [][]string{{"NAMESPACE", "NAME", "READY", "PHASE", "MESSAGE"}}
	for i := range list.Items {
		e := &list.Items[i]
		rows = append(rows, []string{e.Namespace, e.Name, readiness(e), e.Status.Phase, oneLine(message(e))})
	}
	return cmp.Or(printTable(stdout, rows), yes(isReady(&list.Items[0])))
}

// describe prints all that is known about an Echo. What cannot be read is said, and is no failure.
func (c *cluster) describe(ctx context.Context, name string, stdout, stderr io.Writer) error {
	echo, events := &v1.Echo{}, &corev1.EventList{}
	if err := read(ctx, c.from("apis/example.com/v1", "echoes").Name(name), echo); err != nil {
		return err
	}
	self := object{echo.ObjectMeta, "Echo", "",
		map[string]string{"Ready": readiness(echo), "Status": echo.Status.Phase, "Age": age(echo.CreationTimestamp.Time)}}
	objects, problems := c.objects(ctx, name)
	problems = append(problems, read(ctx, c.from("api/v1", "events").Param("fieldSelector", "type=Warning"), events))
	for _, problem := range slices.DeleteFunc(problems, func(err error) bool { return err == nil }) {
		_, _ = fmt.Fprintf(stderr, "warning: not everything is shown: %v\n", problem)
	}
	return cmp.Or(printReport(stdout, echo, tree(self, objects), events.Items), yes(isReady(echo)))
}

func printReport(out io.Writer, echo *v1.Echo, objects []object, events []corev1.Event) error {
	conditions := [][]string{{"\nCONDITION", "STATUS", "REASON", "SINCE"}}
	for _, c := range echo.Status.Conditions {
		conditions = append(conditions, []string{c.Type, string(c.Status), c.Reason, age(c.LastTransitionTime.Time)})
	}
	all := [][]string{{"\nOBJECT", "READY", "STATUS", "RESTARTS", "NODE", "AGE"}}
	for _, o := range objects {
		name := o.lines + o.kind + "/" + o.Metadata.Name
		all = append(all, []string{name, o.cells["Ready"], o.cells["Status"], o.cells["Restarts"], o.cells["Node"], o.cells["Age"]})
	}
	nodes := [][]string{{"\nNODE", "PROBLEMS"}}
	for _, node := range slices.Sorted(maps.Keys(echo.Status.NodeProblems)) {
		nodes = append(nodes, []string{node, strings.Join(echo.Status.NodeProblems[node], ", ")})
	}
	warnings := [][]string{{"\nLAST SEEN", "OBJECT", "WARNING", "MESSAGE"}}
	for _, e := range lastOf(events, objects) {
		warnings = append(warnings, []string{age(lastSeen(e)), e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name, e.Reason, oneLine(e.Message)})
	}
	_, err := fmt.Fprintf(out, "Echo %s/%s: %s, %s ready\n%s\n", echo.Namespace, echo.Name, cmp.Or(echo.Status.Phase, "unknown"),
		readiness(echo), message(echo))
	return cmp.Or(err, printTable(out, conditions), printTable(out, all), printTable(out, nodes), printTable(out, warnings))
}

// isReady reports whether an Echo is Ready as it is specified now.
func isReady(echo *v1.Echo) bool {
	return meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionReady) &&
		echo.Status.ObservedGeneration == echo.Generation && echo.DeletionTimestamp.IsZero()
}

// message returns what is going on with an Echo, and what to do. That the operator does not report, only its clients can say.
func message(echo *v1.Echo) string {
	const check = "Check its pod: kubectl get pods -A -l control-plane=controller-manager"
	ready := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionReady)
	switch {
	case ready == nil:
		return "The operator has not reported a status: it does not run, or does not watch the namespace. " + check
	case echo.Status.ObservedGeneration != echo.Generation:
		return "The operator has not reported on the last change, and may not run. " + check + "\nBefore the change: " + ready.Message
	}
	return ready.Message
}

func readiness(echo *v1.Echo) string {
	return fmt.Sprintf("%d/%d", echo.Status.ReadyReplicas, echo.Spec.DesiredReplicas())
}

func age(t time.Time) string { return duration.HumanDuration(time.Since(t)) }

// shown returns the kinds of objects that an Echo can consist of: what the operator creates, and what Kubernetes makes of it.
func shown() []kinds.Kind {
	all := append(kinds.Table(), kinds.Kind{Version: "v1", Kind: "Pod", Resource: "pods"},
		kinds.Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet", Resource: "replicasets"})
	slices.SortFunc(all, func(a, b kinds.Kind) int { return strings.Compare(a.Kind, b.Kind) })
	return all
}

// pathOf returns the path of the version of a kind. That of kinds without a group is older.
func pathOf(kind kinds.Kind) string {
	if kind.Group == "" {
		return "api/" + kind.Version
	}
	return "apis/" + kind.Group + "/" + kind.Version
}

// object is an object of an Echo.
type object struct {
	Metadata    metav1.ObjectMeta
	kind, lines string            // the lines connect it with its owner
	cells       map[string]string // the columns that kubectl shows
}

// objects returns what has the labels of an Echo, and the errors of the kinds that cannot be read.
func (c *cluster) objects(ctx context.Context, echo string) (all []object, problems []error) {
	selector := "app.kubernetes.io/instance=" + echo + ",app.kubernetes.io/managed-by=echo-operator"
	for _, kind := range shown() {
		table := metav1.Table{} // with the metadata of the object in each row
		request := c.from(pathOf(kind), kind.Resource).Param("labelSelector", selector).SetHeader("Accept",
			"application/json;as=Table;v=v1;g=meta.k8s.io")
		err := read(ctx, request, &table)
		for _, row := range table.Rows {
			o := object{kind: kind.Kind, cells: map[string]string{}}
			err = cmp.Or(err, json.Unmarshal(row.Object.Raw, &o))
			for i, column := range table.ColumnDefinitions {
				o.cells[column.Name] = fmt.Sprint(row.Cells[i])
			}
			all = append(all, o)
		}
		if !apierrors.IsNotFound(err) { // not every cluster serves all kinds
			problems = append(problems, err)
		}
	}
	return all, problems
}

// tree returns an Echo and the objects that belong to it, each after its owner. Objects of others that have its labels are left out, and so
// are ReplicaSets of earlier revisions without pods.
func tree(echo object, objects []object) []object {
	owned := map[types.UID][]object{}
	for _, o := range objects {
		owner := metav1.GetControllerOfNoCopy(&o.Metadata)
		if owner == nil || o.cells["Desired"] == "0" && o.cells["Current"] == "0" {
			continue
		}
		parent := owner.UID
		if owner.Kind != "Echo" && !contains(objects, parent) { // it may not be read, or it is the pod of a companion
			parent = echo.Metadata.UID
		}
		owned[parent] = append(owned[parent], o)
	}
	return append([]object{echo}, branches(owned, echo.Metadata.UID, "")...)
}

func contains(all []object, uid types.UID) bool {
	return slices.ContainsFunc(all, func(o object) bool { return o.Metadata.UID == uid })
}

// branches returns what belongs to an owner. The lines are those that connect what is above it.
func branches(owned map[types.UID][]object, owner types.UID, lines string) (all []object) {
	for i, o := range owned[owner] {
		here, below := "├─", "│ "
		if i == len(owned[owner])-1 {
			here, below = "└─", "  "
		}
		o.lines = lines + here
		all = append(append(all, o), branches(owned, o.Metadata.UID, lines+below)...)
	}
	return all
}

// lastOf returns those events that are about objects, the latest one first, and at most five.
func lastOf(events []corev1.Event, objects []object) []corev1.Event {
	events = slices.DeleteFunc(events, func(e corev1.Event) bool { return !contains(objects, e.InvolvedObject.UID) })
	slices.SortStableFunc(events, func(a, b corev1.Event) int { return lastSeen(b).Compare(lastSeen(a)) })
	return events[:min(len(events), 5)]
}

// lastSeen returns when an event last happened. Which field has the time depends on the version of the API that the sender uses.
func lastSeen(e corev1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Time
	}
	return cmp.Or(e.LastTimestamp.Time, e.EventTime.Time)
}
