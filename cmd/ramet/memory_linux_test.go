package main

import (
	"os"
	"regexp"
	"strconv"
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
