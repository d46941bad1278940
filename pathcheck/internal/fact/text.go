package fact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Digest returns a short digest, which distinguishes values that look the same after truncation.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:6]
}

// Listed formats names as the value of a fact: none, the names, or their number if the list is too long.
func Listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	text := strings.Join(names, ",")
	switch {
	case len(names) == 0:
		return None
	case len(text) > MaxValue:
		return fmt.Sprintf("%d names #%s", len(names), Digest(text))
	}
	return text
}

// Printable returns a string as printable ASCII. It escapes other characters as Go does.
func Printable(text string) string {
	if len(text) > 4*MaxText {
		text = text[:4*MaxText]
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		text = strconv.QuoteToASCII(text)
		return text[1 : len(text)-1]
	}
	return text
}

func Cut(text string, length int) string {
	if len(text) > length {
		return text[:length-3] + "..."
	}
	return text
}

// Size formats a number of bytes as Kubernetes does, such as 16Mi.
func Size(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return strconv.Itoa(bytes>>20) + "Mi"
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return strconv.Itoa(bytes>>10) + "Ki"
	}
	return strconv.Itoa(bytes)
}

// ShortList returns names, or their number if the list is too long.
func ShortList(names []string, length int) string {
	text := Listed(names)
	if len(text) > length {
		return fmt.Sprintf("%d #%s", len(names), Digest(text))
	}
	return text
}

func DescribeLost(lost []string) string {
	if len(lost) == 0 {
		return "all"
	}
	return "all but " + strings.Join(lost, ", ")
}
