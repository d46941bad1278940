package realcluster

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// isFirst matches the status of a process that has the ID 1 in its container.
var isFirst = regexp.MustCompile(`(?m)^NSpid:.*\s1$`)

// ProcessOf returns the process of a one-container pod. If the process is on another machine, or the current user is not allowed to kill
// it, ProcessOf returns nil.
func ProcessOf(pod *corev1.Pod) *os.Process {
	GinkgoHelper()
	return ProcessIn(&pod.Status.ContainerStatuses[0])
}

// ProcessIn is like ProcessOf, but returns the first process of the given container: the others were started by `kubectl exec`.
func ProcessIn(container *corev1.ContainerStatus) *os.Process {
	GinkgoHelper()
	_, id, _ := strings.Cut(container.ContainerID, "://")
	Expect(id).NotTo(BeEmpty(), "the container has not started")
	processes, err := filepath.Glob("/proc/[0-9]*")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range processes {
		groups, _ := os.ReadFile(filepath.Join(path, "cgroup")) // fails, for example, if the process has exited in the meantime
		status, _ := os.ReadFile(filepath.Join(path, "status"))
		if !strings.Contains(string(groups), id) || !isFirst.Match(status) || os.Geteuid() != 0 {
			continue
		}
		number, err := strconv.Atoi(filepath.Base(path))
		Expect(err).NotTo(HaveOccurred())
		process, err := os.FindProcess(number)
		Expect(err).NotTo(HaveOccurred())
		return process
	}
	return nil
}
