// Package kubectlecho implements the kubectl plugin for Echoes.
package kubectlecho

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/echo-operator/echo-operator/internal/process"
)

// exit is the error of a command that exits with a code but prints no message, such as 1 for an Echo that is not Ready.
type exit int

// Error implements error.
func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run runs the plugin with a command line. The first word is the path or name of the program. Run returns the exit code: 0 for yes, 1 for
// no, 2 for errors, such as an invalid command line or the end of ctx, and 3 for an unknown result.
func Run(ctx context.Context, version string, line []string, stdout, stderr io.Writer) int {
	name := calledAs(line[0])
	flags := genericclioptions.NewConfigFlags(true)
	flags.CacheDir = nil // nothing is cached
	root := &cobra.Command{
		Use:         "kubectl-echo",
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Long: "See what is wrong with Echoes, send requests to them, and examine the path to them, with the kubeconfig and the " +
			"permissions that kubectl uses.",
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	flags.AddFlags(root.PersistentFlags())
	completeFlags(root, flags)
	root.AddCommand(newStatus(flags), newTest(flags, version), newPath(version))
	for _, command := range root.Commands() {
		command.Example = strings.ReplaceAll(command.Example, "kubectl echo ", name+" ")
	}
	root.SetFlagErrorFunc(usage)
	root.SetArgs(line[1:])
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate(process.Version("kubectl-echo", version))
	command, err := root.ExecuteContextC(ctx)
	var code exit
	switch {
	case ctx.Err() != nil:
		err = process.ErrInterrupted
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case command == root: // this command runs nothing that can fail, so the command line is invalid
		err = usage(root, err)
	}
	process.ReportError(stderr, "error", err)
	return 2
}

// calledAs returns the command that a user typed to run a program, such as "kubectl echo". To run a plugin, kubectl uses the path at which
// it found the plugin in PATH. In the plugin's name, "-" separates words, and "_" stands for "-".
func calledAs(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	words, isPlugin := strings.CutPrefix(name, "kubectl-")
	if found, err := exec.LookPath(name); !isPlugin || err != nil || found != program {
		return name
	}
	return "kubectl " + strings.NewReplacer("-", " ", "_", "-").Replace(words)
}

func usage(c *cobra.Command, err error) error {
	return &process.UsageError{Usage: c.UseLine() + "   # see '" + c.CommandPath() + " --help'", Err: err}
}

// yes returns an error if the result of a command is negative, and nil otherwise.
func yes(result bool) error { return map[bool]error{false: exit(1)}[result] }

// printTable prints rows of cells in columns, or nothing if there is only a header row.
func printTable(out io.Writer, rows [][]string) error {
	writer := printers.GetNewTabWriter(out)
	for i, row := range rows[:min(len(rows)-1, 1)*len(rows)] {
		for j := range row {
			if i > 0 {
				row[j] = printable(row[j])
			}
		}
		_, _ = fmt.Fprintln(writer, strings.Join(row, "\t")) // Flush returns the error
	}
	return writer.Flush()
}

func oneLine(text string) string { return printable(strings.Join(strings.Fields(text), " ")) }

// printable removes the characters that a terminal would interpret.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

// cluster is the API server that a command line selects.
type cluster struct {
	rest.Interface
	config    *rest.Config
	namespace string // empty for all namespaces
	command   string // the command that called the plugin, as the user typed it
	userAgent string // the user agent in requests to pods
}

func connect(flags *genericclioptions.ConfigFlags, allNamespaces bool) (*cluster, error) {
	config, err := flags.ToRESTConfig()
	namespace, _, invalid := flags.ToRawKubeConfigLoader().Namespace()
	if err := cmp.Or(err, invalid); err != nil {
		return nil, err
	}
	core, err := corev1client.NewForConfig(config)
	return &cluster{Interface: core.RESTClient(), config: config, namespace: map[bool]string{false: namespace}[allNamespaces]}, err
}

func (c *cluster) from(version, resource string) *rest.Request {
	return c.Get().AbsPath(version).Namespace(c.namespace).Resource(resource)
}

func read(ctx context.Context, request *rest.Request, into any) error {
	result := request.Do(ctx)
	err := result.Error()
	if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		err = fmt.Errorf("the cluster does not serve this kind; the Echo Operator may not be installed: %w", err)
	}
	body, noResponse := result.Raw()
	return cmp.Or(err, noResponse, json.Unmarshal(body, into))
}

// completeFlags adds completion to the flags whose values kubectl itself completes.
func completeFlags(command *cobra.Command, flags *genericclioptions.ConfigFlags) {
	completeFlag(command, "namespace", func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		cluster, err := connect(flags, true)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c.Context(), cluster.from("api/v1", "namespaces"), typed), cobra.ShellCompDirectiveNoFileComp
	})
	completeFromConfig := func(flag string, names func(clientcmdapi.Config) []string) {
		completeFlag(command, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			config, _ := flags.ToRawKubeConfigLoader().RawConfig() // an invalid kubeconfig has no names to complete
			return withPrefix(names(config), typed), cobra.ShellCompDirectiveNoFileComp
		})
	}
	completeFromConfig("context", func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) })
	completeFromConfig("cluster", func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) })
	completeFromConfig("user", func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) })
}

func completeFlag(command *cobra.Command, flag string, complete cobra.CompletionFunc) {
	cobra.CheckErr(command.RegisterFlagCompletionFunc(flag, complete))
}

func completeEcho(flags *genericclioptions.ConfigFlags) cobra.CompletionFunc {
	return func(c *cobra.Command, given []string, typed string) ([]string, cobra.ShellCompDirective) {
		all, _ := c.Flags().GetBool("all-namespaces") // all is false for commands without the flag
		cluster, err := connect(flags, false)
		if all || len(given) > 0 || err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names(c.Context(), cluster.from("apis/example.com/v1", "echoes"), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// names returns the names in a list that begin with a prefix. If the request fails, the result is empty, because completion prints no
// errors. The timeout is short, because the shell waits for the response.
func names(ctx context.Context, list *rest.Request, prefix string) []string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	objects, all := metav1.PartialObjectMetadataList{}, []string(nil)
	_ = read(ctx, list.SetHeader("Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), &objects)
	for i := range objects.Items {
		all = append(all, objects.Items[i].Name)
	}
	return withPrefix(all, prefix)
}

func withPrefix(names []string, prefix string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}
