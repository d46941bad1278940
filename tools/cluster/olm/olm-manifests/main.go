// olm-manifests renders the Helm chart in OLM's module, as `helm template` does. It uses only the template engine, which is a small part of
// Helm.
//
// usage: olm-manifests MODULE VERSION FOLDER <VALUES
//
// MODULE is the folder with OLM's module. The CustomResourceDefinitions are written to FOLDER/crds, all other objects to FOLDER/templates.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "olm-manifests: "+err.Error())
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return errors.New("usage: olm-manifests MODULE VERSION FOLDER <VALUES")
	}
	module, version, folder := arguments[0], arguments[1], arguments[2]
	olm, err := load(filepath.Join(module, "deploy", "chart"), version)
	if err != nil {
		return err
	}
	values, err := readValues(filepath.Join(module, "deploy", "upstream", "values.yaml"), os.Stdin)
	if err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: "olm", Namespace: "olm", Revision: 1, IsInstall: true}
	values, err = chartutil.ToRenderValues(olm, values, release, nil)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(olm, values)
	if err != nil {
		return err
	}
	return writeAll(olm, rendered, folder)
}

// load reads the chart and sets its version. It omits the OperatorHub.io CatalogSource, because the test cluster cannot pull its image.
func load(folder, version string) (*chart.Chart, error) {
	var files []*loader.BufferedFile
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_17-upstream-operators.catalogsource.yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if name == "Chart.yaml" {
			text = regexp.MustCompile(`(?m)^version:.*`).ReplaceAll(text, []byte("version: "+strings.TrimPrefix(version, "v")))
		}
		files = append(files, &loader.BufferedFile{Name: filepath.ToSlash(name), Data: text})
		return err
	})
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
}

// readValues returns the values in a file, overridden by those that it reads from in.
func readValues(file string, in io.Reader) (chartutil.Values, error) {
	base, err := chartutil.ReadValuesFile(file)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	values, err := chartutil.ReadValues(text)
	if err != nil {
		return nil, err
	}
	return chartutil.MergeTables(values, base), nil
}

func writeAll(olm *chart.Chart, rendered map[string]string, folder string) error {
	for _, crd := range olm.CRDObjects() {
		if err := write(filepath.Join(folder, crd.Name), string(crd.File.Data)); err != nil {
			return err
		}
	}
	for name, text := range rendered {
		_, name, _ = strings.Cut(name, "/") // the chart's name
		if strings.HasPrefix(filepath.Base(name), "_") || strings.TrimSpace(text) == "" {
			continue
		}
		if err := write(filepath.Join(folder, name), text); err != nil {
			return err
		}
	}
	return nil
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
