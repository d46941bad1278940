package process

import (
	"os"
	"testing"
)

func TestParseMemory(t *testing.T) {
	memory, err := parseMemory("Name:\tmanager\nVmRSS:\t   51200 kB\nRssAnon:\t   10240 kB\nRssFile:\t 40960 kB\n")
	if want := (Memory{Resident: 50 << 20, Anonymous: 10 << 20}); memory != want || err != nil {
		t.Errorf("the memory is %v, %v; want %v", memory, err, want)
	}
	if _, err := parseMemory("Name:\tkthreadd\n"); err == nil {
		t.Error("a status without memory was accepted")
	}
}

func TestOwnProcess(t *testing.T) {
	memory, err := MemoryOf(os.Getpid())
	if err != nil || memory.Anonymous == 0 || memory.Resident < memory.Anonymous {
		t.Errorf("the memory is %v, %v", memory, err)
	}
	if _, err := CPUTime(os.Getpid()); err != nil {
		t.Error(err)
	}
}
