package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// refName is the annotation of an OCI layout for the tag of an image.
const refName = "org.opencontainers.image.ref.name"

// artifact is what can be stored: an image or an image index.
type artifact interface {
	remote.Taggable
	Digest() (v1.Hash, error)
}

// push writes an artifact to its registry, or, if mirror is set, under the same path to that plain HTTP registry.
func push(ctx context.Context, target name.Tag, mirror string, built artifact) error {
	if mirror != "" {
		var err error
		if target, err = name.NewTag(path.Join(mirror, target.RepositoryStr())+":"+target.TagStr(), name.Insecure); err != nil {
			return err
		}
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var err error
	switch built := built.(type) {
	case v1.ImageIndex:
		err = remote.WriteIndex(target, built, options...)
	case v1.Image:
		err = remote.Write(target, built, options...)
	default:
		err = fmt.Errorf("%T cannot be pushed", built)
	}
	if err != nil {
		return err
	}
	return confirm(target, built, options)
}

// confirm fails if the registry does not have the artifact under its tag.
func confirm(target name.Tag, built artifact, options []remote.Option) error {
	want, err := built.Digest()
	if err != nil {
		return err
	}
	found, err := remote.Head(target, options...)
	if err == nil && found.Digest != want {
		err = fmt.Errorf("%s has the digest %s in the registry, not %s", target, found.Digest, want)
	}
	return err
}

// writeLayout replaces the folder by an OCI image layout with the index.
func writeLayout(folder string, target name.Tag, built v1.ImageIndex) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return written.AppendIndex(built, layout.WithAnnotations(map[string]string{refName: target.TagStr()}))
}

// writeArchive writes an archive for `docker load`.
func writeArchive(file string, target name.Tag, built v1.Image) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return tarball.WriteToFile(file, target, built)
}

// readLayout returns the tag and the index that writeLayout wrote.
func readLayout(folder string) (string, v1.ImageIndex, error) {
	root, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", folder, err)
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return "", nil, err
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations[refName] == "" {
		return "", nil, errors.New(folder + " does not have one image with a tag")
	}
	index, err := root.ImageIndex(manifest.Manifests[0].Digest)
	return manifest.Manifests[0].Annotations[refName], index, err
}

// printPinned prints the name of an image by digest.
func printPinned(out io.Writer, reference string, target name.Tag, built artifact) error {
	digest, err := built.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, strings.TrimSuffix(reference, ":"+target.TagStr())+"@"+digest.String())
	return err
}
