package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// registryWith starts a registry whose requests pass a function first, which may answer them; it then returns true.
func registryWith(t *testing.T, answer func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func tag(t *testing.T, reference string) name.Tag {
	t.Helper()
	parsed, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func indexOf(t *testing.T) v1.ImageIndex {
	t.Helper()
	index, err := checkout(t, 0o022, time.Now(), false).index([]v1.Platform{platform("amd64"), platform("arm64")})
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// TestPush: what arrives is complete, under the path and the tag of the reference.
func TestPush(t *testing.T) {
	image := imageOf(t, checkout(t, 0o022, time.Now(), false), "amd64")
	for title, c := range map[string]struct {
		target, arrives string
		mirrored        bool
		built           artifact
	}{
		"image":                  {"%s/team/program:v1", "team/program:v1", false, image},
		"index":                  {"%s/team/program:v1", "team/program:v1", false, indexOf(t)},
		"deep path":              {"%s/a/b/c/program:v1.0.0-rc.1", "a/b/c/program:v1.0.0-rc.1", false, image},
		"to a mirror":            {"quay.io/team/program:v1", "team/program:v1", true, indexOf(t)},
		"to a mirror of Docker":  {"busybox:1.37", "library/busybox:1.37", true, image},
		"no tag":                 {"%s/program", "program:latest", false, image},
		"to a mirror with ports": {"registry.example.com:5000/program:v1", "program:v1", true, image},
	} {
		host, mirror := server(t), ""
		if c.mirrored {
			mirror = host
		} else {
			c.target = fmt.Sprintf(c.target, host)
		}
		if err := push(t.Context(), tag(t, c.target), mirror, c.built); err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		found := descriptor(t, host+"/"+c.arrives)
		if got, want := found.Digest.String(), digestOf(t, c.built); got != want {
			t.Errorf("%s: the registry has %s, want %s", title, got, want)
		}
		var err error
		if _, isIndex := c.built.(v1.ImageIndex); isIndex {
			var pulled v1.ImageIndex
			if pulled, err = found.ImageIndex(); err == nil {
				err = validate.Index(pulled)
			}
		} else if pulled, failed := found.Image(); failed != nil {
			err = failed
		} else {
			err = validate.Image(pulled)
		}
		if err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
}

// TestPushIsConfirmed: a registry that stores something else, or nothing, is not believed.
func TestPushIsConfirmed(t *testing.T) {
	image := imageOf(t, checkout(t, 0o022, time.Now(), false), "amd64")
	other := "sha256:" + strings.Repeat("0", 64)
	for title, c := range map[string]struct {
		status int
		digest string
		want   string
	}{
		"another image": {http.StatusOK, other, "has the digest " + other + " in the registry, not " + digestOf(t, image)},
		"no image":      {http.StatusNotFound, "", "404"},
	} {
		pushed := false
		host := registryWith(t, func(w http.ResponseWriter, r *http.Request) bool {
			pushed = pushed || r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/manifests/v1")
			if !pushed || r.Method != http.MethodHead {
				return false
			}
			w.Header().Set("Docker-Content-Digest", c.digest)
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			w.Header().Set("Content-Length", "2")
			w.WriteHeader(c.status)
			return true
		})
		if err := push(t.Context(), tag(t, host+"/program:v1"), "", image); !pushed || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: pushed: %t, %v, want %q", title, pushed, err, c.want)
		}
	}
}

func TestPushFails(t *testing.T) {
	image := imageOf(t, checkout(t, 0o022, time.Now(), false), "amd64")
	refusing := registryWith(t, func(w http.ResponseWriter, r *http.Request) bool {
		refused := r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/manifests/")
		if refused {
			http.Error(w, `{"errors": [{"code": "DENIED", "message": "quota exceeded"}]}`, http.StatusForbidden)
		}
		return refused
	})
	good := server(t)
	for title, c := range map[string]struct {
		interrupted    bool
		target, mirror string
		built          artifact
		want           string
	}{
		"refused image":  {false, refusing + "/program:v1", "", image, "quota exceeded"},
		"refused index":  {false, refusing + "/program:v1", "", indexOf(t), "quota exceeded"},
		"interrupted":    {true, good + "/program:v1", "", image, "context canceled"},
		"unknown type":   {false, good + "/program:v1", "", struct{ artifact }{image}, "can not be pushed"},
		"invalid mirror": {false, "quay.io/a/program:v1", "http://" + good, image, "a/program"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		if c.interrupted {
			interrupt()
		}
		if err := push(ctx, tag(t, c.target), c.mirror, c.built); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", title, err, c.want)
		}
		interrupt()
	}
}

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

func TestLayoutReplacesTheFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "deep", "program")
	write(t, filepath.Join(folder, "blobs", "sha256", "old"), "of an older build")
	for _, version := range []string{"v1", "v2"} {
		index := indexOf(t)
		if err := writeLayout(folder, tag(t, "quay.io/team/program:"+version), index); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(folder, "blobs", "sha256", "old")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file of an older build is still there: %v", err)
		}
		got, found, err := readLayout(folder)
		if err != nil || got != version {
			t.Fatalf("the layout has the tag %q, %v, want %s", got, err, version)
		}
		if err := validate.Index(found); err != nil || digestOf(t, found) != digestOf(t, index) {
			t.Errorf("the layout has %s, %v, want %s", digestOf(t, found), err, digestOf(t, index))
		}
	}
}

// TestLayoutsThatAreNotOurs: which image was meant can not be told.
func TestLayoutsThatAreNotOurs(t *testing.T) {
	annotated := func(tags ...string) func(t *testing.T, folder string) {
		return func(t *testing.T, folder string) {
			t.Helper()
			root, err := layout.Write(folder, empty.Index)
			for _, version := range tags {
				err = errors.Join(err, root.AppendIndex(indexOf(t), layout.WithAnnotations(map[string]string{refName: version})))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for title, c := range map[string]struct {
		prepare func(t *testing.T, folder string)
		want    string
	}{
		"no folder":     {func(*testing.T, string) {}, "no such file"},
		"no layout":     {func(t *testing.T, folder string) { t.Helper(); write(t, folder+"/file", "") }, "index.json"},
		"no image":      {annotated(), "does not have one image with a tag"},
		"two images":    {annotated("v1", "v2"), "does not have one image with a tag"},
		"image, no tag": {annotated(""), "does not have one image with a tag"},
		"damaged": {func(t *testing.T, folder string) {
			t.Helper()
			annotated("v1")(t, folder)
			write(t, folder+"/index.json", "{")
		}, "unexpected end of JSON input"},
	} {
		folder := filepath.Join(t.TempDir(), "program")
		c.prepare(t, folder)
		if version, index, err := readLayout(folder); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v, %v, want %q", title, version, index, err, c.want)
		}
	}
}

func TestArchiveHasTheImageUnderItsName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "program.tar")
	target, image := tag(t, "quay.io/team/program:v1"), imageOf(t, checkout(t, 0o022, time.Now(), false), "amd64")
	if err := writeArchive(file, target, image); err != nil {
		t.Fatal(err)
	}
	loaded, err := tarball.ImageFromPath(file, &target)
	if err != nil {
		t.Fatal(err)
	}
	got, gotErr := loaded.ConfigName()
	want, wantErr := image.ConfigName()
	if gotErr != nil || wantErr != nil || got != want {
		t.Errorf("the archive has the image %s (%v), want %s (%v)", got, gotErr, want, wantErr)
	}
}

func TestPrintedNameHasADigestInsteadOfTheTag(t *testing.T) {
	image := imageOf(t, checkout(t, 0o022, time.Now(), false), "amd64")
	for reference, want := range map[string]string{
		"quay.io/team/program:v1":     "quay.io/team/program",
		"quay.io/team/program":        "quay.io/team/program",
		"quay.io/team/program:latest": "quay.io/team/program",
		"localhost:5000/program:5000": "localhost:5000/program",
		"busybox:1.37":                "busybox",
	} {
		var printed bytes.Buffer
		if err := printPinned(&printed, reference, tag(t, reference), image); err != nil || printed.String() != want+"@"+digestOf(t, image)+"\n" {
			t.Errorf("%s: printed %q, %v, want %s@%s", reference, &printed, err, want, digestOf(t, image))
		}
	}
}
