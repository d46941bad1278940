package pathcheck

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// flagRow contains a value of a flag that is not the default, and why invalid values are rejected.
type flagRow struct {
	usual   string
	refused map[string]string
}

func flagRows(t *testing.T) map[string]flagRow {
	t.Helper()
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	a, b := echotest.NewAuthority(t, "a"), echotest.NewAuthority(t, "b")
	leaf := a.Issue(t, "leaf")
	return map[string]flagRow{
		"address": {"192.0.2.1:81", map[string]string{"192.0.2.1:81\n": "not the address of a server",
			"http://192.0.2.1": "not the address of a server", "192.0.2.1:65536": "not the address of a server"}},
		"source": {"192.0.2.1", map[string]string{"192.0.2.1\n": "not an IP address without a port",
			"192.0.2.1:80": "not an IP address without a port", "192.0.2.0/24": "not an IP address without a port"}},
		"name": {"shop/web", map[string]string{"shop/web\n": "not NAMESPACE/NAME", "shop/web/": "not NAMESPACE/NAME",
			"echo/shop/web": "not NAMESPACE/NAME", "Shop/Web": "not NAMESPACE/NAME"}},
		"groups":      {"body,tls", nil},
		"ca-file":     {write(a.PEM), map[string]string{write(""): "no PEM certificate", write(a.PEM + b.PEM[:200]): "1 of its 2 blocks are not PEM"}},
		"header":      {"X-A: b", map[string]string{"X-A": "is not a header"}},
		"header-file": {write("X-A: b\n"), map[string]string{write(""): "has no header", write("# X-A: b"): "has no header"}},
		"cert":        {write(leaf.Certificate + leaf.Key), map[string]string{write(a.PEM + leaf.Certificate + leaf.Key): "does not match"}},
		"key":         {"", map[string]string{write(leaf.Key): "this flag requires --cert"}},
		"output":      {"json", map[string]string{"JSON": "not text, json, html, or expect"}},
		"deadline":    {"3m", map[string]string{"180": "must be a duration like", "-1s": "must be longer than 0s"}},
		"expect":      {"body.max>=10Mi", map[string]string{"body.max=>=10Mi": "use the operator AtLeast", "body.max>=10MB": "whole number"}},
	}
}

// parseCommand returns the options from a command line, and the name of the output format.
func parseCommand(name, text string) (*Options, string, error) {
	var c Command
	flags := pflag.NewFlagSet("pathcheck", pflag.ContinueOnError)
	c.Flags(flags)
	if err := flags.Parse([]string{"--" + name + "=" + text}); err != nil {
		return nil, "", err
	}
	options, err := c.options("http://a.example", "dev")
	return options, c.output, err
}

// TestCommand_flags checks that each flag has an effect, and that its invalid values are rejected with a reason.
func TestCommand_flags(t *testing.T) {
	flags, rows := pflag.NewFlagSet("pathcheck", pflag.ContinueOnError), flagRows(t)
	(&Command{}).Flags(flags)
	defaults, defaultOutput, _ := parseCommand("output", "text")
	flags.VisitAll(func(f *pflag.Flag) {
		row, ok := rows[f.Name]
		if !ok {
			t.Errorf("--%s has no row", f.Name)
		}
		if options, output, err := parseCommand(f.Name, row.usual); err != nil ||
			row.usual != "" && output == defaultOutput && reflect.DeepEqual(options, defaults) {
			t.Errorf("--%s: %q has no effect: %v", f.Name, row.usual, err)
		}
		for text, why := range row.refused {
			if _, _, err := parseCommand(f.Name, text); err == nil || !strings.Contains(err.Error(), "--"+f.Name) || !strings.Contains(err.Error(), why) {
				t.Errorf("--%s: %q gives %v, want %q", f.Name, text, err, why)
			}
		}
	})
}
