package machine

import (
	"fmt"
	"path/filepath"
	"syscall"
)

// minSpace is the number of bytes that must be free before a cluster is used. Images, logs and etcd need about half of this space. The
// kubelet evicts pods if free space falls below its eviction thresholds. A test would then only report that a pod does not start or stop.
const minSpace = 2 << 30

// CheckSpace returns an error if the file system of a directory has too little free space. The directory does not need to exist.
func CheckSpace(folder string) error {
	stat := syscall.Statfs_t{}
	for syscall.Statfs(folder, &stat) != nil && folder != "/" {
		folder = filepath.Dir(folder)
	}
	free := stat.Bavail * uint64(stat.Bsize)
	if free >= minSpace {
		return nil
	}
	return fmt.Errorf("the file system of %s has %d MiB left, but a cluster needs %d MiB: delete files, for example with 'go clean -cache'",
		folder, free>>20, uint64(minSpace)>>20)
}
