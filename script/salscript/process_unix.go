//go:build unix && !linux

package salscript

import "golang.org/x/sys/unix"

// uptime is not known: processes are not seen here, for want of /proc.
func uptime() float64 { return 0 }

// tag is what all processes of a run have in common: their session.
func tag(pid int) (uint64, bool) {
	session, err := unix.Getsid(pid)
	return uint64(session), err == nil
}
