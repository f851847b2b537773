//go:build unix

package cli

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is what this process has used until now.
func processorTime() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
