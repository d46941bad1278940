// pathcheck determines what the proxies in the path to an Echo, such as an ingress or a gateway, do to requests and responses. It compares
// the requests that it sends with the requests that the Echo receives.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/pathcheck"
)

// version is set by the linker.
var version = "dev"

const usage = "pathcheck [flags] URL"

func main() {
	process.SetMemoryLimit(os.DirFS("/sys/fs/cgroup"))
	os.Exit(run(process.Interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

// run executes a command line and returns the code of the report, or 2 if an error occurs or the run is interrupted. With
// --verdict-file, run returns 0 whenever it can write the verdict.
func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	var command pathcheck.Command
	flags := pflag.NewFlagSet("pathcheck", pflag.ContinueOnError)
	command.Flags(flags)
	verdictFile := flags.String("verdict-file", "",
		"a `FILE` for a verdict of at most 4,000 bytes, such as /dev/termination-log; the exit code then ignores expectations")
	flags.StringVar(&command.OwnService, "own-service", "",
		"the `URL` of the Echo's Service, queried once if the main URL is silent; the verdict reports which URL was silent")
	err := process.ParseFlags(flags, usage, version, arguments, stdout)
	if errors.Is(err, pflag.ErrHelp) {
		return 0
	}
	if err == nil && flags.NArg() != 1 {
		err = &process.UsageError{Usage: usage, Err: errors.New("one URL is required")}
	}
	var report *pathcheck.Report
	if err == nil {
		report, err = command.Run(ctx, flags.Arg(0), version, stdout)
	}
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = process.ErrInterrupted
	case *verdictFile != "":
		err = os.WriteFile(*verdictFile, report.Verdict(), 0o644)
	default:
		return report.ExitCode()
	}
	if err != nil {
		process.ReportError(stderr, "pathcheck", err)
		return 2
	}
	return 0
}
