package server

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// TestHealthcheck runs the program's healthcheck command against another process of the program.
func TestHealthcheck(t *testing.T) {
	p := start(t)
	for name, c := range map[string]struct {
		address string
		exit    int
	}{
		"a ready server": {strings.TrimPrefix(p.admin, "http://"), 0},
		"no server":      {"127.0.0.1:1", 1},
		"no address":     {"9090", 1},
	} {
		output, err := exec.Command(p.command.Path, "healthcheck", "--admin-addr="+c.address).CombinedOutput()
		exit := 0
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			exit = failed.ExitCode()
		}
		if exit != c.exit || strings.Count(string(output), "\n") != c.exit {
			t.Errorf("%s: exits with %d, %s", name, exit, output)
		}
	}
}
