package rhaiscript

import (
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is what this process may have: the machine's, or that of its
// cgroup where it is less.
func machineMemory() int64 {
	all := int64(assumedMemory)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		all = int64(min(uint64(info.Totalram)*uint64(info.Unit), math.MaxInt64))
	}
	text, _ := os.ReadFile("/sys/fs/cgroup/memory.max")
	if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 { // "max": none
		all = min(all, n)
	}
	return all
}
