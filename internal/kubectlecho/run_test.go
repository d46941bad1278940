package kubectlecho

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// run executes the plugin as kubectl does, and returns its exit code and output.
func run(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runAs(t, install(t, "kubectl-echo"), arguments...)
}

// runAs is like run, but for a program with a given path or name.
func runAs(t *testing.T, program string, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", "/nowhere")
	out, err := &strings.Builder{}, &strings.Builder{}
	code = Run(t.Context(), "dev", append([]string{program}, arguments...), out, err)
	return code, out.String(), err.String()
}

// install adds a program to PATH, and returns the path that kubectl calls.
func install(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	NewWithT(t).Expect(os.WriteFile(program, nil, 0o700)).To(Succeed())
	t.Setenv("PATH", filepath.Dir(program))
	return program
}

// TestRun_namesItsCommand checks that help, examples, errors, and completions name the command that the user typed.
func TestRun_namesItsCommand(t *testing.T) {
	for program, command := range map[string]string{
		install(t, "kubectl-echo_operator"): "kubectl echo-operator", // the name that krew gives the plugin
		"kubectl-echo_operator":             "kubectl-echo_operator",
		"bin/kubectl-echo":                  "kubectl-echo",
		"kubectl-echo.exe":                  "kubectl-echo",
		"echo-of-mine":                      "echo-of-mine",
	} {
		for line, want := range map[string]string{
			"":              "\n  " + command + " [command]\n",
			"--help":        "\n  " + command + " [command]\n",
			"test --help":   "\n  " + command + " test web --requests=100 --path=/health --tls\n",
			"path one two":  "Usage: " + command + " path URL [flags]   # see '" + command + " path --help'\n",
			"up":            `error: unknown command "up" for "` + command + `"`,
			"help nonsense": "\n  " + command + " [command]\n",
		} {
			_, stdout, stderr := runAs(t, program, strings.Fields(line)...)
			if output := stdout + stderr; !strings.Contains(output, want) ||
				command != "kubectl-echo" && strings.Contains(output, "kubectl-echo ") || strings.Contains(output, "kubectl echo ") {
				t.Errorf("%s %s does not print %q, but:\n%s", program, line, want, output)
			}
		}
	}
}

func TestRun_rejectsInvalidCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"up":       `error: unknown command "up" for "kubectl echo"`,
		"--follow": "Usage: kubectl echo [flags]   # see 'kubectl echo --help'\nerror: unknown flag: --follow\n",
		"status --follow": "Usage: kubectl echo status [NAME] [flags]   # see 'kubectl echo status --help'\n" +
			"error: unknown flag: --follow\n",
		"status one two":            "error: at most one name is allowed, and none with --all-namespaces\n",
		"status one -A":             "error: at most one name is allowed",
		"test":                      "error: one name is required",
		"test one two":              "error: one name is required",
		"test one --requests=0":     "--requests must be at least 1",
		"test one --requests=many":  `error: invalid argument "many" for "--requests"`,
		"test one --path=x":         "--path must begin with /",
		"path":                      "error: one URL is required",
		"path ftp://a":              `error: "ftp://a" is not a URL such as`,
		"path a --expect=b":         `error: invalid argument "b" for "--expect"`,
		"path a.example:80 -o json": `error: "a.example:80" has no scheme: write http://a.example:80 or https://a.example:80`,
		"path http://a -H hunter2":  "error: --header: number 1 is not a header such as 'X-Api-Key: value', in quotes",
	} {
		code, stdout, stderr := run(t, strings.Fields(line)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, want) || !strings.Contains("\n"+stderr, "\nerror: ") {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", line, code, stdout, stderr)
		}
	}
}

// TestNewPath sends a request to a server that is not an Echo. There is no API server.
func TestNewPath(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	code, stdout, stderr := run(t, "path", server.URL, "--header", "X-Api-Key: hunter2", "--expect", "client.address=kept")
	if code != 1 || stderr != "" || !strings.Contains(stdout, "the response with status 404 does not prove that it comes from an Echo") {
		t.Errorf("the exit code is %d, and it printed %q and %q", code, stdout, stderr)
	}
}

func TestRun_reportsUnreachableAPIServer(t *testing.T) {
	for _, command := range []string{"status", "test"} {
		code, stdout, stderr := run(t, command, "web", "--server=http://127.0.0.1:1")
		if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "error: ") || !strings.Contains(stderr, "connection refused") {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", command, code, stdout, stderr)
		}
	}
}

// namesOnly is a fake API server that holds names by path, and rejects requests for anything but names.
type namesOnly map[string][]string

// ServeHTTP implements http.Handler.
func (n namesOnly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	names, found := n[r.URL.Path]
	if !found || r.Header.Get("Accept") != "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	list := metav1.PartialObjectMetadataList{}
	for _, name := range names {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{Name: name})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// TestRun_completes runs the command that kubectl runs to complete the last word of a command line. The directive is 0 if file names can
// complete the word, 4 if they cannot, and 6 if they cannot and no space follows the word.
func TestRun_completes(t *testing.T) {
	server := httptest.NewServer(namesOnly{"/apis/example.com/v1/namespaces/default/echoes": {"web"},
		"/apis/example.com/v1/namespaces/shop/echoes": {"api", "web", "web-2"}, "/api/v1/namespaces": {"default", "shop"}})
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	config := `{contexts: [{name: one, context: {}}, {name: two, context: {}}], clusters: [{name: test, cluster: {}}],
		users: [{name: me, user: {}}]}`
	NewWithT(t).Expect(os.WriteFile(kubeconfig, []byte(config), 0o600)).To(Succeed())
	const api, none = " --server=API", " --server=http://127.0.0.1:1"
	for line, want := range map[string]string{
		"stat":                                     "status Show what is wrong with Echoes, and what to do :4",
		"status" + api + " ":                       "web :4",
		"status" + api + " -n shop ":               "api web web-2 :4",
		"status" + api + " --namespace=shop we":    "web web-2 :4",
		"test" + api + " -n shop ":                 "api web web-2 :4",
		"test" + api + " -n shop x":                ":4",
		"test" + api + " -n shop --requests=3 api": "api :4",
		"status" + api + " -n forbidden ":          ":4",
		"status" + api + " -n shop web ":           ":4",
		"test" + api + " -n shop web ":             ":4",
		"status" + api + " -A ":                    ":4",
		"status" + api + " -n ":                    "default shop :4",
		"path" + api + " --namespace=s":            "shop :4",
		"status" + none + " ":                      ":4",
		"status" + none + " -n ":                   ":4",
		"status --server=:// ":                     ":4",
		"status --server=:// -n ":                  ":4",
		"status --kubeconfig=/nowhere ":            ":4",
		"status --kubeconfig=/nowhere --context ":  ":4",
		"status --kubeconfig=FILE --context=":      "one two :4",
		"status --kubeconfig=FILE --context=t":     "two :4",
		"status --kubeconfig=FILE --cluster=":      "test :4",
		"status --kubeconfig=FILE --user=":         "me :4",
		"status --kubeconfig ":                     ":0",
		"status -o ":                               "json :4",
		"path -o ":                                 "expect html json text :4",
		"path ":                                    ":4",
		"path --groups re":                         "request response retries :6",
		"path --groups body,client,t":              "body,client,tls body,client,timeouts :6",
	} {
		words := strings.Split(strings.NewReplacer("API", server.URL, "FILE", kubeconfig).Replace(line), " ")
		code, stdout, stderr := run(t, append([]string{"__complete"}, words...)...)
		if stdout = strings.Join(strings.Fields(stdout), " "); code != 0 || stdout != want {
			t.Errorf("%q: the exit code is %d, and it printed %q, want %q", line, code, stdout, want)
		}
		if !strings.HasPrefix(stderr, "Completion ended with directive: ") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: it printed the errors %q", line, stderr)
		}
	}
}
