// Package process reads a process's resource usage from /proc.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	Resident  int64 `json:"resident"`
	Anonymous int64 `json:"anonymous"` // excludes mapped files, such as the program itself
}

// MemoryOf returns the physical memory of a process.
func MemoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	return parseMemory(string(text))
}

func parseMemory(status string) (Memory, error) {
	resident, errResident := kibibytes(status, "VmRSS:")
	anonymous, errAnonymous := kibibytes(status, "RssAnon:")
	return Memory{Resident: resident, Anonymous: anonymous}, errors.Join(errResident, errAnonymous)
}

// Peak returns the process's peak physical memory so far, in bytes.
func Peak(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return kibibytes(string(text), "VmHWM:")
}

// ResetPeak resets a process's peak memory to its current memory.
func ResetPeak(pid int) error {
	const peak = "5" // proc_pid_clear_refs(5)
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte(peak), 0)
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

// Children returns the IDs of the processes that this process has started, by program name.
func Children() (map[string]int, error) {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil, err
	}
	found := map[string]int{}
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has exited
		}
		for field := range strings.FieldsSeq(string(text)) {
			name, err := os.ReadFile("/proc/" + field + "/comm")
			if err != nil {
				continue // the process has exited
			}
			if found[strings.TrimSpace(string(name))], err = strconv.Atoi(field); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}
