package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const program = `ARG VERSION=0.0.0
FROM golang:1.27.3 AS build
FROM scratch
ARG VERSION
LABEL version=$VERSION
COPY --from=build /out/program /program
USER 65532
ENTRYPOINT ["/program"]
`

// project enters a folder with a Dockerfile and programs for two architectures.
func project(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "Dockerfile", program)
	write(t, "bin/linux-amd64/program", "for amd64")
	write(t, "bin/linux-arm64/program", "for arm64")
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

// server starts a registry and returns its address.
func server(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// command runs the program and returns what it printed.
func command(t *testing.T, arguments ...string) string {
	t.Helper()
	var printed bytes.Buffer
	if err := run(t.Context(), arguments, &printed); err != nil {
		t.Fatalf("image %s: %v", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(printed.String())
}

func descriptor(t *testing.T, reference string) *remote.Descriptor {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Get(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestOneArchitectureIsAnImage(t *testing.T) {
	project(t)
	mirror := server(t)
	printed := command(t, "build", "-platforms=linux/arm64", "-version=1.2.3", "-mirror="+mirror, "quay.io/team/program:v1.2.3")
	found := descriptor(t, mirror+"/team/program:v1.2.3")
	if want := "quay.io/team/program@" + found.Digest.String(); printed != want {
		t.Errorf("printed %q, want %q", printed, want)
	}
	image, err := found.Image()
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm64" || config.Config.Labels["version"] != "1.2.3" || config.Config.User != "65532" {
		t.Errorf("the configuration is %+v", config)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}
}

func TestSeveralArchitecturesAreAnIndex(t *testing.T) {
	project(t)
	prefix := server(t) + "/team"
	printed := command(t, "build", "-platforms=linux/amd64,linux/arm64", prefix+"/program:v1")
	found := descriptor(t, prefix+"/program:v1")
	index, err := found.ImageIndex()
	if err != nil || !strings.HasSuffix(printed, "@"+found.Digest.String()) {
		t.Fatalf("printed %q for %s: %v", printed, found.Digest, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, image := range manifest.Manifests {
		platforms = append(platforms, image.Platform.String())
		if image.ArtifactType != "" {
			t.Errorf("the image for %s is the artifact %s", image.Platform, image.ArtifactType)
		}
	}
	if got := strings.Join(platforms, " "); got != "linux/amd64 linux/arm64" {
		t.Errorf("the platforms are %s", got)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}

func TestLayoutIsPushedUnderTheSameDigest(t *testing.T) {
	project(t)
	for _, folder := range []string{"first", "second"} {
		command(t, "build", "-platforms=linux/amd64,linux/arm64", "-layout=dist/program", "quay.io/team/program:v1")
		if err := os.Chmod("bin/linux-amd64/program", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename("dist/program", folder); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := os.ReadFile("first/index.json")
	second, _ := os.ReadFile("second/index.json")
	if len(first) == 0 || !bytes.Equal(first, second) {
		t.Errorf("two builds differ: %s and %s", first, second)
	}
	prefix := server(t) + "/other"
	printed := command(t, "push", prefix, "first", "second")
	digest := descriptor(t, prefix+"/first:v1").Digest
	if want := prefix + "/first@" + digest.String() + "\n" + prefix + "/second@" + digest.String(); printed != want {
		t.Errorf("printed %q, want %q", printed, want)
	}
	command(t, "push", "-tag=latest", prefix, "first")
	if latest := descriptor(t, prefix+"/first:latest").Digest; latest != digest {
		t.Errorf("the other tag has the digest %s, want %s", latest, digest)
	}
	command(t, "copy", prefix+"/first@"+digest.String(), prefix+"/mirror/first@"+digest.String())
	if copied := descriptor(t, prefix+"/mirror/first@"+digest.String()).Digest; copied != digest {
		t.Errorf("the copy has the digest %s, want %s", copied, digest)
	}
	if !bytes.Contains(first, []byte(digest.Hex)) {
		t.Errorf("the digest %s is not that of the layout: %s", digest, first)
	}
}

func TestArchiveForDocker(t *testing.T) {
	project(t)
	printed := command(t, "build", "-platforms=linux/amd64", "-archive=out/program.tar", "quay.io/team/program:v1")
	tag, err := name.NewTag("quay.io/team/program:v1")
	if err != nil {
		t.Fatal(err)
	}
	image, err := tarball.ImageFromPath("out/program.tar", &tag)
	if err != nil {
		t.Fatal(err)
	}
	var digest v1.Hash
	if digest, err = image.ConfigName(); err != nil || printed == "" || digest.Hex == "" {
		t.Errorf("printed %q; the archive has %s (%v)", printed, digest, err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	project(t)
	for arguments, want := range map[string]string{
		"":                                      "a command is required",
		"pull x":                                `unknown command "pull"`,
		"build":                                 "needs one image reference",
		"build a b":                             "needs one image reference",
		"build -platforms=amd64 quay.io/a/b:v1": "not of the form linux/ARCHITECTURE",
		"build -platforms=linux/s390x quay.io/a/b:v1":                        "Dockerfile:6: stat bin/linux-s390x/program",
		"build -archive=a -platforms=linux/amd64,linux/arm64 quay.io/a/b:v1": "one platform",
		"build -file=absent quay.io/a/b:v1":                                  "no such file",
		"push quay.io/a":                                                     "needs the prefix",
		"push quay.io/a bin":                                                 "bin: ",
	} {
		err := run(t.Context(), strings.Fields(arguments), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("image %s: %v, want %q", arguments, err, want)
		}
	}
}
