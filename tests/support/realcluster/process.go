package realcluster

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

// ProcessOf returns the process of a one-container pod. If the process is on another machine, or the current user is not allowed to kill
// it, ProcessOf returns nil.
func ProcessOf(pod *corev1.Pod) *os.Process {
	GinkgoHelper()
	return ProcessIn(&pod.Status.ContainerStatuses[0])
}

// ProcessIn is like ProcessOf, but returns the process of the given container.
func ProcessIn(container *corev1.ContainerStatus) *os.Process {
	GinkgoHelper()
	_, id, _ := strings.Cut(container.ContainerID, "://")
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	Expect(err).NotTo(HaveOccurred())
	for _, path := range groups {
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), id) || os.Geteuid() != 0 {
			continue // for example, the process has exited in the meantime
		}
		number, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		Expect(err).NotTo(HaveOccurred())
		process, err := os.FindProcess(number)
		Expect(err).NotTo(HaveOccurred())
		return process
	}
	return nil
}
