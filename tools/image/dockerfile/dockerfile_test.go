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
FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
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
		"FROM scratch AS self\nCOPY --from=self /out/a /a\n":               "no earlier stage",
		"FROM golang AS build\nFROM scratch\nCOPY --from=build /go/a /a\n": "below /out/, not /go/a",
		"FROM scratch\nCOPY <<EOF /a\ntext\nEOF\n":                         "here-document",
	} {
		if _, err := read(t, content, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

// TestUnsupportedInstructionsNameTheLine: a builder would obey these, so that an image without them would be another one.
func TestUnsupportedInstructionsNameTheLine(t *testing.T) {
	for _, instruction := range []string{
		"RUN [\"/program\"]", "ADD a /a", "VOLUME /data", "STOPSIGNAL SIGINT", "HEALTHCHECK CMD [\"/program\"]", "SHELL [\"/bin/sh\"]",
		"ONBUILD LABEL a=b", "MAINTAINER somebody",
	} {
		name, _, _ := strings.Cut(instruction, " ")
		_, err := read(t, "FROM scratch\nUSER 1\n"+instruction+"\n", nil)
		if want := "Dockerfile:3: " + name + " is not supported in the final stage"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if _, err := read(t, "FROM scratch\n"+instruction+"\nFROM scratch\nUSER 1\n", nil); err != nil {
			t.Errorf("%s in an earlier stage: %v", name, err)
		}
	}
}

func TestVariables(t *testing.T) {
	given := map[string]string{"GIVEN": "given", "TARGETARCH": "s390x", "TARGETOS": "windows"}
	for name, c := range map[string]struct{ commands, want string }{
		"build argument without a default":              {"ARG GIVEN\nLABEL v=$GIVEN", "given"},
		"build argument in place of the default":        {"ARG GIVEN=x\nLABEL v=$GIVEN", "given"},
		"default":                                       {"ARG V=default\nLABEL v=$V", "default"},
		"default in quotes":                             {"ARG V=\"a default\"\nLABEL v=$V", "a default"},
		"default of another argument":                   {"ARG A=a\nARG V=$A-v\nLABEL v=$V", "a-v"},
		"empty default":                                 {"ARG V=\nLABEL v=x$V", "x"},
		"two arguments on a line":                       {"ARG A=a B=b\nLABEL v=$A$B", "ab"},
		"architecture in spite of a build argument":     {"ARG TARGETARCH\nLABEL v=$TARGETARCH", "arm64"},
		"operating system in spite of a build argument": {"ARG TARGETOS\nLABEL v=$TARGETOS", "linux"},
		"platform":                              {"ARG TARGETPLATFORM\nLABEL v=$TARGETPLATFORM", "linux/arm64"},
		"environment variable":                  {"ENV V=set\nLABEL v=${V}", "set"},
		"environment variable over an argument": {"ARG V=x\nENV V=set\nLABEL v=$V", "set"},
		"environment before the instruction":    {"ENV A=old\nENV A=new V=$A\nLABEL v=$V", "old"},
		"single quotes":                         {"ARG V=x\nLABEL v='$V'", "$V"},
		"escaped dollar":                        {"ARG V=x\nLABEL v=\\$V", "$V"},
		"last label":                            {"LABEL v=first\nLABEL v=last", "last"},
	} {
		stage, err := read(t, "FROM scratch\n"+c.commands+"\n", given)
		if err != nil || stage.Config.Labels["v"] != c.want {
			t.Errorf("%s: %+v, %v, want the label %q", name, stage, err, c.want)
		}
	}
	if given["TARGETARCH"] != "s390x" || len(given) != 3 {
		t.Errorf("the build arguments became %v", given)
	}
}

// TestUnsetVariables: an argument of another stage, or before the first one, is set only where an ARG of the final stage names it.
func TestUnsetVariables(t *testing.T) {
	for name, content := range map[string]string{
		"without ARG":               "FROM scratch\nLABEL v=$V\n",
		"without a value":           "FROM scratch\nARG V\nLABEL v=$V\n",
		"argument of another stage": "FROM golang AS build\nARG V=1\nFROM scratch\nLABEL v=$V\n",
		"ARG after its use":         "FROM scratch\nLABEL v=$V\nARG V=1\n",
		"platform without ARG":      "FROM scratch\nARG X=1\nLABEL v=$V$TARGETARCH\n",
		"in the user":               "FROM scratch\nUSER $V\n",
		"in the environment":        "FROM scratch\nENV A=$V\n",
		"in the working directory":  "FROM scratch\nWORKDIR $V\n",
	} {
		if _, err := read(t, content, map[string]string{}); err == nil || !strings.Contains(err.Error(), "V is not set") && !strings.Contains(err.Error(), "V, TARGETARCH") {
			t.Errorf("%s: %v, want an error that names V", name, err)
		}
	}
}

// TestCommands: an image from scratch has no shell, so that variables of a command stay as they are.
func TestCommands(t *testing.T) {
	stage, err := read(t, "FROM scratch\nARG V=1\nENTRYPOINT [\"/old\"]\nENTRYPOINT [\"/program\", \"$V\"]\nCMD [\"-a\", \"b c\"]\nEXPOSE 1/udp 2\nEXPOSE 2/tcp 3\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Entrypoint: []string{"/program", "$V"}, Cmd: []string{"-a", "b c"},
		ExposedPorts: map[string]struct{}{"1/udp": {}, "2/tcp": {}, "3/tcp": {}}}
	if !reflect.DeepEqual(stage.Config, want) {
		t.Errorf("the configuration is %+v, want %+v", stage.Config, want)
	}
}

func TestFilesThatAreNoDockerfile(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"empty":                        {"", "Dockerfile: "},
		"comment only":                 {"# nothing\n", "Dockerfile: "},
		"argument only":                {"ARG A=1\n", "Dockerfile: there is no FROM instruction"},
		"argument that hides the arch": {"ARG TARGETARCH=amd64\nFROM scratch\n", "Dockerfile:1: ARG TARGETARCH has a default"},
		"missing argument":             {"FROM scratch\nUSER\n", "line 2"},
		"earlier stage as the base":    {"FROM scratch AS a\nFROM a\n", "Dockerfile:2: the final stage is FROM a;"},
	} {
		if stage, err := read(t, c.content, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", name, stage, err, c.want)
		}
	}
}
