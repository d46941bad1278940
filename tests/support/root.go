package support

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Root returns the root directory of the project, regardless of the directory in which the tests run.
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
