package controls

import (
	"slices"
	"strconv"
	"strings"
)

type format string

const (
	JSON format = "json"
	Text format = "text"
	HTML format = "html"
)

// AcceptedFormat returns the format that the values of Accept prefer (RFC 9110, 12.5.1), or JSON if they prefer none or accept none.
func AcceptedFormat(accept []string) format {
	best, quality := JSON, 0.0
	ranges := mediaRanges(accept)
	for _, candidate := range []struct {
		format    format
		mediaType string
	}{{JSON, "application/json"}, {Text, "text/plain"}, {HTML, "text/html"}} {
		if q := qualityOf(candidate.mediaType, ranges); q > quality {
			best, quality = candidate.format, q
		}
	}
	return best
}

// NamesJSON reports whether the values of Accept name JSON explicitly, not only through a wildcard.
func NamesJSON(accept []string) bool {
	return slices.ContainsFunc(mediaRanges(accept), func(r mediaRange) bool { return r.mediaType == "application/json" && r.quality > 0 })
}

type mediaRange struct {
	mediaType string
	quality   float64
}

// maxRanges is the maximum number of media ranges that are evaluated. Browsers send about eight.
const maxRanges = 100

func mediaRanges(accept []string) []mediaRange {
	var ranges []mediaRange
	for element := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		if len(ranges) == maxRanges {
			break
		}
		mediaType, parameters, _ := strings.Cut(element, ";")
		ranges = append(ranges, mediaRange{strings.ToLower(strings.TrimSpace(mediaType)), qualityIn(parameters)})
	}
	return ranges
}

// qualityIn returns the weight in the parameters of a media range (RFC 9110, 12.4.2): 1 if it is not set, 0 if it is invalid.
func qualityIn(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		quality, err := strconv.ParseFloat(value, 64)
		if err != nil || !(quality >= 0 && quality <= 1) {
			return 0
		}
		return quality
	}
	return 1
}

// qualityOf returns the weight of the most specific range that matches a media type.
func qualityOf(mediaType string, ranges []mediaRange) float64 {
	group, _, _ := strings.Cut(mediaType, "/")
	for _, pattern := range []string{mediaType, group + "/*", "*/*"} {
		if i := slices.IndexFunc(ranges, func(r mediaRange) bool { return r.mediaType == pattern }); i >= 0 {
			return ranges[i].quality
		}
	}
	return 0
}
