// console-dashboard prints a Grafana dashboard as a ConfigMap for the OpenShift console. The console shows only the panel types that
// Grafana had before version 8: singlestat instead of stat, and graph instead of timeseries.
//
// usage: console-dashboard FILE
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "console-dashboard: "+err.Error())
		os.Exit(1)
	}
}

func run(out io.Writer, arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("give the file of a dashboard")
	}
	text, err := os.ReadFile(arguments[0])
	if err != nil {
		return err
	}
	dashboard := map[string]any{}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	panels, _ := dashboard["panels"].([]any)
	if len(panels) == 0 {
		return fmt.Errorf("%s: there are no panels", arguments[0])
	}
	for _, panel := range panels {
		if panel, ok := panel.(map[string]any); ok {
			convert(panel)
		}
	}
	converted, err := json.MarshalIndent(dashboard, "", " ")
	if err != nil {
		return err
	}
	file := filepath.Base(arguments[0])
	return print(out, strings.TrimSuffix(file, filepath.Ext(file)), file, string(converted)+"\n")
}

// convert sets the type and the fields of a panel to those that the console reads.
func convert(panel map[string]any) {
	unit := unitOf(panel)
	switch panel["type"] {
	case "stat":
		panel["type"], panel["format"] = "singlestat", unit
	case "timeseries":
		panel["type"], panel["yaxes"] = "graph", []any{map[string]any{"format": unit}}
	case "table":
		panel["styles"] = []any{
			map[string]any{"pattern": "echo_namespace", "alias": "Namespace"},
			map[string]any{"pattern": "echo", "alias": "Echo"},
			map[string]any{"pattern": "reason", "alias": "Reason"},
			map[string]any{"pattern": "Value", "alias": "For", "unit": unit},
			map[string]any{"pattern": "Time", "type": "hidden"},
		}
	}
	delete(panel, "datasource") // the console uses only one Prometheus
	targets, _ := panel["targets"].([]any)
	for _, target := range targets {
		if target, ok := target.(map[string]any); ok {
			delete(target, "datasource")
		}
	}
}

// unitOf returns the unit of a panel's values. If the panel specifies no unit, the values are plain numbers.
func unitOf(panel map[string]any) string {
	config, _ := panel["fieldConfig"].(map[string]any)
	defaults, _ := config["defaults"].(map[string]any)
	if unit, ok := defaults["unit"].(string); ok {
		return unit
	}
	return "none"
}

// print writes the ConfigMap as YAML. The console selects dashboard ConfigMaps by namespace and label.
func print(out io.Writer, name, file, content string) error {
	text, err := yaml.MarshalWithOptions(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "dashboard-" + name, "namespace": "openshift-config-managed",
			"labels": map[string]any{"console.openshift.io/dashboard": "true", "app.kubernetes.io/name": name},
		},
		"data": map[string]any{file: content},
	}, &yaml.EncoderOptions{SeqIndent: yaml.CompactSequenceStyle})
	if err != nil {
		return err
	}
	_, err = out.Write(append([]byte("# Made by `make manifests` for the OpenShift console.\n"), text...))
	return err
}
