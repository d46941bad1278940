package packaging

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is an instruction of a Dockerfile, on one line.
type instruction struct{ name, arguments string }

// dockerfiles returns the instructions of every Dockerfile of the project.
func dockerfiles(t *testing.T) map[string][]instruction {
	t.Helper()
	found := map[string][]instruction{}
	for _, file := range filesNamed(t, "*Dockerfile") {
		found[file] = instructions(text(t, file))
	}
	if len(found) < 7 {
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

// TestPlatformsAreThoseOfBuildKit: a default would override the platform that BuildKit sets.
func TestPlatformsAreThoseOfBuildKit(t *testing.T) {
	for file, all := range dockerfiles(t) {
		for _, i := range all {
			if i.name == "ARG" && regexp.MustCompile(`\b(TARGET|BUILD)(OS|ARCH|PLATFORM)=`).MatchString(i.arguments) {
				t.Errorf("%s: ARG %s has a default", file, i.arguments)
			}
		}
	}
}

// TestBaseImagesArePinned: programs are built with an exact version of Go, on the platform of the builder; images contain nothing else.
func TestBaseImagesArePinned(t *testing.T) {
	golang := regexp.MustCompile(`^--platform=\$BUILDPLATFORM golang:\d+\.\d+\.\d+ AS \w+$`)
	for file, all := range dockerfiles(t) {
		var bases []string
		for _, i := range all {
			if i.name == "FROM" {
				bases = append(bases, i.arguments)
			}
		}
		if len(bases) == 0 || bases[len(bases)-1] != "scratch" {
			t.Errorf("the last stage of %s is not FROM scratch: %v", file, bases)
			continue
		}
		for _, base := range bases[:len(bases)-1] {
			if !golang.MatchString(base) {
				t.Errorf("%s: FROM %s is not an exact version of golang on $BUILDPLATFORM", file, base)
			}
		}
	}
}

// TestDockerfilesWorkOnAFreshClone: files that COPY copies from the build context exist and are not ignored, and all others are from an
// earlier stage.
func TestDockerfilesWorkOnAFreshClone(t *testing.T) {
	comments := regexp.MustCompile(`(?m)^#.*`)
	ignored := strings.Fields(comments.ReplaceAllString(text(t, ".dockerignore"), ""))
	for folder := range strings.FieldsSeq(comments.ReplaceAllString(text(t, ".gitignore"), "")) {
		ignored = append(ignored, strings.Trim(folder, "/"))
	}
	for file, all := range dockerfiles(t) {
		var stages []string
		for _, i := range all {
			if _, stage, named := strings.Cut(i.arguments, " AS "); i.name == "FROM" && named {
				stages = append(stages, stage)
			}
			if i.name != "COPY" {
				continue
			}
			from := regexp.MustCompile(`--from=(\S+)`).FindStringSubmatch(i.arguments)
			if from != nil && !slices.Contains(stages, from[1]) {
				t.Errorf("%s: COPY %s: there is no stage %s", file, i.arguments, from[1])
			} else if from == nil {
				checkSources(t, file, i.arguments, ignored)
			}
		}
	}
}

func checkSources(t *testing.T, file, arguments string, ignored []string) {
	t.Helper()
	paths := slices.DeleteFunc(strings.Fields(arguments), func(field string) bool { return strings.HasPrefix(field, "--") })
	for _, source := range paths[:len(paths)-1] {
		if top, _, _ := strings.Cut(source, "/"); slices.Contains(ignored, top) {
			t.Errorf("%s: COPY %s: %s is ignored", file, arguments, top)
		}
		if _, err := os.Stat(inProject(source)); err != nil {
			t.Errorf("%s: COPY %s: %v", file, arguments, err)
		}
	}
}

// TestDockerfilesBuildAsMake: Dockerfiles must build the same programs as make.
func TestDockerfilesBuildAsMake(t *testing.T) {
	flags := regexp.MustCompile(`(?m)^GO_BUILD := (go build .*)$`).FindStringSubmatch(text(t, "Makefile"))
	if flags == nil || !strings.Contains(text(t, "Makefile"), "export CGO_ENABLED := 0\n") {
		t.Fatal("the Makefile does not contain the build flags")
	}
	want := "CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH " + strings.ReplaceAll(flags[1], "$(VERSION)", "${VERSION}") + " -o /out/"
	for file, all := range dockerfiles(t) {
		for _, i := range all {
			if i.name == "RUN" && strings.Contains(i.arguments, "go build") && !strings.HasPrefix(i.arguments, want) {
				t.Errorf("%s has RUN %s; the Makefile has %s", file, i.arguments, want)
			}
		}
	}
}

func TestDockerfilesHaveTheVersion(t *testing.T) {
	for _, file := range []string{"Dockerfile", "echoserver/Dockerfile", "scorecard/Dockerfile", "must-gather/Dockerfile", "pathcheck/Dockerfile"} {
		if want := "ARG VERSION=" + version(t) + "\n"; !strings.Contains(text(t, file), want) {
			t.Errorf("%s does not have %q", file, want)
		}
	}
}
