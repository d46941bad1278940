// image builds container images from Dockerfiles and from programs that make has built, and pushes them. It reads the final
// stage of a Dockerfile, so it needs neither root nor a container engine.
//
//	image build [flags] REFERENCE     builds an image and pushes it, or writes it to a folder or a file
//	image push [flags] PREFIX FOLDER...
//	                                  pushes OCI layouts to PREFIX/NAME:TAG; NAME is the name of the folder
//	image copy FROM TO                copies an image between registries, with all platforms
//
// The first two print the names of the images by digest, as the registry confirmed it. Credentials are those of `docker login` or `podman login`.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	if len(arguments) == 0 {
		return errors.New("a command is required: build, push or copy")
	}
	switch arguments[0] {
	case "build":
		return runBuild(ctx, arguments[1:], out)
	case "push":
		return runPush(ctx, arguments[1:], out)
	case "copy":
		return runCopy(ctx, arguments[1:])
	default:
		return fmt.Errorf("unknown command %q: the commands are build, push and copy", arguments[0])
	}
}

// settings are the flags of the build command.
type settings struct{ dockerfile, platforms, version, layout, archive, mirror string }

func (s *settings) flags() *flag.FlagSet {
	set := flag.NewFlagSet("image build", flag.ContinueOnError)
	set.StringVar(&s.dockerfile, "file", "Dockerfile", "the `Dockerfile`; the build context is the current folder, and bin/linux-ARCHITECTURE replaces /out of a build stage")
	set.StringVar(&s.platforms, "platforms", "linux/"+runtime.GOARCH, "the `list` of platforms; several make an image index")
	set.StringVar(&s.version, "version", "", "the build argument VERSION")
	set.StringVar(&s.layout, "layout", "", "write an OCI layout with an image index to this `folder` instead of pushing")
	set.StringVar(&s.archive, "archive", "", "write an archive for `docker load` to this file instead of pushing")
	set.StringVar(&s.mirror, "mirror", "", "push to this plain HTTP registry (`host:port`), which replaces that of the reference")
	return set
}

func runBuild(ctx context.Context, arguments []string, out io.Writer) error {
	var s settings
	set := s.flags()
	if err := set.Parse(arguments); err != nil {
		return err
	}
	if set.NArg() != 1 {
		return errors.New("build needs one image reference, such as registry.example.com/team/echo-operator:v1.0.0")
	}
	target, err := name.NewTag(set.Arg(0))
	if err != nil {
		return err
	}
	built, err := s.build(ctx, target)
	if err != nil {
		return err
	}
	return printPinned(out, set.Arg(0), target, built)
}

// build builds what the flags ask for and stores it where they say.
func (s settings) build(ctx context.Context, target name.Tag) (artifact, error) {
	platforms, err := parsePlatforms(s.platforms)
	if err != nil {
		return nil, err
	}
	if s.archive != "" && len(platforms) > 1 {
		return nil, errors.New("an archive for docker load has one platform")
	}
	if s.layout != "" || len(platforms) > 1 {
		return s.buildIndex(ctx, target, platforms)
	}
	return s.buildImage(ctx, target, platforms[0])
}

func (s settings) buildIndex(ctx context.Context, target name.Tag, platforms []v1.Platform) (artifact, error) {
	index, err := s.source().index(platforms)
	if err != nil {
		return nil, err
	}
	if s.layout != "" {
		return index, writeLayout(s.layout, target, index)
	}
	return index, push(ctx, target, s.mirror, index)
}

func (s settings) buildImage(ctx context.Context, target name.Tag, platform v1.Platform) (artifact, error) {
	image, err := s.source().image(platform)
	if err != nil {
		return nil, err
	}
	if s.archive != "" {
		return image, writeArchive(s.archive, target, image)
	}
	return image, push(ctx, target, s.mirror, image)
}

func (s settings) source() source {
	args := map[string]string{}
	if s.version != "" {
		args["VERSION"] = s.version
	}
	return source{dockerfile: s.dockerfile, context: ".", binaries: "bin", args: args}
}

func runPush(ctx context.Context, arguments []string, out io.Writer) error {
	set := flag.NewFlagSet("image push", flag.ContinueOnError)
	other := set.String("tag", "", "the `tag`; not set: that of the layout")
	if err := set.Parse(arguments); err != nil {
		return err
	}
	if set.NArg() < 2 {
		return errors.New("push needs the prefix of the images, such as registry.example.com/team, and the folders of OCI layouts")
	}
	for _, folder := range set.Args()[1:] {
		tag, index, err := readLayout(folder)
		if err != nil {
			return err
		}
		reference := set.Arg(0) + "/" + filepath.Base(folder) + ":" + cmp.Or(*other, tag)
		target, err := name.NewTag(reference)
		if err != nil {
			return err
		}
		if err := push(ctx, target, "", index); err != nil {
			return fmt.Errorf("pushing %s: %w", reference, err)
		}
		if err := printPinned(out, reference, target, index); err != nil {
			return err
		}
	}
	return nil
}

func runCopy(ctx context.Context, arguments []string) error {
	if len(arguments) != 2 {
		return errors.New("copy needs two image references, such as quay.io/team/program:v1 and registry.example.com/team/program:v1")
	}
	return crane.Copy(arguments[0], arguments[1], crane.WithContext(ctx), crane.WithAuthFromKeychain(authn.DefaultKeychain))
}
