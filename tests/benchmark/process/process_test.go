package process

import (
	"os"
	"runtime"
	"runtime/debug"
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
	if _, err := CPUTime(os.Getpid()); err != nil {
		t.Error(err)
	}
	if memory, err := MemoryOf(os.Getpid()); err != nil || memory.Resident < memory.Anonymous || memory.Anonymous == 0 {
		t.Errorf("the memory of the test is %v, %v", memory, err)
	}
}

func TestPeak(t *testing.T) {
	before, err := Peak(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	const size, page = 64 << 20, 4096
	block := make([]byte, size)
	for i := 0; i < size; i += page {
		block[i] = 1
	}
	after, err := Peak(os.Getpid())
	if err != nil || after-before < size/2 {
		t.Errorf("the peak is %d after %d, %v", after, before, err)
	}
	runtime.KeepAlive(block)
	debug.FreeOSMemory()
	if err := ResetPeak(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if reset, err := Peak(os.Getpid()); err != nil || after-reset < size/2 {
		t.Errorf("the peak is %d after a reset from %d, %v", reset, after, err)
	}
}
