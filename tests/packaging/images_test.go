package packaging

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImagesAreThoseOfTheDockerfiles: make puts images together without their Dockerfiles, with which others build them.
func TestImagesAreThoseOfTheDockerfiles(t *testing.T) {
	images := map[string]string{
		"echo-operator": "Dockerfile", "echo-server": "echoserver/Dockerfile", "echo-operator-pathcheck": "pathcheck/Dockerfile",
		"echo-operator-scorecard": "scorecard/Dockerfile", "echo-operator-must-gather": "must-gather/Dockerfile",
		"echo-operator-bundle": "bundle.Dockerfile", "echo-operator-catalog": "catalog.Dockerfile",
	}
	if all := dockerfiles(t); len(all) != len(images) {
		t.Errorf("%d Dockerfiles, %d images", len(all), len(images))
	}
	for image, file := range images {
		command := exec.CommandContext(t.Context(), "tools/make/image", image, "describe")
		command.Dir, command.Env = inProject(), append(os.Environ(), "VERSION=")
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", image, err, output)
		}
		made, want := strings.Split(strings.TrimSpace(string(output)), "\n"), lastStage(t, file)
		slices.Sort(made)
		slices.Sort(want)
		if !slices.Equal(made, want) {
			t.Errorf("tools/make/image %s:\n%s\n%s:\n%s", image, strings.Join(made, "\n"), file, strings.Join(want, "\n"))
		}
	}
}

// lastStage returns the instructions of the last stage of a Dockerfile as `tools/make/image describe` prints them: one label a line, without quotes.
func lastStage(t *testing.T, file string) []string {
	t.Helper()
	var all []string
	for _, i := range dockerfiles(t)[file] {
		arguments := strings.ReplaceAll(i.arguments, "${VERSION}", version(t))
		switch i.name {
		case "FROM":
			all = nil
		case "ARG":
		case "LABEL":
			for _, label := range regexp.MustCompile(`([\w.-]+=)(?:"([^"]*)"|(\S+))`).FindAllStringSubmatch(arguments, -1) {
				all = append(all, "LABEL "+label[1]+label[2]+label[3])
			}
		case "ENTRYPOINT", "CMD":
			var words []string
			if err := json.Unmarshal([]byte(arguments), &words); err != nil {
				t.Errorf("%s: %s %s: %v", file, i.name, arguments, err)
			}
			all = append(all, i.name+" "+strings.Join(words, " "))
		default:
			all = append(all, i.name+" "+regexp.MustCompile(`^--from=build (.*)/out/`).ReplaceAllString(arguments, "${1}bin/"))
		}
	}
	return all
}
