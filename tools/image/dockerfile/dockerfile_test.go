package dockerfile

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func read(t *testing.T, content string, args map[string]string) (*Stage, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Dockerfile")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	stage, err := Read(path, v1.Platform{OS: "linux", Architecture: "arm64"}, args)
	if stage != nil {
		for i := range stage.Copies {
			stage.Copies[i].Position = filepath.Base(stage.Copies[i].Position)
		}
	}
	return stage, err
}

func TestFinalStage(t *testing.T) {
	stage, err := read(t, `ARG VERSION=0.1.0
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETARCH
RUN GOARCH=$TARGETARCH go build -o /out/program .

FROM scratch
ARG VERSION
ARG TARGETARCH
LABEL name="a program" \
      version="v${VERSION}" architecture=$TARGETARCH
COPY LICENSE docs/x /licenses/
COPY --from=build /out/program /bin/program
COPY --chown=1001 catalog /configs
WORKDIR /work
WORKDIR deeper
USER 65532:65532
ENV PATH=/usr/bin HOME=/work
ENV PATH=/bin
EXPOSE 8080 53/udp
ENTRYPOINT ["/bin/program"]
CMD ["serve"]
`, map[string]string{"VERSION": "1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	want := &Stage{
		Config: v1.Config{
			User: "65532:65532", WorkingDir: "/work/deeper", Env: []string{"HOME=/work", "PATH=/bin"},
			Entrypoint: []string{"/bin/program"}, Cmd: []string{"serve"},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}, "53/udp": {}},
			Labels:       map[string]string{"name": "a program", "version": "v1.2.3", "architecture": "arm64"},
		},
		Copies: []Copy{
			{Sources: []string{"LICENSE", "docs/x"}, Destination: "/licenses/", Position: "Dockerfile:11"},
			{Sources: []string{"program"}, Built: true, Destination: "/bin/program", Position: "Dockerfile:12"},
			{Sources: []string{"catalog"}, Destination: "/configs", UID: 1001, GID: 1001, Position: "Dockerfile:13"},
			{Destination: "/work", Position: "Dockerfile:14"},
			{Destination: "/work/deeper", Position: "Dockerfile:15"},
		},
	}
	if !reflect.DeepEqual(stage, want) {
		t.Errorf("the stage is\n%+v, want\n%+v", stage, want)
	}
}

func TestDefaultsOfArguments(t *testing.T) {
	for given, want := range map[string]string{"": "0.1.0", "2.0.0": "2.0.0"} {
		args := map[string]string{}
		if given != "" {
			args["VERSION"] = given
		}
		stage, err := read(t, "ARG VERSION=0.1.0\nFROM scratch\nARG VERSION\nLABEL version=$VERSION\n", args)
		if err != nil || stage.Config.Labels["version"] != want {
			t.Errorf("given %q: %+v, %v; want the version %s", given, stage, err, want)
		}
	}
}

// TestRefusals: what is not understood must never be left out silently.
func TestRefusals(t *testing.T) {
	for content, want := range map[string]string{
		"LABEL a=b\n":                                                      "no build stage",
		"FROM alpine:3.22\n":                                               "Dockerfile:1: the final stage is FROM alpine:3.22",
		"FROM scratch\nRUN true\n":                                         "Dockerfile:2: RUN is not supported",
		"FROM scratch\nADD a /a\n":                                         "ADD is not supported",
		"FROM scratch\nUNKNOWN a\n":                                        "unknown instruction",
		"FROM scratch\nARG TARGETARCH=amd64\n":                             "ARG TARGETARCH has a default",
		"ARG V=1\nFROM scratch\nLABEL v=$V\n":                              "Dockerfile:3: V is not set",
		"FROM scratch\nENTRYPOINT /program\n":                              "shell form",
		"FROM scratch\nCMD serve\n":                                        "shell form",
		"FROM scratch\nEXPOSE http\n":                                      "not a port number",
		"FROM scratch\nCOPY . /\n":                                         "name a file or a folder in the build context",
		"FROM scratch\nCOPY ../a /\n":                                      "name a file or a folder in the build context",
		"FROM scratch\nCOPY a* /\n":                                        "wildcards",
		"FROM scratch\nCOPY a b /c\n":                                      "ends with a slash",
		"FROM scratch\nCOPY --chmod=600 a /a\n":                            "--from and --chown only",
		"FROM scratch\nCOPY --chown=nobody a /a\n":                         "must be numbers",
		"FROM scratch\nCOPY --from=build /out/a /a\n":                      "no earlier stage",
		"FROM golang AS build\nFROM scratch\nCOPY --from=build /go/a /a\n": "below /out/, not /go/a",
		"FROM scratch\nCOPY <<EOF /a\ntext\nEOF\n":                         "here-document",
	} {
		if _, err := read(t, content, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}
