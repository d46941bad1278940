package support

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Root returns the root of the project, no matter in which of its directories the tests run.
func Root() string {
	GinkgoHelper()
	folder, err := os.Getwd()
	Expect(err).NotTo(HaveOccurred())
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
	}
	Fail("the tests must run in the project")
	return ""
}
