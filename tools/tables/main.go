// Tables writes the files that are generated from the project's tables: the kinds and the rules in internal/objects, pathcheck's groups
// and facts, the alerts in internal/telemetry, and the dashboard's panels in config/grafana.
//
// usage: tables      (from the root of the project)
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := writeFiles("."); err != nil {
		fmt.Fprintln(os.Stderr, "tables: "+err.Error())
		os.Exit(1)
	}
}
