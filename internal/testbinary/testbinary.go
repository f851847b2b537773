// Package testbinary builds ramet for tests that run it as a process.
package testbinary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// Run is for TestMain: it builds ramet as Build does, has the folder used, runs
// the tests, and returns what to exit with.
func Run(m *testing.M, use func(folder string), flags ...string) (code int) {
	folder, err := Build(flags...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	use(folder)
	return m.Run()
}

// Version is what the binary says that it is.
const Version = "v0.0.0-test"

// asMade is how `make build` compiles and links it: what it has compiled is not
// compiled again, and what only a debugger needs is two thirds of a link. Of a
// flag that is given twice `go build` takes the later one.
var asMade = []string{"-tags", "grpcnotrace", "-ldflags", "-s -w -X main.linkedVersion=" + Version}

// Build builds ramet as `make build` does, with further flags of `go build`,
// into a folder that the caller removes. Every user may enter it: tests run it
// as others than themselves. How much memory the garbage collector leaves to tests is
// theirs alone: what they start has what it has for everybody.
func Build(flags ...string) (folder string, err error) {
	defer os.Unsetenv("GOGC")
	defer os.Unsetenv("GOMEMLIMIT")
	folder, err = os.MkdirTemp("", "ramet-bin")
	if err != nil {
		return "", err
	}
	if err = os.Chmod(folder, 0o755); err == nil && len(flags) == 0 {
		err = build(folder)
	} else if err == nil {
		err = compile(folder, flags...)
	}
	if err != nil {
		os.RemoveAll(folder)
		return "", fmt.Errorf("build ramet: %v", err)
	}
	return folder, nil
}

// build has the binary without further flags made into the folder. Ten packages want that one,
// and to link it is 4 to 8 s of processor time: the first leaves it where the next finds it. `go
// build` itself sees there whether it is still what would be made.
func build(folder string) error {
	kept, release, err := keep()
	if err != nil {
		return compile(folder) // there is no place to keep one: a user without a home
	}
	defer release()
	if err := compile(kept); err != nil {
		return err
	}
	from, to := filepath.Join(kept, "ramet"), filepath.Join(folder, "ramet")
	if os.Link(from, to) == nil { // what is made there later is another file
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

// keep is the folder where the binary is kept, which is this process's alone until it is
// released: others may be of another checkout.
func keep() (folder string, release func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	folder = filepath.Join(cache, "ramet-test")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		lock.Close()
		return "", nil, err
	}
	return folder, func() { lock.Close() }, nil
}

func compile(folder string, flags ...string) error {
	args := slices.Concat([]string{"build", "-o", filepath.Join(folder, "ramet")}, asMade, flags, []string{"github.com/ramet-run/ramet/cmd/ramet"})
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // the race detector's tests have it on
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v\n%s", err, out)
	}
	return nil
}
