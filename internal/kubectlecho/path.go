package kubectlecho

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/echo-operator/echo-operator/pathcheck"
)

// newPath returns the command that examines a path. The command sends no requests to the API server.
func newPath(version string) *cobra.Command {
	checked := pathcheck.Command{}
	command := &cobra.Command{
		Use:   "path URL",
		Short: "Examine what the path to an Echo does to requests",
		Long: `Send requests to a URL that leads to an Echo, and report what an ingress, a gateway, or a proxy in the path does to headers, paths,
bodies, addresses, TLS, and streams. The command sends no further requests unless the first response proves that an Echo responds.
It requires no cluster permissions.
The exit code is 0 if all expectations are met, 1 if an expectation is not met or no Echo responds, and 2 for errors.`,
		Example: `  # Report what the path does
  kubectl echo path https://shop.example.com/

  # Fail unless bodies of 10 MiB arrive, and clients cannot spoof their address
  kubectl echo path https://shop.example.com/ --expect 'body.max=>=10Mi' --expect client.spoofable=no

  # Examine a path that requires a token, with the header Authorization: Bearer ... in a file
  kubectl echo path https://shop.example.com/ --header-file=headers`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, urls []string) error {
			if len(urls) != 1 {
				return usage(c, errors.New("one URL is required"))
			}
			report, err := checked.Run(c.Context(), urls[0], version, c.OutOrStdout())
			if err != nil {
				return usage(c, err)
			}
			return yes(report.OK())
		},
	}
	checked.Flags(command.Flags())
	completeFlag(command, "output", cobra.FixedCompletions(pathcheck.FormatNames(), cobra.ShellCompDirectiveNoFileComp))
	completeFlag(command, "groups", completeGroups)
	return command
}
