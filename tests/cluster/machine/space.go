package machine

import (
	"fmt"
	"path/filepath"
	"syscall"
)

// minSpace is the number of bytes that must be free before tests may use a cluster. Images, logs and etcd's data use about half of this
// space. The kubelet evicts pods if free space falls below its eviction thresholds. Tests would then report only that a pod does not start
// or stop.
const minSpace = 2 << 30

// CheckSpace returns an error if there is too little free space in a directory's file system. The directory does not need to exist.
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
