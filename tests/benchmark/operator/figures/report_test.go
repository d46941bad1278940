package figures

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	f := Set{
		"there.operator.perSecond":   {40, 30, 50},
		"there.raw.perSecond":        {50, 50, 50},
		"single.operator.deployment": {40, 42, 44},
		"single.raw.deployment":      {20, 21, 22},
		"there.operator.conflicts":   {0},
	}
	text := f.Table()
	for _, line := range []string{
		"| Echoes/s, there | 50.0 (50.0-50.0) | >= 0.8 x | 40.0 (30.0-50.0) | 0.80 (0.60-1.00) | yes |",
		"| create of one Echo to its Deployment, p50 | 21.0 (20.0-22.0) ms | <= 15 ms more | 42.0 (40.0-44.0) ms | 2.00 (2.00-2.00) | **no** |",
		"| conflicts per Echo, there | - | <= 0 | 0.000 | - | yes |",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines != 5 {
		t.Errorf("%d lines, which are not the lines of the measured figures:\n%s", lines, text)
	}
}
