package time

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// step is how many seconds this process's wall clock is away from the machine's:
// eight bytes of a file that a test writes into while the process runs. It is
// mapped, so that looking costs no call of the system.
var step = sync.OnceValue(func() *atomic.Int64 {
	file, ok := syscall.Getenv("RAMET_TEST_CLOCK")
	if !ok {
		return new(atomic.Int64)
	}
	fd, err := syscall.Open(file, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("open the file of RAMET_TEST_CLOCK: " + err.Error())
	}
	mapped, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map the file of RAMET_TEST_CLOCK: " + err.Error())
	}
	syscall.Close(fd)
	return (*atomic.Int64)(unsafe.Pointer(&mapped[0]))
})
