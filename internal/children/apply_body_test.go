package children

import (
	"encoding/json"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestWhatIsAppliedIsTheSameAsYAML(t *testing.T) {
	for _, block := range [][2]rune{{0, 0x2ff}, {0x2000, 0x20ff}, {0xd700, 0xd7ff}, {0xe000, 0xe0ff}, {0xfe00, 0x100ff}, {0x1f600, 0x1f6ff}, {0x1ff00, 0x200ff}, {0x10ff00, 0x10ffff}} {
		for r := block[0]; r <= block[1]; r++ {
			wanted := "a" + string(r) + "b"
			body, err := json.Marshal(wanted)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if err := yaml.Unmarshal(escaped(body), &got); err != nil || got != wanted {
				t.Errorf("%U: %q, %v", r, got, err)
			}
		}
	}
}
