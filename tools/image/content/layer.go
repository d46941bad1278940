package content

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Layer returns the content as a layer of an image, sorted by path.
func (t *Tree) Layer() (v1.Layer, error) {
	return tarball.LayerFromOpener(t.open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
}

// Empty reports whether the content has no file at all.
func (t *Tree) Empty() bool { return len(t.entries) == 0 }

func (t *Tree) open() (io.ReadCloser, error) {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(t.write(writer)) }()
	return reader, nil
}

func (t *Tree) write(to io.Writer) error {
	archive := tar.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		if err := t.entries[name].write(archive); err != nil {
			return err
		}
	}
	return archive.Close()
}

func (e entry) write(archive *tar.Writer) error {
	if err := archive.WriteHeader(&e.header); err != nil || e.header.Typeflag != tar.TypeReg {
		return err
	}
	file, err := os.Open(e.source)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(archive, file)
	return err
}
