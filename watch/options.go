package watch

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Options are what is watched and how it is printed.
type Options struct {
	kind      kind
	namespace string // empty: all
	selector  string
	json      bool
}

// API is the API that the cluster must have.
func (o Options) API() schema.GroupVersion { return o.kind.resource.GroupVersion() }

// ParseOptions reads the arguments of the command. An error says which is wrong and what would be right; it is pflag.ErrHelp
// if help is asked for.
func ParseOptions(arguments []string) (Options, error) {
	o, output := Options{}, ""
	flags := o.flags(&output)
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	var err error
	if o.kind, err = kindOf(flags.Args()); err != nil {
		return o, err
	}
	if flags.Changed("namespace") {
		if err := checkNamespace(o.kind, o.namespace); err != nil {
			return o, err
		}
	}
	if _, err := labels.Parse(o.selector); err != nil {
		return o, fmt.Errorf("--selector: %q is not a label selector such as app=web,tier!=cache (%w)", o.selector, err)
	}
	if flags.Changed("output") && output != "json" {
		return o, fmt.Errorf("--output: %q is not a format: there is json, and without the flag lines for people", output)
	}
	o.json = output == "json"
	return o, nil
}

// Usage is the command's help.
func Usage() string {
	var output string
	flags := new(Options).flags(&output)
	return "usage: manager watch " + kindNames("|") + " [FLAGS]\n\n" +
		"Prints what is added, updated and deleted in the cluster of KUBECONFIG, or in the one that it runs in.\n\nflags:\n" + flags.FlagUsages()
}

func (o *Options) flags(output *string) *pflag.FlagSet {
	flags := pflag.NewFlagSet("watch", pflag.ContinueOnError)
	flags.SetOutput(io.Discard) // what is wrong is said once, by whoever asked
	flags.Usage = func() {}
	flags.StringVarP(&o.namespace, "namespace", "n", "", "the namespace to watch; all by default")
	flags.StringVarP(&o.selector, "selector", "l", "", "the labels of what to watch, such as app=web,tier!=cache")
	flags.StringVarP(output, "output", "o", "", "json for an object on each line; lines for people by default")
	return flags
}

func checkNamespace(of kind, namespace string) error {
	if !of.namespaced {
		return errors.New("--namespace: " + of.name + " are in no namespace: leave it out")
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("--namespace: %q is not the name of a namespace: %s", namespace, problems[0])
	}
	return nil
}
