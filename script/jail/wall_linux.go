package jail

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/domain"
)

// This file makes the wall: a program of some hundred bytes that stands between
// the node and a walled script. A Go program cannot do its work between fork and
// exec, and a second start of this one for each job would take longer than the
// job. So it is a file made in memory for each job: the head of an executable, the
// machine code of wall_linux_*.s copied out of this program, and a plan.

// wallAddress tells where the wall's code lies in this program.
func wallAddress() unsafe.Pointer

// codeBase is where the code is loaded, far behind the longest plan; pages of any
// size fit between.
const (
	codeBase = 1 << 30
	pageMost = 64 << 10
)

// wallCode copies the machine code.
var wallCode = sync.OnceValue(func() []byte {
	const most = 512
	text := unsafe.Slice((*byte)(wallAddress()), most)
	end := bytes.Index(text, []byte("rametend"))
	if end < 0 {
		panic("BUG: the wall's code has no end")
	}
	return bytes.Clone(text[:end])
})

// executable gives head and code of the wall; the plan comes at pageMost.
func executable(planBytes int) []byte {
	const headBytes, entryBytes = 64, 56
	machine := uint16(62) // EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = 183 // EM_AARCH64
	}
	code := wallCode()
	start := uint64(headBytes + 3*entryBytes)
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	b.WriteString("\x7fELF\x02\x01\x01")
	b.Write(make([]byte, 9))
	put(uint16(2), machine, uint32(1), codeBase+start, uint64(headBytes), uint64(0), uint32(0),
		uint16(headBytes), uint16(entryBytes), uint16(3), uint16(0), uint16(0), uint16(0))
	segment := func(flags uint32, offset, address, size uint64) {
		put(uint32(1), flags, offset, address, address, size, size, uint64(pageMost))
	}
	segment(6, pageMost, planBase, uint64(planBytes))              // to be read and written
	segment(5, 0, codeBase, start+uint64(len(code)))               // to be read and executed
	put(uint32(0x6474e551), uint32(6), make([]byte, entryBytes-8)) // a stack that is not executed
	b.Write(code)
	return b.Bytes()
}

// wallFile makes the program that carries a plan out.
//
// Errors: [domain.ErrUnavailable].
func wallFile(p *plan) (*os.File, error) {
	list := p.encode()
	fd, err := unix.MemfdCreate("ramet-wall", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("ramet-wall", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, domain.Unavailablef("make the wall: memfd_create: %v", err)
	}
	file := os.NewFile(uintptr(fd), "wall")
	for _, part := range []struct {
		bytes  []byte
		offset int64
	}{{executable(len(list)), 0}, {list, pageMost}} {
		if _, err := unix.Pwrite(fd, part.bytes, part.offset); err != nil {
			file.Close()
			return nil, domain.Unavailablef("make the wall: %v", err)
		}
	}
	return file, nil
}
