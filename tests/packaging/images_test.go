package packaging

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// image identifies one of the project's images by its Dockerfile and the value of the build argument PROGRAM.
type image struct{ file, program string }

// images returns the images that are part of a release.
func images() map[string]image {
	return map[string]image{
		"echo-operator": {"Dockerfile", ""}, "echo-server": {"Dockerfile", "echo-server"}, "echo-operator-pathcheck": {"Dockerfile", "pathcheck"},
		"echo-operator-scorecard": {"Dockerfile", "scorecard"}, "echo-operator-must-gather": {"Dockerfile", "must-gather"},
		"echo-operator-bundle": {"bundle.Dockerfile", ""}, "echo-operator-catalog": {"catalog.Dockerfile", ""},
	}
}

// TestImagesAreThoseOfTheDockerfiles checks that make builds the same images that the Dockerfiles describe. make does not use the
// Dockerfiles, but users do.
func TestImagesAreThoseOfTheDockerfiles(t *testing.T) {
	for name, image := range images() {
		command := exec.CommandContext(t.Context(), "tools/make/image", name, "describe")
		command.Dir, command.Env = inProject(), append(os.Environ(), "VERSION=")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, output)
		}
		made, want := strings.Split(strings.TrimSpace(string(output)), "\n"), described(t, image)
		slices.Sort(made)
		slices.Sort(want)
		if !slices.Equal(made, want) {
			t.Errorf("tools/make/image %s:\n%s\n%s:\n%s", name, strings.Join(made, "\n"), image.file, strings.Join(want, "\n"))
		}
	}
}

// TestDockerfileHasEachProgram checks that each stage that starts from base or scratch builds one of the images, and that make and the
// Dockerfile build the image's program from the same package.
func TestDockerfileHasEachProgram(t *testing.T) {
	var programs, stages []string
	makefiles := text(t, "Makefile") + text(t, "tools", "make", "must-gather.mk")
	for _, image := range images() {
		if image.file != "Dockerfile" {
			continue
		}
		programs = append(programs, cmp.Or(image.program, "operator"))
		entrypoint := regexp.MustCompile(`(?m)^ENTRYPOINT .*?([\w-]+)$`).FindStringSubmatch(strings.Join(described(t, image), "\n"))
		folder := "."
		if image.program != "" {
			folder = "./cmd/" + image.program
		}
		if want := "$(call compile," + entrypoint[1] + "," + folder + ")"; !strings.Contains(makefiles, want) {
			t.Errorf("make does not have %s", want)
		}
	}
	for _, found := range regexp.MustCompile(`(?m)^FROM (?:base|scratch) AS (.+)$`).FindAllStringSubmatch(text(t, "Dockerfile"), -1) {
		stages = append(stages, found[1])
	}
	slices.Sort(programs)
	slices.Sort(stages)
	if stages = slices.DeleteFunc(stages, func(stage string) bool { return stage == "base" }); !slices.Equal(stages, programs) {
		t.Errorf("Dockerfile has the images %v, want %v", stages, programs)
	}
}

// TestImages_haveLabels checks the labels that scanners and registries read, and preflight's rules for the images that run in a cluster. A
// label with the revision would change the digests, which are committed.
func TestImages_haveLabels(t *testing.T) {
	const prefix = "org.opencontainers.image."
	for name, image := range images() {
		var users []string
		all, labels := described(t, image), map[string]string{}
		for _, line := range all {
			switch kind, value, _ := strings.Cut(line, " "); kind {
			case "LABEL":
				key, value, _ := strings.Cut(value, "=")
				labels[key] = value
			case "USER":
				users = append(users, value)
			}
		}
		want := map[string]string{"source": "https://github.com/echo-operator/echo-operator", "version": "v" + version(t), "created": created(t),
			"licenses": "Apache-2.0"}
		if name == "echo-operator-must-gather" { // the image contains a shell
			want["licenses"] += " AND GPL-2.0-only AND GPL-3.0-or-later AND LGPL-2.1-or-later"
		}
		for key, value := range labels {
			if key, isOCI := strings.CutPrefix(key, prefix); isOCI && value != want[key] {
				t.Errorf("%s has the label %s=%s, want %s", name, key, value, want[key])
			}
		}
		required := []string{prefix + "source", prefix + "version", prefix + "created", prefix + "licenses"}
		if image.file == "Dockerfile" {
			required = append(required, "name", "vendor", "version", "release", "summary", "description", "maintainer")
			if len(users) != 1 || !regexp.MustCompile(`^[1-9]\d*(:\d+)?$`).MatchString(users[0]) {
				t.Errorf("%s has no USER with a number other than 0: %v", name, users)
			}
			for _, file := range []string{"COPY LICENSE /licenses/LICENSE", "COPY bin/NOTICES /licenses/NOTICES"} {
				if !slices.Contains(all, file) {
					t.Errorf("%s has no %s", name, file)
				}
			}
		}
		for _, label := range required {
			if labels[label] == "" {
				t.Errorf("%s has no label %s", name, label)
			}
		}
	}
}

// described returns an image's instructions in the output format of `tools/make/image describe`: one label per line, without quotes.
func described(t *testing.T, image image) []string {
	t.Helper()
	built := regexp.MustCompile(`^--from=\w+ /out/program (\S*/)(\S+)$`)
	values := strings.NewReplacer("${VERSION}", version(t), "${CREATED}", created(t))
	var all []string
	for _, i := range imageOf(t, image.file, image.program) {
		arguments := values.Replace(i.arguments)
		switch i.name {
		case "FROM", "ARG":
		case "LABEL":
			for _, label := range regexp.MustCompile(`([\w.-]+=)(?:"([^"]*)"|(\S+))`).FindAllStringSubmatch(arguments, -1) {
				all = append(all, "LABEL "+label[1]+label[2]+label[3])
			}
		case "ENTRYPOINT", "CMD":
			var words []string
			if err := json.Unmarshal([]byte(arguments), &words); err != nil {
				t.Errorf("%s: %s %s: %v", image.file, i.name, arguments, err)
			}
			all = append(all, i.name+" "+strings.Join(words, " "))
		default:
			arguments = built.ReplaceAllString(arguments, "bin/$2 $1$2")
			all = append(all, i.name+" "+regexp.MustCompile(`^--from=\w+ (.*)/out/`).ReplaceAllString(arguments, "${1}bin/"))
		}
	}
	return all
}
