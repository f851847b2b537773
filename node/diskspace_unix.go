//go:build unix

package node

import "golang.org/x/sys/unix"

// DiskSpace is the [Space] of the system. Not counted as free is what is kept for root.
func DiskSpace(dir string) (free, total int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), nil
}
