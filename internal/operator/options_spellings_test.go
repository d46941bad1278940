package operator

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
)

// spelling is an unusual way to write the value of a setting. A spelling has the same meaning as another text, or is rejected with a
// reason.
type spelling struct{ text, same, refused string }

// spellings returns, for each flag, a usual value other than the default, and unusual spellings of values.
func spellings() map[string]struct {
	usual string
	odd   []spelling
} {
	type row = struct {
		usual string
		odd   []spelling
	}
	address := []spelling{{text: "", refused: "such as :8443"}, {text: "8443", refused: "such as :8443"},
		{text: ":65536", refused: "such as :8443"},
		{text: "http://:8443", refused: "such as :8443"}, {text: `":8443"`, refused: "such as :8443"}, {text: " 0\n", same: "0"}}
	image := []spelling{{text: "Example.com/echo", same: "Example.com/echo"},
		{text: "example.com:5000/a/b__c:V1@sha256:0a", same: "example.com:5000/a/b__c:V1@sha256:0a"},
		{text: "[::1]:5000/a", same: "[::1]:5000/a"},
		{text: "example.com/Echo:1", refused: "is not an image such as"}, {text: "'example.com/echo:1'", refused: "is not an image such as"},
		{text: "example.com/echo:1 example.com/echo:2", refused: "is not an image such as"},
		{text: "https://example.com/echo", refused: "is not an image such as"}}
	return map[string]row{
		"metrics-bind-address":      {":9443", append(address, spelling{text: ":8081", refused: "is also the address of"})},
		"health-probe-bind-address": {":9081", append(address, spelling{text: ":8443", refused: "is also the address of"})},
		"metrics-cert-path":         {"/certificates", nil},
		"leader-elect":              {"true", []spelling{{text: "TRUE", same: "true"}, {text: "yes", refused: "invalid argument"}}},
		"leader-election-namespace": {"operators", []spelling{{text: "Operators", refused: "not a valid namespace name"},
			{text: "a,b", refused: "not a valid namespace name"}}},
		"watch-namespace": {"a,b", []spelling{{text: "a , b,", same: "a,b"}, {text: "a,b,a", same: "a,b"},
			{text: " , ", refused: "empty for all namespaces"},
			{text: "*", refused: "not a valid namespace name"}, {text: "a b", refused: "not a valid namespace name"},
			{text: `"a"`, refused: "not a valid namespace name"}}},
		"max-replicas":            {"7", []spelling{{text: "+7", same: "7"}, {text: "007", same: "7"}, {text: "7.0", refused: "a whole number from 1"}}},
		"pod-security":            {"restricted", []spelling{{text: "Restricted", refused: "is not privileged, baseline, or restricted"}}},
		"check-urls":              {"any", []spelling{{text: "Any", refused: "is neither own nor any"}}},
		"cluster-service-version": {"echo-operator.v1", nil},
		"echo-server-image":       {"example.com/echo:1", image},
		"pathcheck-image":         {"example.com/echo:1", image},
		"zap-log-level": {"debug", []spelling{{text: "DEBUG", same: "debug"}, {text: "1", same: "debug"},
			{text: "257", refused: "from 1 (debug) to 7"},
			{text: "8", refused: "from 1 (debug) to 7"}, {text: "0", refused: "from 1 (debug) to 7"},
			{text: "warning", refused: "from 1 (debug) to 7"}}},
		"zap-devel":            {"true", []spelling{{text: "yes", refused: "invalid argument"}}},
		"zap-encoder":          {"console", []spelling{{text: "Console", same: "console"}, {text: "text", refused: "invalid argument"}}},
		"zap-stacktrace-level": {"panic", []spelling{{text: "Panic", same: "panic"}, {text: "warn", refused: "invalid argument"}}},
		"zap-time-encoding":    {"rfc3339", []spelling{{text: "RFC3339", same: "rfc3339"}, {text: "unix", refused: "invalid argument"}}},
		"kubeconfig":           {"", nil}, // a controller-runtime flag; the operator does not start if the path is invalid
	}
}

// parseSpelling parses one setting from an environment variable, or from a flag if no variable is named.
func parseSpelling(flagName, variable, text string) (string, error) {
	environment := map[string]string{"RELATED_IMAGE_ECHO_SERVER": "i:1"}
	o, flags, arguments := Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError), []string{}
	if variable == "" {
		arguments = []string{"--" + flagName + "=" + text}
	} else {
		environment[variable] = text
	}
	o.AddFlags(flags, func(name string) string { return environment[name] })
	if err := flags.Parse(arguments); err != nil {
		return "", err
	}
	err := o.Complete()
	var stack zapcore.Level
	if o.Log.StacktraceLevel != nil {
		stack = zapcore.LevelOf(o.Log.StacktraceLevel)
	}
	return fmt.Sprintf("%q %q %q %t %q %q %q %q %d %s %t %s %t %t %s %t", o.MetricsAddress, o.MetricsCertPath, o.ProbeAddress, o.LeaderElect,
		o.LeaderElectionNamespace, o.Namespaces, o.CSV, o.Images, o.Policy.MaxReplicas, o.Policy.PodSecurity, o.Policy.AnyCheckURL, o.logLevel(),
		o.Log.Development, o.Log.NewEncoder != nil, stack, o.Log.TimeEncoder != nil), err
}

// TestAddFlags_rejectsOrAcceptsEachSpelling checks that each unusual spelling of a setting's value is rejected or has the same meaning as
// the usual spelling.
func TestAddFlags_rejectsOrAcceptsEachSpelling(t *testing.T) {
	o, flags, variables := Options{}, pflag.NewFlagSet("manager", pflag.ContinueOnError), map[string]string{}
	o.AddFlags(flags, func(string) string { return "" })
	for _, each := range o.settings() {
		variables[each.flag] = each.environment
	}
	rows := spellings()
	flags.VisitAll(func(f *pflag.Flag) {
		row, ok := rows[f.Name]
		NewWithT(t).Expect(ok).To(BeTrue(), "%s has no row", f.Name)
		if row.usual == "" {
			return
		}
		checkSpellings(t, f.Name, "", row.usual, row.odd)
		if variables[f.Name] != "" {
			checkSpellings(t, f.Name, variables[f.Name], row.usual, row.odd)
		}
	})
}

func checkSpellings(t *testing.T, flagName, variable, usual string, odd []spelling) {
	t.Helper()
	defaults, _ := parseSpelling("leader-elect", "", "false")
	if got, err := parseSpelling(flagName, variable, usual); err != nil || got == defaults {
		t.Errorf("%s %s: %q has no effect: %v", flagName, variable, usual, err)
	}
	if isText := !strings.HasPrefix(flagName, "zap-") && flagName != "leader-elect" || flagName == logLevelFlag; isText {
		odd = append([]spelling{{text: "\ufeff" + usual + "\r\n", same: usual}, {text: " \t" + usual + " ", same: usual}}, odd...)
	}
	for _, each := range odd {
		got, err := parseSpelling(flagName, variable, each.text)
		if each.refused != "" {
			if err == nil || !strings.Contains(err.Error(), each.refused) {
				t.Errorf("%s %s: %q gives %v, want %q", flagName, variable, each.text, err, each.refused)
			}
			continue
		}
		if want, wantErr := parseSpelling(flagName, variable, each.same); err != nil || wantErr != nil || got != want {
			t.Errorf("%s %s: %q is not the same as %q: %v, %v", flagName, variable, each.text, each.same, err, wantErr)
		}
	}
	if blank, err := parseSpelling(flagName, variable, " \r\n"); variable != "" && variable != "RELATED_IMAGE_ECHO_SERVER" {
		if unset, unsetErr := parseSpelling(flagName, variable, ""); err != nil || unsetErr != nil || blank != unset {
			t.Errorf("%s: blanks do not mean the same as an empty value: %v", variable, err)
		}
	}
}
