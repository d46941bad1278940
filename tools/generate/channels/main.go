// channels reads and changes the catalog's channels. In config/catalog/channels.yaml, each channel is a separate YAML document.
//
// usage: channels of FILE VERSION                    print the channels that contain a version, one per line
//
//	channels default FILE                       print the default channel: stable if it exists, otherwise candidate
//	channels open FILE VERSION UNRELEASED CHANNEL...
//	                                            make a version the head of channels. UNRELEASED, unless it is empty, is
//	                                            a version that was never released and is removed from all channels
//	channels release-config FILE VERSION        print the community catalogs' release pipeline configuration
//	                                            for a version: its channels and what it replaces in each
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const (
	pkg = "echo-operator"
	// oldest begins a version range that includes all earlier versions, so that each version can be upgraded directly to a newer version.
	oldest = ">=0.0.1 <"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "channels: "+err.Error())
		os.Exit(1)
	}
}

func run(out io.Writer, arguments []string) error {
	if len(arguments) < 2 {
		return errors.New("usage: channels COMMAND FILE; COMMAND is of, default, open or release-config")
	}
	command, file, rest := arguments[0], arguments[1], arguments[2:]
	all, err := read(file)
	if err != nil {
		return err
	}
	switch {
	case command == "of" && len(rest) == 1:
		for _, c := range having(all, rest[0]) {
			if _, err := fmt.Fprintln(out, c.Name); err != nil {
				return err
			}
		}
		return nil
	case command == "default" && len(rest) == 0:
		_, err := fmt.Fprintln(out, defaultChannel(all))
		return err
	case command == "open" && len(rest) > 2:
		return write(file, open(all, rest[0], rest[1], rest[2:]))
	case command == "release-config" && len(rest) == 1:
		return printReleaseConfig(out, having(all, rest[0]), rest[0])
	}
	return fmt.Errorf("unknown command %q, or wrong number of arguments", command)
}

// channel is a channel in the catalog. The last entry is the channel's head.
type channel struct {
	Schema  string  `yaml:"schema"`
	Package string  `yaml:"package"`
	Name    string  `yaml:"name"`
	Entries []entry `yaml:"entries"`
}

// entry is a version in a channel. `replaces` is the previous version, and `skipRange` contains the older versions that can be upgraded
// directly to this version.
type entry struct {
	Name      string   `yaml:"name"`
	Replaces  string   `yaml:"replaces,omitempty"`
	Skips     []string `yaml:"skips,omitempty"`
	SkipRange string   `yaml:"skipRange"`
}

func bundleName(version string) string { return pkg + ".v" + version }

func (c channel) find(version string) int {
	return slices.IndexFunc(c.Entries, func(e entry) bool { return e.Name == bundleName(version) })
}

// having returns the channels that contain the given version.
func having(all []channel, version string) []channel {
	return slices.DeleteFunc(slices.Clone(all), func(c channel) bool { return c.find(version) < 0 })
}

func defaultChannel(all []channel) string {
	if slices.ContainsFunc(all, func(c channel) bool { return c.Name == "stable" }) {
		return "stable"
	}
	return "candidate"
}

// open makes a version the head of channels and removes an unreleased version.
func open(all []channel, version, unreleased string, names []string) []channel {
	for i := range all {
		if at := all[i].find(unreleased); at >= 0 {
			all[i].Entries = slices.Delete(all[i].Entries, at, at+1)
		}
	}
	for _, name := range names {
		at := slices.IndexFunc(all, func(c channel) bool { return c.Name == name })
		if at < 0 {
			at = len(all)
			all = append(all, channel{Schema: "olm.channel", Package: pkg, Name: name})
		}
		all[at].add(version)
	}
	return slices.DeleteFunc(all, func(c channel) bool { return len(c.Entries) == 0 })
}

func (c *channel) add(version string) {
	if c.find(version) >= 0 {
		return
	}
	next := entry{Name: bundleName(version), SkipRange: oldest + version}
	if len(c.Entries) > 0 {
		next.Replaces = c.Entries[len(c.Entries)-1].Name
	}
	c.Entries = append(c.Entries, next)
}

// releaseConfig is the content of a release-config.yaml file for operator-pipelines. See
// https://redhat-openshift-ecosystem.github.io/operator-pipelines/users/fbc_autorelease/.
type releaseConfig struct {
	CatalogTemplates []templateUpdate `yaml:"catalog_templates"`
}

type templateUpdate struct {
	TemplateName string   `yaml:"template_name"`
	Channels     []string `yaml:"channels"`
	Replaces     string   `yaml:"replaces,omitempty"`
	Skips        []string `yaml:"skips,omitempty"`
	SkipRange    string   `yaml:"skipRange"`
}

func printReleaseConfig(out io.Writer, channels []channel, version string) error {
	if len(channels) == 0 {
		return fmt.Errorf("no channel has version %s", version)
	}
	var config releaseConfig
	for _, c := range channels {
		e := c.Entries[c.find(version)]
		config.CatalogTemplates = append(config.CatalogTemplates, templateUpdate{
			TemplateName: "basic.yaml", Channels: []string{c.Name}, Replaces: e.Replaces, Skips: e.Skips, SkipRange: e.SkipRange,
		})
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, "---\n"+string(text))
	return err
}

func read(file string) ([]channel, error) {
	documents, err := kio.LocalPackageReader{PackagePath: file, OmitReaderAnnotations: true}.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	all := make([]channel, len(documents))
	for i, document := range documents {
		if err := document.YNode().Decode(&all[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return all, nil
}

// write writes the channels and preserves the comment before the first document.
func write(file string, all []channel) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, _, _ := strings.Cut(string(before), "---\n")
	for _, c := range all {
		text, err := yaml.Marshal(c)
		if err != nil {
			return err
		}
		head += "---\n" + string(text)
	}
	return os.WriteFile(file, []byte(head), 0o600)
}
