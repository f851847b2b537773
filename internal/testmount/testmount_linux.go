// Package testmount gives tests small disks that can be full.
package testmount

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inNamespace makes a test program a child with mounts of its own.
const inNamespace = "RAMET_TEST_IN_NAMESPACE"

// Own reports whether this process has mounts of its own. If not, it has run the
// test in one that does, and the caller returns.
func Own(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) != "" {
		return true
	}
	if os.Getuid() != 0 {
		t.Skip("a disk that is small can be mounted by root only: run it as root")
	}
	self := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	self.Env = append(os.Environ(), inNamespace+"=1")
	self.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := self.CombinedOutput()
	switch {
	case err != nil && self.ProcessState == nil:
		t.Skipf("mounts of its own cannot be had here: %v", err)
	case err != nil:
		t.Errorf("%v:\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip(string(out))
	default:
		t.Log(string(out))
	}
	return false
}

// Small mounts a disk of a size such as "6m" at dir, for as long as the test goes
// on. The returned function gives it another.
func Small(t *testing.T, dir, size string) (resize func(size string)) {
	t.Helper()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return func(size string) {
		t.Helper()
		if err := unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT, "size="+size); err != nil {
			t.Fatal(err)
		}
	}
}
