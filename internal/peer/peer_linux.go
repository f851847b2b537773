package peer

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

func ownUID() int { return os.Geteuid() }

// Of asks the kernel whose process is at the other end.
func Of(c *net.UnixConn) Peer {
	raw, err := c.SyscallConn()
	if err != nil {
		return Peer{err: err}
	}
	var cred *unix.Ucred
	var asked error
	err = raw.Control(func(fd uintptr) {
		cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || asked != nil {
		return Peer{err: firstError(err, asked)}
	}
	return Peer{uid: int(cred.Uid)}
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
