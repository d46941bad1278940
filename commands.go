package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/echo-operator/echo-operator/watch"
)

//go:embed config/crd/bases/example.com_echoes.yaml
var crd string

// program is what the commands have in common: where they read settings, and where they write to.
type program struct {
	getenv         func(string) string
	stdout, stderr io.Writer
}

// command is one thing that the program can be asked for.
type command struct {
	run   func(arguments []string) error
	usage func() string
}

// usageError is a command line that makes no sense. Usage is shown with it, and the exit code tells it from a failure.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// execute does what the command line asks for, and returns the exit code.
func (p program) execute(arguments []string) int {
	if len(arguments) > 0 && arguments[0] == "help" {
		arguments = append(arguments[1:], "--help")
	}
	chosen, rest := p.choose(arguments)
	err := chosen.run(rest)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(p.stdout, chosen.usage())
		return 0
	case errors.As(err, new(usageError)):
		_, _ = fmt.Fprintf(p.stderr, "echo-operator: %v\n\n%s", err, chosen.usage())
		return 2
	default:
		_, _ = fmt.Fprintf(p.stderr, "echo-operator: %v\n", err)
		return 1
	}
}

// choose finds the command and what is left for it. Without a command the program is the operator.
func (p program) choose(arguments []string) (chosen command, rest []string) {
	operator := command{p.operate, func() string { return usage() + operatorUsage(p.getenv) }}
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "-") {
		return operator, arguments
	}
	switch name := arguments[0]; name {
	case "watch":
		return command{p.watch, watch.Usage}, arguments[1:]
	case "crd":
		return p.printer(crd), arguments[1:]
	case "version":
		return p.printer(fmt.Sprintf("echo-operator %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)), arguments[1:]
	default:
		operator.run = func([]string) error { return usageError{fmt.Errorf("there is no command %q", name)} }
		return operator, arguments
	}
}

func (p program) operate(arguments []string) error {
	options, err := parseOptions(arguments, p.getenv)
	if err != nil {
		return err
	}
	return run(ctrl.SetupSignalHandler(), options)
}

// watch prints what happens in the cluster until it is told to stop.
func (p program) watch(arguments []string) error {
	options, err := watch.ParseOptions(arguments)
	if errors.Is(err, pflag.ErrHelp) {
		return flag.ErrHelp
	}
	if err != nil {
		return usageError{err}
	}
	// What client-go and controller-runtime log beside the errors that are printed would only be in between.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	ctx := ctrl.SetupSignalHandler()
	cluster, err := findCluster(ctx, options.API())
	if err != nil {
		return err
	}
	return watch.Run(ctx, cluster, options, p.stdout, p.stderr)
}

// printer is a command that prints a text and takes no arguments.
func (p program) printer(text string) command {
	return command{
		usage: usage,
		run: func(arguments []string) error {
			if len(arguments) > 0 && (arguments[0] == "--help" || arguments[0] == "-h") {
				return flag.ErrHelp
			}
			if len(arguments) > 0 {
				return usageError{fmt.Errorf("unexpected argument %q", arguments[0])}
			}
			_, err := io.WriteString(p.stdout, text)
			return err
		},
	}
}

// usage lists the commands.
func usage() string {
	return `usage: manager [FLAGS]                                        run the operator
       manager watch pods|nodes|deployments|echoes [FLAGS]    print what happens to them
       manager crd                                            print the CustomResourceDefinition of Echoes
       manager version                                        print the version
       manager help [COMMAND]                                 print this, or what a command takes
`
}
