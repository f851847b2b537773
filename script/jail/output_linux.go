package jail

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipe is os.Pipe with a write end that blocks, as a script expects, and that
// costs nothing to hand over.
func pipe() (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe", err)
	}
	_ = unix.SetNonblock(fds[0], true)
	return os.NewFile(uintptr(fds[0]), "output"), os.NewFile(uintptr(fds[1]), "output"), nil
}

// bound does nothing: whatever held the other ends has been found and ended.
func bound([2]*os.File) {}
