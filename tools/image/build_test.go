package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// everything is a Dockerfile with all that an image may have.
const everything = `ARG VERSION=0.0.0
FROM golang:1.27.3 AS build
FROM scratch
ARG VERSION
ARG TARGETARCH
LABEL version=$VERSION architecture=$TARGETARCH
COPY --from=build /out/program /bin/
COPY LICENSE /licenses/LICENSE
COPY --chown=1001:7 catalog /configs
WORKDIR /work
ENV PATH=/bin
EXPOSE 8080
USER 65532:65532
ENTRYPOINT ["/bin/program"]
CMD ["serve"]
`

// checkout makes the same project in a new folder each time, with files that are created in the given order, under a umask and with
// a time of their own.
func checkout(t *testing.T, umask int, modified time.Time, backwards bool) source {
	t.Helper()
	defer syscall.Umask(syscall.Umask(umask))
	root := t.TempDir()
	files := []string{"LICENSE", "catalog/a.yaml", "catalog/b/c.yaml", "catalog/hook", "bin/linux-amd64/program", "bin/linux-arm64/program"}
	if backwards {
		slices.Reverse(files)
	}
	for _, name := range files {
		file := filepath.Join(root, name)
		mode := os.FileMode(0o666)
		if strings.HasSuffix(name, "program") || strings.HasSuffix(name, "hook") {
			mode = 0o777
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte("content of "+name), mode),
			os.Chtimes(file, modified, modified), os.Chtimes(filepath.Dir(file), modified, modified)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.WriteFile(filepath.Join(root, "Dockerfile"), []byte(everything), 0o600),
		os.Symlink("a.yaml", filepath.Join(root, "catalog/link"))); err != nil {
		t.Fatal(err)
	}
	return source{dockerfile: filepath.Join(root, "Dockerfile"), context: root, binaries: filepath.Join(root, "bin"), args: map[string]string{}}
}

func platform(architecture string) v1.Platform {
	return v1.Platform{OS: "linux", Architecture: architecture}
}

// imageOf builds the image of a project.
func imageOf(t *testing.T, from source, architecture string) v1.Image {
	t.Helper()
	image, err := from.image(platform(architecture))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func digestOf(t *testing.T, built artifact) string {
	t.Helper()
	digest, err := built.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// TestTheSameFilesMakeTheSameImage: whoever builds a release again gets the digests that were published.
func TestTheSameFilesMakeTheSameImage(t *testing.T) {
	now, past := time.Unix(1_700_000_000, 5), time.Unix(1_000, 0)
	want := digestOf(t, imageOf(t, checkout(t, 0o022, now, false), "amd64"))
	for name, from := range map[string]source{
		"another folder":    checkout(t, 0o022, now, false),
		"a strict umask":    checkout(t, 0o077, now, false),
		"a loose umask":     checkout(t, 0, now, false),
		"another time":      checkout(t, 0o022, past, false),
		"another order":     checkout(t, 0o022, now, true),
		"all of it at once": checkout(t, 0o027, past, true),
	} {
		if got := digestOf(t, imageOf(t, from, "amd64")); got != want {
			t.Errorf("%s: the digest is %s, want %s", name, got, want)
		}
	}
}

// TestOtherFilesMakeAnotherImage: a digest stands for all that is in an image.
func TestOtherFilesMakeAnotherImage(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	seen := map[string]string{digestOf(t, imageOf(t, checkout(t, 0o022, now, false), "amd64")): "the project as it is"}
	for name, change := range map[string]func(root string) error{
		"content": func(root string) error {
			return os.WriteFile(root+"/catalog/a.yaml", []byte("CONTENT of catalog/a.yaml"), 0o600)
		},
		"program":      func(root string) error { return os.WriteFile(root+"/bin/linux-amd64/program", []byte("other"), 0o600) },
		"name":         func(root string) error { return os.Rename(root+"/catalog/a.yaml", root+"/catalog/A.yaml") },
		"bit to run":   func(root string) error { return os.Chmod(root+"/catalog/hook", 0o644) },
		"empty folder": func(root string) error { return os.Mkdir(root+"/catalog/empty", 0o700) },
		"link": func(root string) error {
			return errors.Join(os.Remove(root+"/catalog/link"), os.Symlink("hook", root+"/catalog/link"))
		},
		"configuration": func(root string) error {
			return os.WriteFile(root+"/Dockerfile", []byte(strings.Replace(everything, "serve", "help", 1)), 0o600)
		},
	} {
		from := checkout(t, 0o022, now, false)
		if err := change(from.context); err != nil {
			t.Fatal(err)
		}
		digest := digestOf(t, imageOf(t, from, "amd64"))
		if seen[digest] != "" {
			t.Errorf("another %s: the digest is that of %s", name, seen[digest])
		}
		seen[digest] = "another " + name
	}
}

func TestConfigurationOfAnImage(t *testing.T) {
	from := checkout(t, 0o022, time.Now(), false)
	from.args["VERSION"] = "1.2.3"
	image := imageOf(t, from, "arm64")
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm64" || !config.Created.Equal(time.Unix(0, 0)) || len(config.History) != 1 || !config.History[0].Created.Equal(time.Unix(0, 0)) {
		t.Errorf("the image is for %s/%s, of %s, with the history %+v", config.OS, config.Architecture, config.Created, config.History)
	}
	c := config.Config
	if c.User != "65532:65532" || c.WorkingDir != "/work" || !slices.Equal(c.Entrypoint, []string{"/bin/program"}) || !slices.Equal(c.Cmd, []string{"serve"}) ||
		!slices.Equal(c.Env, []string{"PATH=/bin"}) || c.Labels["version"] != "1.2.3" || c.Labels["architecture"] != "arm64" || len(c.ExposedPorts) != 1 {
		t.Errorf("the configuration is %+v", c)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.MediaType != types.OCIManifestSchema1 || manifest.Config.MediaType != types.OCIConfigJSON || len(manifest.Layers) != 1 ||
		manifest.Layers[0].MediaType != types.OCILayer {
		t.Errorf("the manifest is not one of OCI with one layer: %+v", manifest)
	}
}

// filesOf returns the content of the regular files of an image.
func filesOf(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(content)
		for header, err := archive.Next(); !errors.Is(err, io.EOF); header, err = archive.Next() {
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			if header.Typeflag == tar.TypeReg {
				files[header.Name] = string(text)
			}
		}
	}
	return files
}

func TestIndexHasTheProgramOfEachPlatform(t *testing.T) {
	index, err := checkout(t, 0o022, time.Now(), false).index([]v1.Platform{platform("arm64"), platform("amd64")})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || manifest.MediaType != types.OCIImageIndex || len(manifest.Manifests) != 2 {
		t.Fatalf("the index is %+v, %v", manifest, err)
	}
	for i, architecture := range []string{"arm64", "amd64"} {
		described := manifest.Manifests[i]
		if described.Platform == nil || described.Platform.String() != "linux/"+architecture || described.MediaType != types.OCIManifestSchema1 {
			t.Errorf("image %d is described as %+v", i, described)
		}
		image, err := index.Image(described.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil || config.Architecture != architecture {
			t.Errorf("image %d is for %+v, %v, want %s", i, config, err, architecture)
		}
		if got := filesOf(t, image)["bin/program"]; got != "content of bin/linux-"+architecture+"/program" {
			t.Errorf("the image for %s has the program %q", architecture, got)
		}
	}
}

func TestImageWithoutFilesHasNoLayer(t *testing.T) {
	from := checkout(t, 0o022, time.Now(), false)
	if err := os.WriteFile(from.dockerfile, []byte("FROM scratch\nUSER 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	layers, err := imageOf(t, from, "amd64").Layers()
	if err != nil || len(layers) != 0 {
		t.Errorf("the layers are %v, %v", layers, err)
	}
}

func TestBuildErrorsNameTheLine(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(from *source) error
		want  string
	}{
		"no program":    {func(from *source) error { return os.Remove(from.binaries + "/linux-arm64/program") }, "Dockerfile:7: "},
		"no programs":   {func(from *source) error { from.binaries = "absent"; return nil }, "Dockerfile:7: stat absent/linux-amd64/program"},
		"no file":       {func(from *source) error { return os.Remove(from.context + "/LICENSE") }, "Dockerfile:8: "},
		"no folder":     {func(from *source) error { return os.RemoveAll(from.context + "/catalog") }, "Dockerfile:9: "},
		"no Dockerfile": {func(from *source) error { return os.Remove(from.dockerfile) }, "no such file"},
	} {
		from := checkout(t, 0o022, time.Now(), false)
		if err := c.spoil(&from); err != nil {
			t.Fatal(err)
		}
		if _, err := from.index([]v1.Platform{platform("amd64"), platform("arm64")}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestPlatforms(t *testing.T) {
	for list, want := range map[string]string{
		"linux/amd64":                          "linux/amd64",
		"linux/arm64,linux/amd64,linux/s390x":  "linux/arm64 linux/amd64 linux/s390x",
		"":                                     `error: the platform ""`,
		"linux":                                `error: the platform "linux" is not of the form linux/ARCHITECTURE`,
		"linux/":                               `error: the platform "linux/"`,
		"windows/amd64":                        `error: the platform "windows/amd64"`,
		"linux/arm/v7":                         `error: the platform "linux/arm/v7"`,
		"linux/amd64,":                         `error: the platform ""`,
		"linux/amd64,darwin/arm64":             `error: the platform "darwin/arm64"`,
		"linux/amd64, linux/arm64":             "linux/amd64 linux/arm64",
		"linux/amd64/v1/x":                     "error: ",
		"linux/amd64,linux/arm64,linux/arm/v6": `error: the platform "linux/arm/v6"`,
	} {
		platforms, err := parsePlatforms(list)
		var names []string
		for _, p := range platforms {
			names = append(names, p.String())
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if isError := strings.HasPrefix(want, "error: "); isError && !strings.HasPrefix(got, want) || !isError && got != want {
			t.Errorf("%q: %q, want %q", list, got, want)
		}
	}
}
