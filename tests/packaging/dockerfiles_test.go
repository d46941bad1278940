package packaging

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is a Dockerfile instruction, joined into one line.
type instruction struct{ name, arguments string }

// dockerfiles returns the instructions in each of the project's Dockerfiles.
func dockerfiles(t *testing.T) map[string][]instruction {
	t.Helper()
	found := map[string][]instruction{}
	for _, file := range filesNamed(t, "*Dockerfile") {
		found[file] = instructions(text(t, file))
	}
	if len(found) < 3 {
		t.Fatalf("there are %d Dockerfiles", len(found))
	}
	return found
}

func instructions(content string) []instruction {
	content = regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(content, "")
	content = regexp.MustCompile(`\s*\\\n\s*`).ReplaceAllString(content, " ")
	var all []instruction
	for line := range strings.Lines(content) {
		if name, arguments, found := strings.Cut(strings.TrimSpace(line), " "); found {
			all = append(all, instruction{name, strings.TrimSpace(arguments)})
		}
	}
	return all
}

// TestPlatformsAreThoseOfBuildKit checks that platform arguments have no defaults, which would override the platform that BuildKit sets.
func TestPlatformsAreThoseOfBuildKit(t *testing.T) {
	for file, all := range dockerfiles(t) {
		for _, i := range all {
			if i.name == "ARG" && regexp.MustCompile(`\b(TARGET|BUILD)(OS|ARCH|PLATFORM)=`).MatchString(i.arguments) {
				t.Errorf("%s: ARG %s has a default", file, i.arguments)
			}
		}
	}
}

// imageOf returns an image's instructions, including the instructions of the stages that the image is based on. The first instruction is
// the FROM instruction with the base image.
func imageOf(t *testing.T, file, program string) []instruction {
	t.Helper()
	stages, stage := map[string][]instruction{}, ""
	for _, i := range dockerfiles(t)[file] {
		if i.name == "FROM" {
			var base string
			base, stage, _ = strings.Cut(i.arguments, " AS ")
			base = strings.ReplaceAll(base, "${PROGRAM:-operator}", cmp.Or(program, "operator"))
			if stages[stage] = slices.Clone(stages[base]); stages[stage] == nil {
				stages[stage] = []instruction{{i.name, base}}
			}
			continue
		}
		stages[stage] = append(stages[stage], i)
	}
	return stages[""] // only the last stage has no name
}

// TestBaseImagesArePinned checks that programs are built with an exact Go version on the builder's platform, and images have no base image.
func TestBaseImagesArePinned(t *testing.T) {
	golang := regexp.MustCompile(`^--platform=\$BUILDPLATFORM golang:\d+\.\d+\.\d+ AS \w+$`)
	for file, all := range dockerfiles(t) {
		known := []string{"scratch", "${PROGRAM:-operator}"}
		for _, i := range all {
			if base, stage, _ := strings.Cut(i.arguments, " AS "); i.name == "FROM" {
				if !slices.Contains(known, base) && !golang.MatchString(i.arguments) {
					t.Errorf("%s: FROM %s is neither a stage nor an exact version of golang on $BUILDPLATFORM", file, i.arguments)
				}
				known = append(known, stage)
			}
		}
	}
	for name, image := range images() {
		if base := imageOf(t, image.file, image.program)[0]; base != (instruction{"FROM", "scratch"}) {
			t.Errorf("%s starts from %s", name, base.arguments)
		}
	}
}

// TestGoVersionIsThatOfGoMod checks the Go version in the Dockerfiles and in the other modules. Make, CI, and the workflows read go.mod.
func TestGoVersionIsThatOfGoMod(t *testing.T) {
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+\.\d+)$`).FindStringSubmatch(text(t, "go.mod"))
	if want == nil {
		t.Fatal("go.mod does not contain an exact version")
	}
	for file := range dockerfiles(t) {
		for _, found := range regexp.MustCompile(`golang:(\S+)`).FindAllStringSubmatch(text(t, file), -1) {
			if found[1] != want[1] {
				t.Errorf("%s has Go %s, but go.mod has %s", file, found[1], want[1])
			}
		}
	}
	for _, folder := range foldersOf(t, "go.mod") { // other modules may require an older version of Go, but are built with this version
		if built := `(?m)^(go |toolchain go)` + regexp.QuoteMeta(want[1]) + `$`; !regexp.MustCompile(built).MatchString(text(t, folder, "go.mod")) {
			t.Errorf("%s/go.mod does not have Go %s", folder, want[1])
		}
	}
}
