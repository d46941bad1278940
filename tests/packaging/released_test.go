package packaging

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// released is a release artifact: an image for one platform, or an archive. The digest identifies the image's manifest or the archive.
type released struct {
	name, digest string
	files        map[string][]byte
}

// archived is a file in an archive.
type archived struct {
	name    string
	mode    int64
	content []byte
}

// releasedImages returns the images that `make release` built, separately for each platform. If there is no release, the test is skipped.
func releasedImages(t *testing.T) []released {
	t.Helper()
	layouts, err := filepath.Glob(inProject("dist", "images", "*"))
	if err != nil || len(layouts) == 0 {
		t.Skip("'make release' builds the images")
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
				for _, file := range unpack(t, blob(layer.Digest)) {
					files[file.name] = file.content
				}
			}
			all = append(all, released{path.Base(layout) + "_linux_" + image.Platform.Architecture, image.Digest, files})
		}
	}
	return all
}

// releasedArchives returns the archives that `make release` created.
func releasedArchives(t *testing.T) []released {
	t.Helper()
	archives, _ := filepath.Glob(inProject("dist", "archives", "*.tar.gz"))
	var all []released
	for _, file := range archives {
		archive, files := []byte(content(t, file)), map[string][]byte{}
		for _, each := range unpack(t, archive) {
			files[each.name] = each.content
		}
		digest := sha256.Sum256(archive)
		all = append(all, released{strings.TrimSuffix(path.Base(file), ".tar.gz"), "sha256:" + hex.EncodeToString(digest[:]), files})
	}
	return all
}

// unpack returns the files in a compressed archive, in order.
func unpack(t *testing.T, archive []byte) []archived {
	t.Helper()
	uncompressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var files []archived
	for reader := tar.NewReader(uncompressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, archived{header.Name, header.Mode, read})
	}
}

// linked returns the Go versions and the modules (PATH@VERSION) of all programs in the artifact. The project's own module is excluded.
func (r released) linked() []string {
	var modules []string
	for _, file := range r.files {
		info, err := buildinfo.Read(bytes.NewReader(file))
		if err != nil { // the file is not a program
			continue
		}
		modules = append(modules, info.GoVersion)
		for _, module := range append(info.Deps, &info.Main) {
			if module.Path == "github.com/echo-operator/echo-operator" {
				continue
			}
			if module.Replace != nil {
				module = module.Replace
			}
			modules = append(modules, module.Path+"@"+module.Version)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules)
}

// TestReleased_haveNotices compares the notices in each image and archive with the modules that are linked into its programs. Licenses
// require that their notices accompany the programs.
func TestReleased_haveNotices(t *testing.T) {
	for _, each := range append(releasedImages(t), releasedArchives(t)...) {
		folder := ""
		if _, isImage := each.files["licenses/LICENSE"]; isImage {
			folder = "licenses/"
		}
		var got []string
		for _, name := range regexp.MustCompile(`(?m)^(\S+[@.]\S+) \S+$`).FindAllSubmatch(each.files[folder+"NOTICES"], -1) {
			got = append(got, string(name[1]))
		}
		slices.Sort(got)
		if diff := cmp.Diff(each.linked(), slices.Compact(got)); diff != "" {
			t.Errorf("the notices (+) in %s do not match the modules (-):\n%s", each.name, diff)
		}
		isBundle := strings.HasPrefix(each.name, "echo-operator-bundle") // a bundle contains no programs
		if isBundle != (len(got) == 0) {
			t.Errorf("%s has %d notices", each.name, len(got))
		}
		if license := string(each.files[folder+"LICENSE"]); !isBundle && license != text(t, "LICENSE") {
			t.Errorf("%s has the license %q", each.name, license)
		}
	}
}

// TestReleasedBills_listWhatIsLinked compares the bills of materials from `make sbom` with the modules that are linked into the programs.
func TestReleasedBills_listWhatIsLinked(t *testing.T) {
	if _, err := os.Stat(inProject("dist", "sbom")); err != nil {
		t.Skip("'make sbom' writes the bills of materials")
	}
	for _, each := range append(releasedImages(t), releasedArchives(t)...) {
		bill := read[struct {
			DocumentNamespace string
			CreationInfo      struct{ Created string }
			Packages          []struct{ Name, VersionInfo, SPDXID string }
		}](t, "dist", "sbom", each.name+".spdx.json")
		if !strings.HasSuffix(bill.DocumentNamespace, "@"+each.digest) || bill.CreationInfo.Created != created(t) {
			t.Errorf("%s has the digest %s, but its bill is for %s, %s", each.name, each.digest, bill.DocumentNamespace, bill.CreationInfo.Created)
		}
		var got []string
		for _, module := range bill.Packages {
			switch {
			case !strings.HasPrefix(module.SPDXID, "SPDXRef-Package-go-module-"):
			case module.Name == "stdlib":
				got = append(got, module.VersionInfo)
			case module.Name != "github.com/echo-operator/echo-operator":
				got = append(got, module.Name+"@"+module.VersionInfo)
			case module.VersionInfo != "v"+version(t):
				t.Errorf("the bill of %s has the version %s of the project", each.name, module.VersionInfo)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(each.linked(), slices.Compact(got)); diff != "" {
			t.Errorf("the bill of %s lists modules (+) that do not match the linked ones (-):\n%s", each.name, diff)
		}
	}
}
