// Sbom writes the bills of materials of a release as SPDX, using syft: one for each archive, and one for each platform of each image. The
// same images and archives produce the same files.
//
// usage: sbom VERSION CREATED FOLDER SOURCE [SOURCE...]
//
// CREATED is a time, such as 2026-01-31T00:00:00Z. SOURCE is an archive, or a folder with an image in OCI layout. The files are written to
// FOLDER: ARCHIVE.spdx.json, and IMAGE_OS_ARCHITECTURE.spdx.json.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/anchore/stereoscope/pkg/image"
	"github.com/anchore/syft/syft"
	"github.com/anchore/syft/syft/cataloging"
	"github.com/anchore/syft/syft/cataloging/pkgcataloging"
	"github.com/anchore/syft/syft/format/common/spdxhelpers"
	"github.com/anchore/syft/syft/pkg/cataloger/golang"
	"github.com/anchore/syft/syft/source"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

const repository = "https://github.com/echo-operator/echo-operator"

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) error {
	if len(arguments) < 4 {
		return errors.New("usage: sbom VERSION CREATED FOLDER SOURCE [SOURCE...]")
	}
	version, created, folder := arguments[0], arguments[1], arguments[2]
	for _, path := range arguments[3:] {
		all, err := things(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, each := range all {
			bill, err := each.bill(ctx, version, created)
			if err != nil {
				return fmt.Errorf("%s: %w", each.file, err)
			}
			if err := os.WriteFile(filepath.Join(folder, each.file), bill, 0o644); err != nil { //nolint:gosec // it is published
				return err
			}
		}
	}
	return nil
}

// thing is an archive, or an image for a platform. File is the name of its bill of materials.
type thing struct {
	path, name, file string
	platform         *image.Platform
}

// things returns an archive, or an image for each platform.
func things(path string) ([]thing, error) {
	if name, ok := strings.CutSuffix(filepath.Base(path), ".tar.gz"); ok {
		return []thing{{path: path, name: name, file: name + ".spdx.json"}}, nil
	}
	outer, err := layout.ImageIndexFromPath(path)
	if err != nil {
		return nil, err
	}
	indexes, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	index, err := outer.ImageIndex(indexes.Manifests[0].Digest)
	if err != nil {
		return nil, err
	}
	images, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var all []thing
	for _, each := range images.Manifests {
		platform, err := image.NewPlatform(each.Platform.String())
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		file := strings.Join([]string{name, platform.OS, platform.Architecture}, "_") + ".spdx.json"
		all = append(all, thing{path, name, file, platform})
	}
	return all, nil
}

// bill returns the bill of materials. Its namespace contains the digest of the image or the archive.
func (t thing) bill(ctx context.Context, version, created string) ([]byte, error) {
	config := syft.DefaultGetSourceConfig().WithAlias(source.Alias{Name: t.name, Version: version})
	if t.platform != nil {
		config = config.WithSources("oci-dir").WithPlatform(t.platform)
	} else {
		config = config.WithSources("file")
	}
	from, err := syft.GetSource(ctx, t.path, config)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	found, err := syft.CreateSBOM(ctx, from, settings())
	if err != nil {
		return nil, err
	}
	document := spdxhelpers.ToFormatModel(*found)
	root := document.Packages[len(document.Packages)-1] // the image or the archive
	if root.PackageName != t.name || len(root.PackageChecksums) == 0 {
		return nil, fmt.Errorf("the last package is %s, with the checksums %v", root.PackageName, root.PackageChecksums)
	}
	document.DocumentNamespace = repository + "/sbom/" + t.name + "@sha256:" + root.PackageChecksums[0].Value
	document.CreationInfo.Created = created
	return json.MarshalIndent(document, "", " ")
}

// settings returns what syft looks for. Everything that ships is a Go program, except the shell and busybox in must-gather. The module
// cache contains the licenses, and the linker has written the project's version into its programs.
func settings() *syft.CreateSBOMConfig {
	modules := golang.DefaultCatalogerConfig().WithSearchLocalModCacheLicenses(true)
	modules.MainModuleVersion.FromContents = true
	return syft.DefaultCreateSBOMConfig().
		WithCatalogerSelection(cataloging.NewSelectionRequest().WithDefaults("go-module-binary-cataloger", "binary-classifier-cataloger")).
		WithPackagesConfig(pkgcataloging.DefaultConfig().WithGolangConfig(modules)).
		WithDataGenerationConfig(cataloging.DefaultDataGenerationConfig().WithGenerateCPEs(false))
}
