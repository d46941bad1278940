package kubectlecho

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/echo-operator/echo-operator/pathcheck"
)

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

// completeEcho returns a function that completes the name of an Echo.
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

// completeGroups completes the last group of facts in a comma-separated list.
func completeGroups(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	all, _ := pathcheck.GroupNames()
	given := typed[:strings.LastIndex(typed, ",")+1]
	for i := range all {
		all[i] = given + all[i]
	}
	return withPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
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
