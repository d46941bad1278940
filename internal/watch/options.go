package watch

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Options select the objects to watch and the output format.
type Options struct {
	kind      kind
	namespace string // empty for all
	selector  string
	output    string // json, or empty for text
}

// API returns the API group and version that the cluster must serve.
func (o Options) API() schema.GroupVersion { return o.kind.resource.GroupVersion() }

// AddFlags adds the flags of the command.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace to watch; defaults to all")
	flags.StringVarP(&o.selector, "selector", "l", "", "label selector, such as app=web,tier!=cache")
	flags.StringVarP(&o.output, "output", "o", "", "output format: json prints one JSON object per line; defaults to text")
}

// Complete reads the command's arguments after the flags have been parsed. Its errors name the problem and the valid values.
func (o *Options) Complete(arguments []string, flags *pflag.FlagSet) error {
	var err error
	if o.kind, err = kindOf(arguments); err != nil {
		return err
	}
	if flags.Changed("namespace") {
		if err := checkNamespace(o.kind, o.namespace); err != nil {
			return err
		}
	}
	if _, err := labels.Parse(o.selector); err != nil {
		return fmt.Errorf("--selector: %q is not a valid label selector, such as app=web,tier!=cache (%w)", o.selector, err)
	}
	if flags.Changed("output") && o.output != "json" {
		return fmt.Errorf("--output: %q is not a known format: use json, or omit the flag for text", o.output)
	}
	return nil
}

func checkNamespace(of kind, namespace string) error {
	if !of.namespaced {
		return errors.New("--namespace: " + of.name + " are not namespaced: omit the flag")
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("--namespace: %q is not a valid namespace name: %s", namespace, problems[0])
	}
	return nil
}
