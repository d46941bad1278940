package machine

import (
	"fmt"
	"path/filepath"
	"syscall"
)

// minSpace is how many bytes must be free before a cluster is used. Images, logs and etcd need about half of it. The kubelet evicts pods if
// free space falls below its eviction thresholds. A test would then only report that something does not start or does not end.
const minSpace = 2 << 30

// CheckSpace returns an error if the file system of a folder has too little free space. The folder may not exist yet.
func CheckSpace(folder string) error {
	stat := syscall.Statfs_t{}
	for syscall.Statfs(folder, &stat) != nil && folder != "/" {
		folder = filepath.Dir(folder)
	}
	free := stat.Bavail * uint64(stat.Bsize)
	if free >= minSpace {
		return nil
	}
	return fmt.Errorf("the file system of %s has %d MiB left, but a cluster needs %d MiB: delete something, for example by 'go clean -cache'",
		folder, free>>20, uint64(minSpace)>>20)
}
