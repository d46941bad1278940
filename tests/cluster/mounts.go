package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// mountsBelow returns the mount points below the given directories. Nested mounts come first.
func mountsBelow(folders ...string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var mounts []string
	for line := range strings.Lines(string(text)) {
		mount := unescape(strings.Fields(line)[4])
		for _, folder := range folders {
			if strings.HasPrefix(mount, folder+"/") {
				mounts = append(mounts, mount)
			}
		}
	}
	slices.Reverse(mounts)
	return mounts, nil
}

// unescape decodes the octal escapes of whitespace and backslashes in /proc/self/mountinfo.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// unmount removes the mounts that the kubelet and containerd created. Call unmount before any file is deleted, because the mounts can
// contain files from other directories.
func (s *settings) unmount(ctx context.Context) error {
	mounts, err := mountsBelow(s.Data, s.Run)
	if err != nil {
		return err
	}
	for _, mount := range mounts {
		if err := run(ctx, "umount", "--lazy", mount); err != nil {
			return err
		}
	}
	if mounts, err = mountsBelow(s.Data, s.Run); err == nil && len(mounts) > 0 {
		err = fmt.Errorf("still mounted: %v", mounts)
	}
	return err
}
