package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
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

// TestPushIsConfirmed checks that a push fails if the registry stores something else, or nothing.
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
		"unknown type":   {false, good + "/program:v1", "", struct{ artifact }{image}, "cannot be pushed"},
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
