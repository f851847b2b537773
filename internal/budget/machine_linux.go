package budget

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machine asks the kernel, and the control group that the process is in.
func machine() host {
	h := someHost
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		h.files = int64(min(files.Cur, 1<<30))
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.memory = int64(info.Totalram) * int64(info.Unit)
	}
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n < h.memory {
			h.memory = n
		}
	}
	return h
}
