package support

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// SumOfMetric returns the sum of the values of a metric's time series that have all of the given labels. The page argument is the response
// from a metrics endpoint.
func SumOfMetric(page, name string, labels ...string) float64 {
	GinkgoHelper()
	total := 0.0
	for _, match := range regexp.MustCompile(`(?m)^`+name+`(?:\{(.*)\})? (\S+)$`).FindAllStringSubmatch(page, -1) {
		if slices.ContainsFunc(labels, func(label string) bool { return !strings.Contains(match[1], label) }) {
			continue
		}
		value, err := strconv.ParseFloat(match[2], 64)
		Expect(err).NotTo(HaveOccurred())
		total += value
	}
	return total
}
