package main

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
)

// sleeper starts a process that stays idle until the test ends.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	command := exec.Command("sleep", "60")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command
}

func TestOnlyOwnRunningProcessesAreKilled(t *testing.T) {
	s := settings{Run: t.TempDir()}
	mine, ended, other := sleeper(t), sleeper(t), sleeper(t)
	for name, command := range map[string]*exec.Cmd{"mine": mine, "ended": ended} {
		if err := s.record(name, command.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	// This PID file is from an earlier process of the cluster, whose PID now belongs to another process. Their start times differ.
	if err := writeFile(s.pidFile("older"), fmt.Appendf(nil, "%d\n1", other.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if err := ended.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = ended.Wait()
	if got := s.recorded("*"); !slices.Equal(got, []int{mine.Process.Pid}) {
		t.Fatalf("recorded %v, want only %d", got, mine.Process.Pid)
	}
	if err := s.killRecorded(t.Context(), "*"); err != nil {
		t.Fatal(err)
	}
	if startTime(mine.Process.Pid) != "" {
		t.Error("a process of the cluster is still running")
	}
	if startTime(other.Process.Pid) == "" {
		t.Error("a process outside the cluster was killed")
	}
}
