package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/echo-operator/echo-operator/tools/image/content"
	"github.com/echo-operator/echo-operator/tools/image/dockerfile"
)

// source is what images are built from.
type source struct {
	dockerfile, context, binaries string
	args                          map[string]string
}

// image returns the image for a platform.
func (s source) image(platform v1.Platform) (v1.Image, error) {
	stage, err := dockerfile.Read(s.dockerfile, platform, s.args)
	if err != nil {
		return nil, err
	}
	built := filepath.Join(s.binaries, platform.OS+"-"+platform.Architecture)
	tree, err := content.NewTree(content.Folders{Context: s.context, Built: built}, stage.Copies)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: time.Unix(0, 0).UTC()}
	if image, err = appendLayer(image, tree, created); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created, config.Config = platform.OS, platform.Architecture, created, stage.Config
	return mutate.ConfigFile(image, config)
}

// appendLayer adds all files as one layer.
func appendLayer(image v1.Image, tree *content.Tree, created v1.Time) (v1.Image, error) {
	if tree.Empty() {
		return image, nil
	}
	layer, err := tree.Layer()
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "COPY"}})
}

// runnable is an image without an artifact type. Otherwise the index would name one, as for artifacts that cannot be run.
type runnable struct{ v1.Image }

// ArtifactType returns nothing.
func (runnable) ArtifactType() (string, error) { return "", nil }

// index returns an image index with the image for each platform.
func (s source) index(platforms []v1.Platform) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		image, err := s.image(platform)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: runnable{image}, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, nil
}

// parsePlatforms reads a list such as linux/amd64,linux/arm64.
func parsePlatforms(list string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for text := range strings.SplitSeq(list, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, err
		}
		if platform.OS != "linux" || platform.Architecture == "" || platform.Variant != "" {
			return nil, fmt.Errorf("the platform %q is not of the form linux/ARCHITECTURE", text)
		}
		platforms = append(platforms, *platform)
	}
	return platforms, nil
}
