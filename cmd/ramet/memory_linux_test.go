package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mappedKB is how much of files this process has mapped, in kB.
func mappedKB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Skip("this system does not say how much of files a process has mapped")
	}
	kb, _ := strconv.Atoi(string(found[1]))
	return kb
}

func TestTheProgramFileIsUnmappedAndTheProgramGoesOn(t *testing.T) {
	maps := programMaps()
	if len(maps) < 2 {
		t.Fatalf("got %x, want the places of code and of constants", maps)
	}
	for _, m := range maps {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_POPULATE_READ); errno != 0 {
			t.Skipf("this system cannot map all of the program: %v", errno)
		}
	}
	all := mappedKB(t)
	unmapProgram()
	if left := mappedKB(t); left > all/2 {
		t.Errorf("got %d of %d kB still mapped, want less than half", left, all)
	}
}

// TestWhatWasWrittenIsNotUnmapped: a program that was moved as it was loaded has parts that are read-only
// now, and whose bytes are not those of the file.
func TestWhatWasWrittenIsNotUnmapped(t *testing.T) {
	const smaps = `00400000-02400000 r-xp 00000000 fe:00 12345      /usr/bin/ramet
Size:              32768 kB
Anonymous:             0 kB
02400000-02500000 r--p 02000000 fe:00 12345      /usr/bin/ramet
Anonymous:             4 kB
02500000-02600000 rw-p 02100000 fe:00 12345      /usr/bin/ramet
Anonymous:             0 kB
02600000-02700000 r--p 00000000 fe:00 12346      /lib/ld.so
Anonymous:             0 kB
02700000-02800000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	got := cleanMaps(strings.NewReader(smaps), "/usr/bin/ramet")
	if want := []mapping{{0x400000, 0x2400000}}; !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
