package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// printDashboard prints a Grafana dashboard as a ConfigMap for the OpenShift console, which selects ConfigMaps by namespace and label.
func printDashboard(out io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var dashboard object
	if err := json.Unmarshal(text, &dashboard); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, panel := range list(dashboard, "panels") {
		if err := convert(panel); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	converted, err := json.MarshalIndent(dashboard, "", " ")
	if err != nil {
		return err
	}
	key := filepath.Base(file)
	name := strings.TrimSuffix(key, filepath.Ext(key))
	labels := object{"console.openshift.io/dashboard": "true", "app.kubernetes.io/name": name}
	manifest, err := encode(object{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": object{"name": "dashboard-" + name, "namespace": "openshift-config-managed", "labels": labels},
		"data":     object{key: string(converted) + "\n"},
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, "# Made by `make manifests` for the OpenShift console.\n"+manifest)
	return err
}

// convert sets the type and the fields of a panel to those that the console reads. The console shows only the panel types that Grafana had
// before version 8, and shows nothing for other types.
func convert(panel object) error {
	unit := at[string](panel, "fieldConfig", "defaults", "unit")
	if unit == "" {
		unit = "none"
	}
	switch panel["type"] {
	case "row":
	case "stat":
		panel["type"], panel["format"] = "singlestat", unit
	case "timeseries":
		panel["type"], panel["yaxes"] = "graph", []any{object{"format": unit}}
	case "table":
		panel["styles"] = []any{
			object{"pattern": "echo_namespace", "alias": "Namespace"},
			object{"pattern": "echo", "alias": "Echo"},
			object{"pattern": "reason", "alias": "Reason"},
			object{"pattern": "Value", "alias": "For", "unit": unit},
			object{"pattern": "Time", "type": "hidden"},
		}
	default:
		return fmt.Errorf("the console cannot show the panel %v, because its type is %v", panel["title"], panel["type"])
	}
	delete(panel, "datasource") // the console uses only one Prometheus
	for _, target := range list(panel, "targets") {
		delete(target, "datasource")
	}
	return nil
}
