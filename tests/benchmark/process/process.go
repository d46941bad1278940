// Package process reads a process's resource usage from /proc.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc on all Linux machines (proc_pid_stat(5), USER_HZ).
const tick = 10 * time.Millisecond

// CPUTime returns the user and system time of a process.
func CPUTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]) // skip the program name, which can contain spaces
	user, errUser := strconv.ParseInt(string(fields[11]), 10, 64)
	system, errSystem := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * tick, errors.Join(errUser, errSystem)
}

// Memory is the physical memory of a process, in bytes.
type Memory struct {
	Resident  int64
	Anonymous int64 // excludes mapped files, such as the program itself
}

// MemoryOf returns the physical memory of a process.
func MemoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	resident, errResident := kibibytes(string(text), "VmRSS:")
	anonymous, errAnonymous := kibibytes(string(text), "RssAnon:")
	return Memory{Resident: resident, Anonymous: anonymous}, errors.Join(errResident, errAnonymous)
}

// kibibytes converts a line such as "VmRSS:     1024 kB" to bytes.
func kibibytes(status, name string) (int64, error) {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, name); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc", name)
}
