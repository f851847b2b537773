package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

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

// programMaps are where the program file lies as it is on the disk: code, constants and tables. Where
// anything was written before it was made read-only, as a program that lies anywhere is when it is
// loaded (-buildmode=pie), a part is none of them: that would be lost. None where that cannot be told.
var programMaps = sync.OnceValue(func() []mapping {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return nil
	}
	defer f.Close()
	return cleanMaps(f, program)
})

// cleanMaps are the read-only parts of a program file in what the kernel tells of a process, of
// which it says that no byte is another than the file's.
func cleanMaps(smaps io.Reader, program string) (list []mapping) {
	var at *mapping // the part that the lines are of, if it is the program's
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		// 00400000-024c5000 r-xp 00000000 fe:00 12345      /usr/bin/ramet
		// Anonymous:             0 kB
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 3 && fields[0] == "Anonymous:":
			if at != nil && fields[1] == "0" {
				list = append(list, *at)
			}
			at = nil
		case len(fields) >= 6 && strings.HasSuffix(lines.Text(), " "+program) && (fields[1] == "r-xp" || fields[1] == "r--p"):
			from, to, _ := strings.Cut(fields[0], "-")
			start, err1 := strconv.ParseUint(from, 16, 64)
			end, err2 := strconv.ParseUint(to, 16, 64)
			if err1 == nil && err2 == nil {
				at = &mapping{uintptr(start), uintptr(end)}
			}
		case len(fields) >= 5 && strings.Contains(fields[0], "-"):
			at = nil
		}
	}
	return list
}
