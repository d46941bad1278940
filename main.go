// The Echo Operator runs HTTP echo servers for Echo objects.
package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/internal/watch"
)

// version is set by the linker.
var version = "dev"

//go:embed config/crd/bases/example.com_echoes.yaml
var crd string

func main() {
	os.Exit(execute(os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit code: 0 for success, 1 for a failure, and 2 for an invalid command line.
func execute(arguments []string, getenv func(string) string, stdout, stderr io.Writer) int {
	root := newRoot(getenv)
	root.AddCommand(newWatch(), newPrint("crd", "Print the CustomResourceDefinition of Echoes", crd),
		newPrint("version", "Print the version", versionLine()))
	root.SetHelpCommand(newHelp())
	root.SetArgs(arguments)
	root.SetOut(stdout)
	root.SetErr(stderr)
	command, err := root.ExecuteC()
	if err == nil {
		return 0
	}
	code := 1
	if errors.As(err, new(*process.UsageError)) {
		code = 2
		_, _ = fmt.Fprintln(stderr, command.UsageString()) // before the error, so that the error remains visible
	}
	_, _ = fmt.Fprintf(stderr, "echo-operator: %v\n", err)
	return code
}

func newRoot(getenv func(string) string) *cobra.Command {
	options := operator.Options{Version: version, Metrics: metrics.Registry}
	root := &cobra.Command{
		Use:               "manager",
		Short:             "Run the Echo Operator",
		Long:              "Run the Echo Operator against the cluster in KUBECONFIG, or against the cluster that it runs in.",
		Version:           version,
		Args:              noArguments,
		SilenceErrors:     true, // reported by execute
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(*cobra.Command, []string) error {
			if err := options.Complete(); err != nil {
				return err
			}
			return operator.Run(ctrl.SetupSignalHandler(), options)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &process.UsageError{Err: err} })
	root.SetVersionTemplate(versionLine())
	options.AddFlags(root.Flags(), getenv)
	root.Flags().SortFlags = false
	return root
}

func newWatch() *cobra.Command {
	options := watch.Options{}
	command := &cobra.Command{
		Use:   "watch pods|nodes|deployments|echoes",
		Short: "Print changes to pods, nodes, deployments, or echoes",
		Long: "Print objects that are added, updated, or deleted in the cluster from KUBECONFIG, or in the cluster that the program runs in, " +
			"until interrupted.",
		Args: cobra.ArbitraryArgs, // checked by Complete
		RunE: func(c *cobra.Command, arguments []string) error {
			if err := options.Complete(arguments, c.Flags()); err != nil {
				return &process.UsageError{Err: err}
			}
			// The command prints errors itself. Log output from the libraries would only be noise.
			klog.SetLogger(logr.Discard())
			ctrl.SetLogger(logr.Discard())
			ctx := ctrl.SetupSignalHandler()
			cluster, err := operator.FindCluster(ctx, version, options.API)
			if err != nil {
				return err
			}
			return watch.Run(ctx, cluster, options, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	options.AddFlags(command.Flags())
	return command
}

func versionLine() string { return process.Version("echo-operator", version) }

// newHelp returns the command that prints a command's help. It replaces cobra's, which prints manager's help for unknown commands.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, arguments []string) error {
			command, rest, err := c.Root().Find(arguments)
			if err == nil && !command.HasParent() {
				err = noArguments(command, rest)
			}
			if err != nil {
				return err
			}
			command.InitDefaultHelpFlag() // shows --help among the flags
			return command.Help()
		},
	}
}

// newPrint returns a command that prints a text, and returns the error that cobra's own printing would hide.
func newPrint(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Args: noArguments, RunE: func(c *cobra.Command, _ []string) error {
		_, err := io.WriteString(c.OutOrStdout(), text)
		return err
	}}
}

func noArguments(c *cobra.Command, arguments []string) error {
	if err := cobra.NoArgs(c, arguments); err != nil {
		return &process.UsageError{Err: err}
	}
	return nil
}
