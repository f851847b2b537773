// Package testbinary builds ramet for tests that run it as a process.
package testbinary

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
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

// asMade is how `make build` compiles and links it: what it has compiled is not
// compiled again, and what only a debugger needs is two thirds of a link. Of a
// flag that is given twice `go build` takes the later one.
var asMade = []string{"-tags", "grpcnotrace", "-ldflags", "-s -w"}

// Build builds ramet as `make build` does, with further flags of `go build`,
// into a folder that the caller removes. Every user may enter it: tests run it
// as others than themselves.
func Build(flags ...string) (folder string, err error) {
	folder, err = os.MkdirTemp("", "ramet-bin")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		os.RemoveAll(folder)
		return "", err
	}
	args := slices.Concat([]string{"build", "-o", folder}, asMade, flags, []string{"github.com/ramet-run/ramet/cmd/ramet"})
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // the race detector's tests have it on
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(folder)
		return "", fmt.Errorf("build ramet: %v\n%s", err, out)
	}
	return folder, nil
}
