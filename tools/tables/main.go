// Tables writes the files that are generated from the project's tables: the kinds in internal/children/desired/table.go, pathcheck's groups
// and facts, the alerts in internal/monitoring, and the dashboard's panels in config/grafana.
//
// usage: tables files      writes the files below the current directory, the root of the project
//
//	tables schema | gateway-schema      prints the names that children's types have in the schema of client-go, or of Gateway API
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tables: "+err.Error())
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("usage: tables files | schema | gateway-schema")
	}
	switch arguments[0] {
	case "files":
		return writeFiles(".")
	case "schema", "gateway-schema":
		_, err := fmt.Print(schemaTypes(arguments[0] == "gateway-schema"))
		return err
	default:
		return fmt.Errorf("%q is not an output", arguments[0])
	}
}
