package kubectlecho

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func newStatus(flags *genericclioptions.ConfigFlags) *cobra.Command {
	all, format := false, ""
	command := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show what is wrong with Echoes, and what to do",
		Long: `Show what is wrong with an Echo and what to do, with its conditions, its objects, problems with its nodes, and the last warnings.
Without a name, list Echoes, starting with the ones that are not Ready.
The exit code is 0 if all Echoes shown are Ready, 1 if an Echo is not Ready, and 2 for errors.`,
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
	return yes(!slices.ContainsFunc(all.Items, func(r report) bool { return !r.Ready }))
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
	return yes(r.Ready)
}

// isReady reports whether an Echo is Ready with its current spec.
func isReady(echo *v1.Echo) bool {
	return meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionReady) &&
		echo.Status.ObservedGeneration == echo.Generation && echo.DeletionTimestamp.IsZero()
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
