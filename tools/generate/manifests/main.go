// Manifests completes manifests that other programs generate, and generates manifests from others. It writes the keys of mappings in
// alphabetical order.
//
// usage: manifests crd FILE [-]FIELD...
//
//	manifests bundle CSV BASE ICON DESCRIPTORS [MUST_GATHER]
//	manifests installer BUNDLE EXTENSION NAMESPACE
//	manifests dashboard FILE
//
// The function of each command describes it and its arguments.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manifests: "+err.Error())
		os.Exit(1)
	}
}

func run(out io.Writer, arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: manifests crd|bundle|installer|dashboard FILE [ARGUMENT...]")
	}
	command, file, rest := arguments[0], arguments[1], arguments[2:]
	switch {
	case command == "crd" && len(rest) > 0:
		return finishCRD(file, rest)
	case command == "bundle" && (len(rest) == 3 || len(rest) == 4):
		return finishBundle(file, rest[0], rest[1], rest[2], rest[3:])
	case command == "installer" && len(rest) == 2:
		return printInstaller(out, file, rest[0], rest[1])
	case command == "dashboard" && len(rest) == 0:
		return printDashboard(out, file)
	}
	return fmt.Errorf("unknown command %q, or wrong number of arguments", command)
}

// object is a mapping in YAML or JSON.
type object = map[string]any

// at returns the value at a path of keys, or the zero value if there is no value of the type.
func at[T any](value any, path ...string) T {
	for _, key := range path {
		mapping, _ := value.(object)
		value = mapping[key]
	}
	found, _ := value.(T)
	return found
}

// list returns the objects in the list at a path of keys.
func list(value any, path ...string) []object {
	var all []object
	for _, item := range at[[]any](value, path...) {
		all = append(all, at[object](item))
	}
	return all
}

func read[T any](file string) (content T, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return content, err
	}
	if err := yaml.Unmarshal(text, &content); err != nil {
		return content, fmt.Errorf("%s: %w", file, err)
	}
	return content, nil
}

func write(file string, content object) error {
	text, err := encode(content)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o600) // the mode of an existing file stays unchanged
}

func encode(content object) (string, error) {
	text, err := yaml.MarshalWithOptions(content, &yaml.EncoderOptions{SeqIndent: yaml.CompactSequenceStyle})
	return string(text), err
}
