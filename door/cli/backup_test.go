//go:build unix

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestABackupThatWasKilled leaves a part, and nothing by the name that the backup was to have. The next one removes the
// part and says so, but leaves that of a backup which is being written.
func TestABackupThatWasKilled(t *testing.T) {
	const in = "RAMET_TEST_BACKUP_IN"
	if dir := os.Getenv(in); dir != "" {
		f, err := makePart(filepath.Join(dir, ".x.backup.part-"))
		if err == nil {
			_, err = f.WriteString("half a backup")
		}
		if err != nil {
			t.Fatal(err)
		}
		os.Exit(9)
	}
	dir := t.TempDir()
	prefix := filepath.Join(dir, ".x.backup.part-")
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), in+"="+dir)
	if gone := (*exec.ExitError)(nil); !errors.As(c.Run(), &gone) || gone.ExitCode() != 9 {
		t.Fatal("it ended by itself")
	}
	left, err := filepath.Glob(prefix + "*")
	if err != nil || len(left) != 1 {
		t.Fatalf("got %q, %v", left, err)
	}
	held, err := makePart(prefix)
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	clearParts(prefix, &told)
	want := "removed " + filepath.Base(left[0]) + ", which a backup that was broken off has left\n"
	if told.String() != want {
		t.Errorf("got %q, want %q", told.String(), want)
	}
	if now, err := filepath.Glob(prefix + "*"); err != nil || len(now) != 1 || now[0] != held.Name() {
		t.Errorf("got %q, %v; want %s alone", now, err, held.Name())
	}
	name := filepath.Join(dir, "x.backup")
	if err := renameHeld(held, name); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
}
