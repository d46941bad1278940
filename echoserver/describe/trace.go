package describe

import (
	"encoding/hex"
	"strings"
)

// Trace is a request's parsed traceparent header (W3C Trace Context, 3.2).
type Trace struct {
	Version  string `json:"version"`
	TraceID  string `json:"traceId"`
	ParentID string `json:"parentId"`
	Sampled  bool   `json:"sampled"`
}

// parseTraceparent parses a traceparent header. As the standard requires, it returns nil unless there is exactly one value and it is
// well-formed.
func parseTraceparent(values []string) *Trace {
	if len(values) != 1 {
		return nil
	}
	parts := strings.SplitN(values[0], "-", 5)
	if len(parts) < 4 || len(parts) > 4 && parts[0] == "00" { // later versions may have more parts
		return nil
	}
	for i, digits := range []int{2, 32, 16, 2} {
		if !isHex(parts[i], digits) {
			return nil
		}
	}
	zero := func(id string) bool { return strings.Trim(id, "0") == "" }
	if parts[0] == "ff" || zero(parts[1]) || zero(parts[2]) {
		return nil
	}
	flags, err := hex.DecodeString(parts[3])
	if err != nil {
		return nil
	}
	return &Trace{Version: parts[0], TraceID: parts[1], ParentID: parts[2], Sampled: flags[0]&1 != 0}
}

// isHex reports whether text consists of the given number of lowercase hexadecimal digits.
func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}
