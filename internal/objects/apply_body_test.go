package objects

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestEscaped(t *testing.T) {
	g := NewWithT(t)
	for _, block := range [][2]rune{{0, 0x2ff}, {0x2000, 0x20ff}, {0xd700, 0xd7ff}, {0xe000, 0xe0ff}, {0xfe00, 0x100ff}, {0x1f600, 0x1f6ff},
		{0x1ff00, 0x200ff}, {0x10ff00, 0x10ffff}} {
		for r := block[0]; r <= block[1]; r++ {
			wanted := "a" + string(r) + "b"
			body, err := json.Marshal(wanted)
			g.Expect(err).NotTo(HaveOccurred())
			var got string
			g.Expect(yaml.Unmarshal(escaped(body), &got)).To(Succeed(), "%U", r)
			g.Expect(got).To(Equal(wanted), "%U", r)
		}
	}
}
