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

// Build builds ramet, with flags of `go build`, into a folder that the caller
// removes. Every user may enter it: tests run it as others than themselves.
func Build(flags ...string) (folder string, err error) {
	folder, err = os.MkdirTemp("", "ramet-bin")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		os.RemoveAll(folder)
		return "", err
	}
	args := slices.Concat([]string{"build", "-o", folder}, flags, []string{"github.com/ramet-run/ramet/cmd/ramet"})
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		os.RemoveAll(folder)
		return "", fmt.Errorf("build ramet: %v\n%s", err, out)
	}
	return folder, nil
}
