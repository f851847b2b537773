package machine

import (
	"math"

	"golang.org/x/sys/unix"
)

// installed is the machine's memory in bytes; 0: it is not known.
func installed() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(min(uint64(info.Totalram)*uint64(info.Unit), math.MaxInt64))
}
