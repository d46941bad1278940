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

const byteOrderMark = "\ufeff"

// commandSpelling is an unusual value for a flag. It means the same as another value, or is rejected with a reason.
type commandSpelling struct{ text, same, refused string }

type commandRow struct {
	usual string
	odd   []commandSpelling
}

// commandSpellings returns a row for each flag. A row contains a usual value that is not the default, and unusual values.
func commandSpellings(t *testing.T) map[string]commandRow {
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
	return map[string]commandRow{
		"address": {"192.0.2.1:81", []commandSpelling{{" 192.0.2.1:81\n", "192.0.2.1:81", ""}, {" ", "", ""},
			{"http://192.0.2.1", "", "not the address of a server"}, {"192.0.2.1:65536", "", "not the address of a server"}}},
		"source": {"192.0.2.1", []commandSpelling{{"::ffff:192.0.2.1", "192.0.2.1", ""}, {" 192.0.2.1 ", "192.0.2.1", ""},
			{"192.0.2.1:80", "", "not an IP address without a port"}, {"192.0.2.0/24", "", "not an IP address without a port"}}},
		"name": {"shop/web", []commandSpelling{{" shop/web\n", "shop/web", ""}, {"shop/web/", "", "not NAMESPACE/NAME"},
			{"echo/shop/web", "", "not NAMESPACE/NAME"}, {"Shop/Web", "", "not NAMESPACE/NAME"}, {"shop/ web", "", "not NAMESPACE/NAME"}}},
		"groups": {"body,tls", []commandSpelling{{"body, tls,", "body,tls", ""}, {" ", "", ""}, {",", "", "names no group"}}},
		"ca-file": {write(a.PEM), []commandSpelling{{write(byteOrderMark + a.PEM), write(a.PEM), ""}, {write(""), "", "no PEM certificate"},
			{write(a.PEM + b.PEM[:200]), "", "1 of its 2 blocks are not PEM"}, {write("  " + a.PEM), "", "1 of its 1 blocks are not PEM"}}},
		"header": {"X-A: b", []commandSpelling{{"X-A:b ", "X-A: b", ""}, {"X-A", "", "is not a header"}}},
		"header-file": {write("X-A: b\n"), []commandSpelling{{write(byteOrderMark + "X-A: b\r\n\r\n"), write("X-A: b"), ""},
			{write(""), "", "has no header"}, {write("# X-A: b"), "", "has no header"}}},
		"cert": {write(leaf.Certificate + leaf.Key), []commandSpelling{{write(a.PEM + leaf.Certificate + leaf.Key), "", "does not match"}}},
		"key":  {"", []commandSpelling{{write(leaf.Key), "", "this flag requires --cert"}}},
		"direct": {"http://192.0.2.1", []commandSpelling{{" http://192.0.2.1 ", "http://192.0.2.1", ""},
			{"http://192.0.2.1:0", "", "not a URL such as"}}},
		"output":   {"json", []commandSpelling{{"JSON", "", "not text, json, html, or expect"}}},
		"deadline": {"3m", []commandSpelling{{"180s", "3m", ""}, {"180", "", "must be a duration like"}, {"-1s", "", "must be longer than 0s"}}},
		"expect": {"client.address=kept", []commandSpelling{{" client.address = kept ", "client.address=kept", ""},
			{"body.max=>=10240Ki", "body.max=>=10240Ki", ""}, {"body.max==>10Mi", "", "write >= or <="},
			{"body.max=>=10MB", "", "neither a number"}}},
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
	if err == nil {
		err = c.checkOutput()
	}
	return options, c.output, err
}

// TestCommand_spellings checks that each flag either interprets an unusual value as intended or rejects it.
func TestCommand_spellings(t *testing.T) {
	flags, rows := pflag.NewFlagSet("pathcheck", pflag.ContinueOnError), commandSpellings(t)
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
		for _, each := range row.odd {
			got, _, err := parseCommand(f.Name, each.text)
			if each.refused != "" {
				if err == nil || !strings.Contains(err.Error(), "--"+f.Name) || !strings.Contains(err.Error(), each.refused) {
					t.Errorf("--%s: %q gives %v, want %q", f.Name, each.text, err, each.refused)
				}
				continue
			}
			if want, _, wantErr := parseCommand(f.Name, each.same); err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("--%s: %q is not the same as %q: %v, %v", f.Name, each.text, each.same, err, wantErr)
			}
		}
	})
}
