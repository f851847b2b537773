package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/script"
)

// kept is the folder of the process that is killed: one that nobody has any more is
// closed with its lock by the collector of garbage.
var kept *script.TempFolder

// TestMain is also the process that is killed with a folder.
func TestMain(m *testing.M) {
	dir := os.Getenv("TEST_TEMP_FOLDER")
	if dir == "" {
		os.Exit(m.Run())
	}
	f, err := script.NewTempFolder(dir, "left-")
	if err == nil {
		err = os.WriteFile(filepath.Join(f.Path, "file"), nil, 0o400)
	}
	if err != nil {
		panic(err)
	}
	kept = f
	os.Stdout.WriteString(f.Path)
	os.Stdout.Close()
	select {}
}

func TestFoldersOfTheDeadAreSwept(t *testing.T) {
	dir := t.TempDir()
	dead := exec.CommandContext(t.Context(), os.Args[0])
	dead.Env = append(os.Environ(), "TEST_TEMP_FOLDER="+dir)
	out, err := dead.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	path := make([]byte, 1000)
	n, err := out.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	left := string(path[:n])
	mine, err := script.NewTempFolder(dir, "left-")
	if err != nil {
		t.Fatal(err)
	}
	other, link := filepath.Join(dir, "others"), filepath.Join(dir, "left-link")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	there := func(path string, want bool) {
		t.Helper()
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s: got %v, want it there: %v", filepath.Base(path), err, want)
		}
	}
	script.SweepTempFolders(dir, "left-")
	there(left, true)
	if err := dead.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = dead.Wait() // it was killed
	script.SweepTempFolders(dir, "left-")
	there(left, false)
	for _, path := range []string{mine.Path, other, link} {
		there(path, true)
	}
	if err := mine.Remove(); err != nil {
		t.Fatal(err)
	}
	there(mine.Path, false)
}
