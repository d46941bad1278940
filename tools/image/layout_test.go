package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

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

// TestLayoutsThatAreNotOurs checks that a layout that does not contain exactly one tagged image is rejected.
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
