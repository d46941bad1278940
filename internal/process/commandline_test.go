package process_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/internal/kubectlecho"
	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/tests/support/fences"
)

// documentedCodes returns, for each program, the meanings of the exit codes in the documentation's table.
func documentedCodes(t *testing.T) map[string]map[int]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/commands.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, section, _ := strings.Cut(string(page), "\n## Exit codes\n")
	table, _, _ := strings.Cut(section, "\n## ")
	documented := map[string]map[int]string{}
	rows := regexp.MustCompile(`(?m)^\| (.*` + "`" + `.*?) \| (.*?) \| (.*?) \| (.*?) ?\| (.*?) ?\|$`)
	for _, row := range rows.FindAllStringSubmatch(table, -1) {
		for _, program := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			documented[program[1]] = map[int]string{}
			for code, meaning := range row[2:] {
				if meaning != "" {
					documented[program[1]][code] = meaning
				}
			}
		}
	}
	return documented
}

// TestPrograms checks the programs that are released. Linking them takes most of its time.
func TestPrograms(t *testing.T) {
	folder := build(t)
	t.Run("each exits as documented", func(t *testing.T) { eachExitsAsDocumented(t, folder) })
	t.Run("a path command can be interrupted", func(t *testing.T) { pathCommandCanBeInterrupted(t, folder) })
	t.Run("each prints its usage", func(t *testing.T) { eachPrintsItsUsage(t, folder) })
	t.Run("pathcheck writes a metric as documented", func(t *testing.T) { pathcheckWritesMetricAsDocumented(t, folder) })
}

// eachExitsAsDocumented makes each program exit with every code that is documented for it.
func eachExitsAsDocumented(t *testing.T, folder string) {
	t.Helper()
	server, addresses := startEchoServer(t, folder)
	url := "http://" + addresses["address"]
	path := map[int]string{0: url + " --groups=request", 1: url + " --groups=request --expect=request.method=changed", 2: "ftp://a",
		3: url + " --groups=request --expect=tls.alpn=h2"}
	lines := map[string]map[int]string{
		"manager":                 {0: "version", 1: "", 2: "--nonsense"}, // fails without settings
		"kubectl echo path":       path,
		"pathcheck":               path,
		"echo-server":             {1: "--http-addr=127.0.0.1:0 --admin-addr=192.0.2.1:1", 2: "--nonsense"},
		"echo-server healthcheck": {0: "--admin-addr=" + addresses["admin"], 1: "--admin-addr=127.0.0.1:1"},
	}
	for name, codes := range lines {
		words := strings.Fields(strings.Replace(name, "kubectl echo", "kubectl-echo", 1))
		for want, line := range codes {
			program := filepath.Join(folder, strings.Replace(words[0], "manager", "echo-operator", 1))
			code, stdout, stderr := run(t, program, slices.Concat(words[1:], strings.Fields(line))...)
			if code != want {
				t.Errorf("%s %s exits with %d, want %d: %s%s", name, line, code, want, stdout, stderr)
			}
		}
	}
	NewWithT(t).Expect(server.Process.Signal(syscall.SIGTERM)).To(Succeed())
	_ = server.Wait() // the exit code shows what failed
	lines["echo-server"][server.ProcessState.ExitCode()] = "SIGTERM"

	for _, name := range []string{"kubectl echo status", "kubectl echo test"} {
		lines[name] = map[int]string{0: "", 1: "", 2: ""} // tests in internal/kubectlecho make these commands exit with each code
	}
	documented := documentedCodes(t)
	if got, want := slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(lines)); !slices.Equal(got, want) {
		t.Errorf("the documentation lists exit codes of %q, want %q", got, want)
	}
	for name, codes := range lines {
		if got, want := slices.Sorted(maps.Keys(documented[name])), slices.Sorted(maps.Keys(codes)); !slices.Equal(got, want) {
			t.Errorf("%s: the documented exit codes are %v, want %v", name, got, want)
		}
	}
}

// pathCommandCanBeInterrupted interrupts the programs that examine paths while a server delays its response. Each program must report the
// interruption in time, print its report, and exit with the documented code.
func pathCommandCanBeInterrupted(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"pathcheck", "kubectl-echo path"} {
		for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			arrived := make(chan bool, 1)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				select {
				case arrived <- true:
				default:
				}
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			words := append(strings.Fields(name), server.URL)
			var stdout, stderr strings.Builder
			command := exec.CommandContext(t.Context(), filepath.Join(folder, words[0]), words[1:]...)
			command.Stdout, command.Stderr = &stdout, &stderr
			NewWithT(t).Expect(command.Start()).To(Succeed())
			<-arrived
			began := time.Now()
			NewWithT(t).Expect(command.Process.Signal(sent)).To(Succeed())
			_ = command.Wait()           // the exit code shows what failed
			const slow = 5 * time.Second // on a busy machine; otherwise, the program ends at once
			if took := time.Since(began); command.ProcessState.ExitCode() != 2 || took > slow || !strings.Contains(stdout.String(), server.URL) ||
				!strings.HasSuffix(stderr.String(), ": interrupted; the output is incomplete\n") || strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("%s, %s: after %s, it exits with %d, and prints %q and %q", name, sent, took, command.ProcessState.ExitCode(),
					stdout.String(), stderr.String())
			}
		}
	}
}

// TestInterruptible_secondSignalKills runs this test in a process that ignores the end of its context.
func TestInterruptible_secondSignalKills(t *testing.T) {
	const ignores = "TEST_IGNORES_INTERRUPTION"
	if os.Getenv(ignores) != "" {
		ctx := process.Interruptible()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("interrupted")
		select {}
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), ignores+"=1")
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	lines := bufio.NewScanner(output)
	for _, want := range []string{"ready", "interrupted"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("it prints %q, want %q", lines.Text(), want)
		}
		NewWithT(t).Expect(command.Process.Signal(os.Interrupt)).To(Succeed())
	}
	_ = command.Wait() // the state shows how it ended
	if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("it ends with %s", command.ProcessState)
	}
}

// TestParseFlags_helpDocumentsExitCodes checks that the help for kubectl echo describes the exit codes in the same words as the documentation.
func TestParseFlags_helpDocumentsExitCodes(t *testing.T) {
	for name, codes := range documentedCodes(t) {
		command, ok := strings.CutPrefix(name, "kubectl echo ")
		if !ok {
			continue
		}
		var help strings.Builder
		kubectlecho.Run(t.Context(), "dev", []string{"kubectl-echo", command, "--help"}, &help, &help)
		want := fmt.Sprintf("exit code is 0 if %s, 1 if %s, and 2 for %s.", codes[0], codes[1], codes[2])
		if codes[3] != "" {
			want = fmt.Sprintf("exit code is 0 if %s, 1 if %s, 2 for %s, and 3 if %s.", codes[0], codes[1], codes[2], codes[3])
		}
		if !strings.Contains(strings.Join(strings.Fields(help.String()), " "), want) {
			t.Errorf("the help of %s does not contain %q", name, want)
		}
	}
}

// startEchoServer starts the echo server, and returns its process and the addresses in the first line of its log.
func startEchoServer(t *testing.T, folder string) (*exec.Cmd, map[string]string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(folder, "echo-server"), "--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0",
		"--drain-delay=0s")
	log, err := command.StderrPipe()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(command.Start()).To(Succeed())
	reader := bufio.NewReader(log)
	line, _ := reader.ReadBytes('\n')
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	var addresses map[string]string
	_ = json.Unmarshal(line, &addresses)
	if addresses["address"] == "" || addresses["admin"] == "" {
		t.Fatalf("its log begins with %s", line)
	}
	return command, addresses
}

// pathcheckWritesMetricAsDocumented runs the documented cron job with an echo server instead of an Echo. The job must write a metric with
// the result, even if pathcheck exits with an error.
func pathcheckWritesMetricAsDocumented(t *testing.T, programs string) {
	t.Helper()
	documented := func(page, after string) string { // make verify looks for calls of this name
		text, err := os.ReadFile(filepath.Join("../..", page))
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return fences.After(string(text), after)[0].Text
	}
	job := documented("docs/how-to/monitor.md", "To check a path from outside the cluster")
	for _, part := range []string{"https://shop.example.com", "client.address=kept", "/var/lib/node_exporter"} {
		if !strings.Contains(job, part) {
			t.Fatalf("%q is not in the job:\n%s", part, job)
		}
	}
	_, addresses := startEchoServer(t, programs)
	for name, test := range map[string]struct{ url, expect, want string }{
		"met":     {"http://" + addresses["address"], "client.address=kept", "path_met 1\n"},
		"not met": {"http://" + addresses["address"], "request.method=changed", "path_met 0\n"},
		"no Echo": {"http://" + addresses["admin"], "client.address=kept", "path_met 0\n"},
		"unknown": {"http://" + addresses["address"], "tls.trust=yes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			command := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("https://shop.example.com", test.url,
				"client.address=kept", test.expect, "/var/lib/node_exporter", folder).Replace(job))
			command.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + folder}
			output, err := command.CombinedOutput()
			got, _ := os.ReadFile(filepath.Join(folder, "path.prom"))
			if err != nil || string(got) != test.want {
				t.Errorf("%v, the file contains %q, want %q; output:\n%s", err, got, test.want, output)
			}
		})
	}
}

// build compiles the operator and all programs in cmd with release settings, and returns the folder with the executables.
func build(t *testing.T) string {
	t.Helper()
	folder := t.TempDir() + "/"
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=v9.8.7", "-o", folder, ".", "./cmd/...")
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")                                                 // as in releases, and although the race detector requires cgo
	for _, read := range []string{"api", "cmd", "controllers", "echoserver", "internal", "pathcheck"} { // else, go test ignores changes to them
		_ = filepath.WalkDir(filepath.Join(command.Dir, read), func(_ string, _ os.DirEntry, err error) error { return err })
	}
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return folder
}

// run executes a program with HOME as its only environment variable.
func run(t *testing.T, program string, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	out, err := &strings.Builder{}, &strings.Builder{}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env, command.Stdout, command.Stderr = []string{"HOME=" + os.TempDir()}, out, err
	if failed := command.Run(); failed != nil && !errors.As(failed, new(*exec.ExitError)) {
		t.Fatal(failed)
	}
	return command.ProcessState.ExitCode(), out.String(), err.String()
}

// eachPrintsItsUsage checks that each program prints its version and its usage, describes each flag, and prints the usage above an error.
func eachPrintsItsUsage(t *testing.T, folder string) {
	t.Helper()
	programs, err := filepath.Glob(folder + "*")
	if err != nil || len(programs) < 6 {
		t.Fatalf("the programs are %v, %v", programs, err)
	}
	version := regexp.MustCompile(`^[a-z-]+ v9\.8\.7 \(go1\.\S+ \w+/\w+\)\n$`)
	described := regexp.MustCompile(`^ +(?:-\w, |    )--\S+(?: \S+)? {2,}\S+ \S+`)
	for _, program := range programs {
		t.Run(filepath.Base(program), func(t *testing.T) {
			if code, stdout, stderr := run(t, program, "--version"); code != 0 || !version.MatchString(stdout) || stderr != "" {
				t.Errorf("--version exits with %d, and prints %q and %q", code, stdout, stderr)
			}
			code, stdout, stderr := run(t, program, "--help")
			if code != 0 || !strings.Contains(stdout, "Usage:") || !strings.Contains(stdout, " --version") || stderr != "" {
				t.Errorf("--help exits with %d, and prints %q and %q", code, stdout, stderr)
			}
			_, flags, _ := strings.Cut(stdout, "\nFlags:\n")
			flags, _, _ = strings.Cut(flags, "\n\n")
			for line := range strings.Lines(flags) {
				if !described.MatchString(line) {
					t.Errorf("--help does not describe a flag: %q", line)
				}
			}
			code, stdout, stderr = run(t, program, "--nonsense")
			lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
			if last := lines[len(lines)-1]; code == 0 || stdout != "" || !strings.HasPrefix(lines[0], "Usage:") ||
				!strings.HasSuffix(last, ": unknown flag: --nonsense") {
				t.Errorf("--nonsense exits with %d, and prints %q and %q", code, stdout, stderr)
			}
		})
	}
}
