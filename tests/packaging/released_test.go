package packaging

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// released is an image in a release for a platform, or an archive.
type released struct {
	name  string
	files map[string][]byte
}

// releasedImages returns the images that `make release` built for each platform. Without a release, it skips the test.
func releasedImages(t *testing.T) []released {
	t.Helper()
	layouts, err := filepath.Glob(inProject("dist", "images", "*"))
	if err != nil || len(layouts) == 0 {
		t.Skip("make release makes the images")
	}
	type descriptor struct {
		Digest   string
		Platform struct{ Architecture string }
	}
	var all []released
	for _, layout := range layouts {
		blob := func(digest string) []byte {
			return []byte(content(t, filepath.Join(layout, "blobs", strings.ReplaceAll(digest, ":", "/"))))
		}
		var index, images struct{ Manifests []descriptor }
		if err := errors.Join(json.Unmarshal([]byte(content(t, filepath.Join(layout, "index.json"))), &index),
			json.Unmarshal(blob(index.Manifests[0].Digest), &images)); err != nil {
			t.Fatalf("%s: %v", layout, err)
		}
		for _, image := range images.Manifests {
			var manifest struct{ Layers []descriptor }
			if err := json.Unmarshal(blob(image.Digest), &manifest); err != nil {
				t.Fatalf("%s: %v", layout, err)
			}
			files := map[string][]byte{}
			for _, layer := range manifest.Layers {
				unpack(t, blob(layer.Digest), files)
			}
			all = append(all, released{path.Base(layout) + " for " + image.Platform.Architecture, files})
		}
	}
	return all
}

// unpack adds the files in a compressed archive.
func unpack(t *testing.T, archive []byte, files map[string][]byte) {
	t.Helper()
	uncompressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for reader := tar.NewReader(uncompressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

// linked returns the modules that all programs contain, as PATH@VERSION, and the Go version.
func (r released) linked() []string {
	var modules []string
	for _, file := range r.files {
		info, err := buildinfo.Read(bytes.NewReader(file))
		if err != nil { // not a program
			continue
		}
		modules = append(modules, info.GoVersion)
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			modules = append(modules, module.Path+"@"+module.Version)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// TestReleasedImages_haveNotices compares the notices in each image with the linked modules. Licenses require that notices accompany
// programs.
func TestReleasedImages_haveNotices(t *testing.T) {
	for _, image := range releasedImages(t) {
		var got []string
		for _, name := range regexp.MustCompile(`(?m)^(\S+[@.]\S+) \S+$`).FindAllSubmatch(image.files["licenses/NOTICES"], -1) {
			got = append(got, string(name[1]))
		}
		slices.Sort(got)
		if got, want := slices.Compact(got), image.linked(); !slices.Equal(got, want) {
			t.Errorf("%s has notices of\n%q\nand the modules\n%q", image.name, got, want)
		}
		isBundle := strings.HasPrefix(image.name, "echo-operator-bundle") // without programs
		if isBundle != (len(got) == 0) {
			t.Errorf("%s has %d notices", image.name, len(got))
		}
		if license := string(image.files["licenses/LICENSE"]); !isBundle && license != text(t, "LICENSE") {
			t.Errorf("%s has the license %q", image.name, license)
		}
	}
}
