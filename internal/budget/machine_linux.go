package budget

import "golang.org/x/sys/unix"

// openFiles asks the kernel.
func openFiles() int64 {
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil {
		return someHost.files
	}
	return int64(min(files.Cur, 1<<30))
}
