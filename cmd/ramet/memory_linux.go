package main

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapProgram has this process no longer count the parts of its program file that were read
// for something that is over. Most of them served the start: a node that has nothing to do
// needs a fifth. What it needs again comes from the machine's memory, where the file stays as
// long as there is room, without being read. Nothing that was written is touched.
func unmapProgram() {
	for _, m := range programMaps() {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED) // one that cannot be stays
	}
}

// mapping is a part of the address space.
type mapping struct {
	from, to uintptr
}

// programMaps are where the program file lies and is not written to: code, constants and
// tables. None where that cannot be told.
func programMaps() (list []mapping) {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// 00400000-024c5000 r-xp 00000000 fe:00 12345      /usr/bin/ramet
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || !strings.HasSuffix(lines.Text(), " "+program) || fields[1] != "r-xp" && fields[1] != "r--p" {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil {
			list = append(list, mapping{uintptr(start), uintptr(end)})
		}
	}
	return list
}
