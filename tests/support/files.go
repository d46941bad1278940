package support

import (
	"io/fs"
	"os"

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
