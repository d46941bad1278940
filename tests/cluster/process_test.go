package main

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
)

// sleeper starts a process that does nothing, and ends with the test.
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

func TestOnlyItsOwnLivingProcessesAreEnded(t *testing.T) {
	s := settings{Run: t.TempDir()}
	mine, ended, other := sleeper(t), sleeper(t), sleeper(t)
	for name, command := range map[string]*exec.Cmd{"mine": mine, "ended": ended} {
		if err := s.remember(name, command.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	// A number that was a cluster's before: the time is not this process's.
	if err := writeFile(s.pidFile("older"), fmt.Appendf(nil, "%d\n1", other.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if err := ended.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = ended.Wait()
	if got := s.remembered("*"); !slices.Equal(got, []int{mine.Process.Pid}) {
		t.Fatalf("remembered %v, want only %d", got, mine.Process.Pid)
	}
	if err := s.endRemembered(t.Context(), "*"); err != nil {
		t.Fatal(err)
	}
	if began(mine.Process.Pid) != "" {
		t.Error("its own process still runs")
	}
	if began(other.Process.Pid) == "" {
		t.Error("another's process was ended")
	}
}

func TestEveryConfigurationFileCanBeWritten(t *testing.T) {
	s := realSettings(".", t.TempDir())
	entries, err := configFiles.ReadDir("config")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := s.write(entry.Name(), entry.Name()); err != nil {
			t.Error(err)
		}
	}
}

func TestUnescape(t *testing.T) {
	if got := unescape(`/a\040b\134c`); got != `/a b\c` {
		t.Errorf("got %q", got)
	}
}
