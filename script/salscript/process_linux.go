package salscript

import (
	"time"

	"golang.org/x/sys/unix"
)

// uptime is the machine's, in seconds.
func uptime() float64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano()).Seconds()
}

// tag is the mark that the jail puts on all processes of a run; see package jail.
func tag(pid int) (uint64, bool) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit)
	return limit.Max, err == nil && limit.Max != unix.RLIM_INFINITY
}
