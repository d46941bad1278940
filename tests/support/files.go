package support

import (
	"io/fs"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// FilesBelow returns the contents of all files below a directory, by path.
func FilesBelow(folder string) map[string]string {
	GinkgoHelper()
	files, tree := map[string]string{}, os.DirFS(folder)
	Expect(fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		files[path] = string(text)
		return err
	})).To(Succeed())
	return files
}

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
