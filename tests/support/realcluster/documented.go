package realcluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/fences"
	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

// Reader simulates a person who follows the documentation in one shell. The reader has kubectl echo and a namespace on the test cluster.
type Reader struct {
	// Namespace is the namespace of the kubeconfig's context.
	Namespace string
	// Replace contains pairs: a string on a page, such as a placeholder, and its replacement.
	Replace []string
}

// Follow runs commands in order. It expects each command to succeed and to print the output that the page shows. Each port-forward uses a
// free local port instead of the page's port, and stays open until the last command has finished. Follow returns each command's output.
func (r *Reader) Follow(ctx context.Context, steps []fences.Step) []string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	words := strings.NewReplacer(append([]string{"vVERSION", "v" + version()}, r.Replace...)...)
	local := strings.NewReplacer(ports(ctx, steps)...)
	replaced := func(text string) string { return local.Replace(words.Replace(text)) }
	var script strings.Builder
	_, _ = script.WriteString("forward=" + folder + "/forward\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	for i := range steps {
		steps[i].Output = replaced(steps[i].Output)
		steps[i].Commands = replaced(steps[i].Commands)
		_, _ = fmt.Fprintf(&script, "{\n%s} >%s/%d 2>&1\n", runnable(steps[i].Commands), folder, i)
	}
	command := exec.CommandContext(ctx, "bash", "-eu", "-c", script.String())
	command.WaitDelay = time.Second
	command.Dir = support.Root()
	command.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig(ctx, folder),
		"PATH="+filepath.Join(command.Dir, "bin", runtime.GOOS+"-"+runtime.GOARCH)+":"+os.Getenv("PATH"))
	failure := command.Run()
	var printed []string
	for i := range steps {
		output, err := os.ReadFile(filepath.Join(folder, fmt.Sprint(i)))
		if err != nil { // the shell exited early
			break
		}
		GinkgoWriter.Printf("$ %s%s\n", steps[i].Commands, output)
		printed = append(printed, string(output))
	}
	Expect(failure).NotTo(HaveOccurred(), "the last of these commands:\n%s\n%s", steps[max(len(printed)-1, 0)].Commands,
		strings.Join(printed, "\n"))
	for i, step := range steps {
		Expect(step.Missing(printed[i])).To(BeEmpty(), "%s prints:\n%s", step.Commands, printed[i])
	}
	return printed
}

// kubeconfig writes a kubeconfig with the reader's namespace, and returns its path.
func (r *Reader) kubeconfig(ctx context.Context, folder string) string {
	GinkgoHelper()
	path := filepath.Join(folder, "kubeconfig")
	Expect(os.WriteFile(path, []byte(Kubectl(ctx, "config", "view", "--raw", "--flatten")), 0o600)).To(Succeed())
	Kubectl(ctx, "config", "set-context", "--current", "--namespace="+r.Namespace, "--kubeconfig="+path)
	return path
}

// version returns the version of the source tree, which is also the tag of its images.
func version() string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(support.Root(), "VERSION"))
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(text))
}

// ports returns replacements that change the local ports of port-forwards to free ports on this machine.
func ports(ctx context.Context, steps []fences.Step) []string {
	GinkgoHelper()
	forward := regexp.MustCompile(`(?m)^kubectl port-forward .* (\d+)(:?\d*)( &)?( +#.*)?$`)
	var replacements []string
	for _, step := range steps {
		for _, found := range forward.FindAllStringSubmatch(step.Commands, -1) {
			address, err := loopback.ReserveAddress(ctx)
			Expect(err).NotTo(HaveOccurred())
			_, free, _ := net.SplitHostPort(address)
			replacements = append(replacements, " "+found[1]+found[2], " "+free+":"+strings.TrimPrefix(found[2], ":"), "localhost:"+found[1],
				"localhost:"+free)
		}
	}
	return replacements
}

// runnable modifies commands so that they terminate. It moves port-forwards to the background, limits how long watches run, and makes
// timeouts long enough for a busy machine.
func runnable(commands string) string {
	lines := strings.Split(commands, "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "kubectl port-forward "):
			line, _, _ = strings.Cut(line, " #")
			lines[i] = strings.TrimSuffix(strings.TrimSpace(line), " &") + ` >"$forward" 2>&1 &
until grep -q ^Forwarding "$forward"; do kill -0 $!; sleep 0.2; done`
		case strings.HasSuffix(line, " --watch"), regexp.MustCompile(`^(kubectl exec .*/manager|go run \.) watch `).MatchString(line):
			lines[i] = "timeout 20 " + line + " || [ $? = 124 ]"
		case strings.HasPrefix(line, "kubectl wait ") && !strings.Contains(line, "--timeout"):
			lines[i] = line + " --timeout=5m"
		}
	}
	return strings.Join(lines, "\n")
}
