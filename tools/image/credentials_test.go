package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPushWithCredentials: they are those that `docker login` and `podman login` leave.
func TestPushWithCredentials(t *testing.T) {
	image := imageOf(t, checkout(t, 0o022, time.Now(), false), "amd64")
	host := registryWith(t, func(w http.ResponseWriter, r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		if user == "somebody" && password == "a secret" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	})
	config := fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, host, base64.StdEncoding.EncodeToString([]byte("somebody:a secret")))
	for title, c := range map[string]struct {
		variable, file string
		accepted       bool
	}{
		"docker login":  {"DOCKER_CONFIG", "config.json", true},
		"podman login":  {"REGISTRY_AUTH_FILE", "auth.json", true},
		"not logged in": {"UNUSED", "config.json", false},
	} {
		t.Run(title, func(t *testing.T) {
			home := t.TempDir()
			for _, variable := range []string{"HOME", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"} {
				t.Setenv(variable, home)
			}
			t.Setenv("REGISTRY_AUTH_FILE", "")
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, config, 0o600); err != nil {
				t.Fatal(err)
			}
			value := file
			if c.variable == "DOCKER_CONFIG" {
				value = filepath.Dir(file)
			}
			t.Setenv(c.variable, value)
			err := push(t.Context(), tag(t, host+"/program:v1"), "", image)
			if c.accepted && err != nil || !c.accepted && (err == nil || !strings.Contains(err.Error(), "401")) {
				t.Errorf("%v, want it accepted: %t", err, c.accepted)
			}
		})
	}
}
