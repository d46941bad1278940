package pathverdict

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// IsComplete reports whether everything was examined, so that the facts can be a baseline.
func (v Verdict) IsComplete() bool { return v.Problem == "" && !v.Unfinished && len(v.Facts) > 0 }

// Digest returns a short digest of the facts, which is the same for the same facts.
func (v Verdict) Digest() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(v.Facts)) {
		_, _ = fmt.Fprintf(sum, "%q=%q\n", name, v.Facts[name]) // a hash returns no error
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Changed returns how the facts differ from those of a baseline, by name. A fact that the baseline lacks does not count, so that a newer check,
// which finds out more, changes nothing.
func (v Verdict) Changed(baseline map[string]string) []string {
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(baseline)) {
		switch now, found := v.Facts[name]; {
		case found && now != baseline[name]:
			changed = append(changed, fmt.Sprintf("%s: %s -> %s", name, baseline[name], now))
		case !found && !v.Truncated:
			changed = append(changed, fmt.Sprintf("%s: %s -> not tested", name, baseline[name]))
		}
	}
	return changed
}
