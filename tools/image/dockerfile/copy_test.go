package dockerfile

import (
	"reflect"
	"strings"
	"testing"
)

// final is the beginning of a Dockerfile with two earlier stages, of which one has no name. It is three lines long.
const final = "FROM golang AS build\nFROM golang\nFROM scratch\n"

// readCopies returns the COPY instructions of a final stage, without their positions.
func readCopies(t *testing.T, commands string) []Copy {
	t.Helper()
	stage, err := read(t, final+commands, map[string]string{"VERSION": "1.2.3"})
	if err != nil {
		t.Fatalf("%q: %v", commands, err)
	}
	for i := range stage.Copies {
		stage.Copies[i].Position = ""
	}
	return stage.Copies
}

func TestCopyDestination(t *testing.T) {
	for name, c := range map[string]struct{ commands, want string }{
		"absolute file":                   {"COPY a /b\n", "/b"},
		"absolute directory":              {"COPY a /b/\n", "/b/"},
		"root directory":                  {"COPY a /\n", "/"},
		"relative to the root":            {"COPY a b\n", "/b"},
		"current directory":               {"COPY a .\n", "/"},
		"unclean path":                    {"COPY a /b//c/../d\n", "/b/d"},
		"unclean directory":               {"COPY a /b/c/./\n", "/b/c/"},
		"path above the root":             {"COPY a /../../b\n", "/b"},
		"relative to WORKDIR":             {"WORKDIR /work\nCOPY a b\n", "/work/b"},
		"WORKDIR itself is a directory":   {"WORKDIR /work\nCOPY a .\n", "/work/"},
		"WORKDIR with a slash":            {"WORKDIR /work\nCOPY a ./\n", "/work/"},
		"above WORKDIR":                   {"WORKDIR /work/deep\nCOPY a ../b\n", "/work/b"},
		"absolute in spite of WORKDIR":    {"WORKDIR /work\nCOPY a /b\n", "/b"},
		"variable":                        {"ARG TARGETARCH\nCOPY a /b/$TARGETARCH\n", "/b/arm64"},
		"build argument":                  {"ARG VERSION\nCOPY a /b-${VERSION}/\n", "/b-1.2.3/"},
		"JSON form with spaces in a name": {"COPY [\"a\", \"/b c\"]\n", "/b c"},
	} {
		copies := readCopies(t, c.commands)
		if got := copies[len(copies)-1].Destination; got != c.want {
			t.Errorf("%s: the destination is %q, want %q", name, got, c.want)
		}
	}
}

func TestCopySources(t *testing.T) {
	for name, c := range map[string]struct {
		command string
		built   bool
		want    []string
	}{
		"file of the context":             {"COPY LICENSE /a", false, []string{"LICENSE"}},
		"leading slash":                   {"COPY /docs/LICENSE /a", false, []string{"docs/LICENSE"}},
		"unclean path":                    {"COPY ./docs/../LICENSE /a", false, []string{"LICENSE"}},
		"folder":                          {"COPY docs/ /a", false, []string{"docs"}},
		"several":                         {"COPY b a /c/", false, []string{"b", "a"}},
		"several into the root":           {"COPY b a /", false, []string{"b", "a"}},
		"name that begins with two dots":  {"COPY ..a /b", false, []string{"..a"}},
		"name with a space":               {`COPY ["a b", "/c"]`, false, []string{"a b"}},
		"output of a build":               {"COPY --from=build /out/program /a", true, []string{"program"}},
		"folder of the output of a build": {"COPY --from=build /out/cache/ /a", true, []string{"cache"}},
		"several outputs":                 {"COPY --from=build /out/b /out/a /c/", true, []string{"b", "a"}},
	} {
		want := []Copy{{Sources: c.want, Built: c.built}}
		got := readCopies(t, c.command+"\n")
		got[0].Destination = ""
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestCopyOwner(t *testing.T) {
	for name, c := range map[string]struct {
		flag     string
		uid, gid int
	}{
		"root by default":                       {"", 0, 0},
		"user and group":                        {"--chown=1001:7", 1001, 7},
		"group of the same number":              {"--chown=1001", 1001, 1001},
		"group of root":                         {"--chown=1001:0", 1001, 0},
		"root with a group":                     {"--chown=0:7", 0, 7},
		"build argument as the number":          {"--chown=$ID", 65532, 65532},
		"owner of files of an earlier stage":    {"--from=build --chown=5:6", 5, 6},
		"owner of files whose flag comes first": {"--chown=5:6 --from=build", 5, 6},
	} {
		got := readCopies(t, "ARG ID=65532\nCOPY "+c.flag+" /out/a /b\n")
		if len(got) != 1 || got[0].UID != c.uid || got[0].GID != c.gid {
			t.Errorf("%s: %+v, want %d:%d", name, got, c.uid, c.gid)
		}
	}
}

// TestUserDoesNotOwnCopies: USER is who runs the program, and not who owns its file.
func TestUserDoesNotOwnCopies(t *testing.T) {
	if got := readCopies(t, "USER 65532:65532\nCOPY a /b\nWORKDIR /work\n"); got[0].UID != 0 || got[0].GID != 0 || got[1].UID != 0 {
		t.Errorf("the copies are %+v, want files of root", got)
	}
}

// TestCopyErrorsNameTheLine: a COPY that is not understood fails, with the line on which it begins.
func TestCopyErrorsNameTheLine(t *testing.T) {
	for name, c := range map[string]struct{ command, want string }{
		"mode":                        {"COPY --chmod=755 a /a", "--from and --chown only"},
		"link":                        {"COPY --link a /a", "--from and --chown only"},
		"parents":                     {"COPY --parents a/b /a", "--from and --chown only"},
		"exclusion":                   {"COPY --exclude=x a /a", "--from and --chown only"},
		"name of a user":              {"COPY --chown=0:staff a /a", "COPY --chown=0:staff: user and group must be numbers"},
		"empty group":                 {"COPY --chown=1001: a /a", "must be numbers"},
		"empty user":                  {"COPY --chown=:1001 a /a", "must be numbers"},
		"unknown stage":               {"COPY --from=other /out/a /a", "COPY --from=other: there is no earlier stage"},
		"stage by number":             {"COPY --from=1 /out/a /a", "no earlier stage"},
		"image as a stage":            {"COPY --from=docker.io/library/busybox /out/a /a", "no earlier stage"},
		"output without a name":       {"COPY --from=build /out/ /a", "name a file or a folder"},
		"folder with a similar name":  {"COPY --from=build /output/a /a", "below /out/, not /output/a"},
		"relative output":             {"COPY --from=build out/a /a", "below /out/, not out/a"},
		"outside of the output":       {"COPY --from=build /out/../a /a", "name a file or a folder"},
		"outside of the context":      {"COPY a/../../b /a", "name a file or a folder"},
		"the whole context":           {"COPY ./ /a/", "name a file or a folder"},
		"wildcard of one character":   {"COPY a? /a", "COPY a?: wildcards are not supported"},
		"wildcard of some characters": {"COPY a[bc] /a", "wildcards"},
		"second source":               {"COPY a .. /a/", "name a file or a folder"},
		"several sources":             {"COPY a b /c", "ends with a slash"},
		"unset variable":              {"COPY $NOTHING /a", "NOTHING is not set"},
	} {
		_, err := read(t, final+"LABEL a=b \\\n c=d\n"+c.command+"\n", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil || !strings.Contains(err.Error(), "Dockerfile:6: ") {
			t.Errorf("%s: %v, want the line 6", name, err)
		}
	}
}

func TestCopyPosition(t *testing.T) {
	stage, err := read(t, final+"# a comment\n\nLABEL a=b \\\n  c=d\nCOPY \\\n  a \\\n  /b\nWORKDIR /c\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(stage.Copies) != 2 || stage.Copies[0].Position != "Dockerfile:8" || stage.Copies[1].Position != "Dockerfile:11" {
		t.Errorf("the copies are %+v, want positions on the lines 8 and 11", stage.Copies)
	}
}
