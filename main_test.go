package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// run executes a command line in an empty environment and returns the exit code and the output.
func run(arguments ...string) (code int, stdout, stderr string) {
	out, err := &strings.Builder{}, &strings.Builder{}
	code = execute(arguments, func(string) string { return "" }, out, err)
	return code, out.String(), err.String()
}

func TestExecute_rejectsInvalidCommandLines(t *testing.T) {
	for line, c := range map[string]struct{ message, usage string }{
		"up":                   {`unknown command "up" for "manager"`, "  manager [command]\n"},
		"--follow":             {"unknown flag: --follow", "--leader-elect"},
		"--leader-elect=maybe": {`invalid argument "maybe" for "--leader-elect"`, "--leader-elect"},
		"crd x":                {`unknown command "x" for "manager crd"`, "  manager crd [flags]\n"},
		"crd --leader-elect":   {"unknown flag: --leader-elect", "  manager crd [flags]\n"},
		"version x":            {`unknown command "x" for "manager version"`, "  manager version [flags]\n"},
		"watch":                {`watch requires one of pods, nodes, deployments, echoes, but got ""`, "--selector"},
		"watch secrets":        {`but got "secrets"`, "--selector"},
		"help nonsense":        {`unknown command "nonsense" for "manager"`, "  manager help [command] [flags]\n"},
		"completion bash":      {`unknown command "completion" for "manager"`, "  manager [command]\n"},
	} {
		t.Run(line, func(t *testing.T) {
			g := NewWithT(t)
			code, stdout, stderr := run(strings.Fields(line)...)
			g.Expect(code).To(Equal(2))
			g.Expect(stdout).To(BeEmpty())
			usage, said, found := strings.Cut(stderr, "\n\necho-operator: ")
			if !found || !strings.Contains(said, c.message) || strings.Count(said, "\n") != 1 {
				t.Errorf("the last line does not contain %q: %s", c.message, stderr)
			}
			if !strings.HasPrefix(usage, "Usage:\n  manager") || !strings.Contains(usage+"\n", c.usage) {
				t.Errorf("the usage is for another command: %s", stderr)
			}
		})
	}
}

// TestExecute_rejectsInvalidSettings checks that the program does not print its usage for an invalid setting, because the usage would hide
// the message in a pod's log.
func TestExecute_rejectsInvalidSettings(t *testing.T) {
	for line, message := range map[string]string{
		"":                                       "no echo server image: set RELATED_IMAGE_ECHO_SERVER or --echo-server-image",
		"--echo-server-image=i --max-replicas=0": `MAX_REPLICAS: "0" is not a whole number from 1 to 1000`,
		"--echo-server-image=i --watch-namespace=A_B": `WATCH_NAMESPACE: "A_B" is not a valid namespace name`,
	} {
		code, stdout, stderr := run(strings.Fields(line)...)
		if code != 1 || stdout != "" || !strings.HasPrefix(stderr, "echo-operator: "+message) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: the exit code is %d, and the output is %q and %q", line, code, stdout, stderr)
		}
	}
}

func TestExecute_readsSettingsFromEnvironment(t *testing.T) {
	stderr := &strings.Builder{}
	getenv := func(name string) string {
		return map[string]string{"RELATED_IMAGE_ECHO_SERVER": "i", "MAX_REPLICAS": "many"}[name]
	}
	if code := execute([]string{}, getenv, &strings.Builder{}, stderr); code != 1 ||
		!strings.Contains(stderr.String(), `MAX_REPLICAS: "many"`) {
		t.Errorf("the exit code is %d, and the output is %q", code, stderr)
	}
}

func TestExecute_printsHelp(t *testing.T) {
	for line, want := range map[string][]string{
		"help":         {"Run the Echo Operator against the cluster in KUBECONFIG", "WATCH_NAMESPACE", "crd ", "version ", "watch "},
		"--help":       {"--leader-elect", "MAX_REPLICAS", "--kubeconfig"},
		"-h":           {"Print the CustomResourceDefinition of Echoes"},
		"watch --help": {"manager watch pods|nodes|deployments|echoes", "--selector", "until interrupted"},
		"help help":    {"manager help [command]"},
		"help watch":   {"manager watch pods|nodes|deployments|echoes"},
		"crd -h":       {"  manager crd"},
	} {
		code, stdout, stderr := run(strings.Fields(line)...)
		if code != 0 || stderr != "" {
			t.Errorf("%s: the exit code is %d, and the output is %q", line, code, stderr)
		}
		for _, text := range want {
			NewWithT(t).Expect(stdout).To(ContainSubstring(text), "%s", line)
		}
	}
}

func TestVersion(t *testing.T) {
	code, stdout, stderr := run("version")
	if code != 0 || stderr != "" || !regexp.MustCompile(`^echo-operator dev \(go1\.\S+ \w+/\w+\)\n$`).MatchString(stdout) {
		t.Errorf("the exit code is %d, and the output is %q and %q", code, stdout, stderr)
	}
}

func TestWrite_printsInstalledCRD(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("config", "crd", "bases", "example.com_echoes.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	code, stdout, stderr := run("crd")
	if code != 0 || stderr != "" || stdout != string(want) || !strings.Contains(stdout, "kind: CustomResourceDefinition") {
		t.Errorf("the exit code is %d, and the output is %d bytes and %q", code, len(stdout), stderr)
	}
}

// brokenPipe is a writer whose reader is gone.
type brokenPipe struct{}

// Write implements io.Writer.
func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestWrite_reportsBrokenPipe(t *testing.T) {
	for _, command := range []string{"crd", "version"} {
		stderr := &strings.Builder{}
		code := execute([]string{command}, func(string) string { return "" }, brokenPipe{}, stderr)
		if code != 1 || stderr.String() != "echo-operator: broken pipe\n" {
			t.Errorf("%s: the exit code is %d, and the output is %q", command, code, stderr)
		}
	}
}

// TestMain_linksNoLargeModules checks that the program links neither the API server's expression library and metrics nor packages that only
// the kubectl plugin needs. These packages would make the program larger and slower to start.
func TestMain_linksNoLargeModules(t *testing.T) {
	g := NewWithT(t)
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	packages := strings.Fields(string(output))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(packages).To(ContainElement("k8s.io/client-go/rest"))
	for _, linked := range packages {
		for _, large := range []string{"github.com/google/cel-go", "k8s.io/cli-runtime", "k8s.io/component-base/metrics"} {
			if linked == large || strings.HasPrefix(linked, large+"/") {
				t.Errorf("%s is linked; 'go mod why' shows which package imports it", linked)
			}
		}
	}
}
