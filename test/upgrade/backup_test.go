package upgrade

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testmount"
	"github.com/ramet-run/ramet/internal/testwait"
)

// submits of atOnce jobs of jobBytes make a backup of some 12 MB: what is in them cannot be
// compressed to less than half.
const submits, atOnce, jobBytes = 4, 25, 250_000

// keeper is a node with so much to back up that a backup can be met in its midst.
type keeper struct {
	*node
	dir string // where backups lie
}

func newKeeper(t *testing.T, args ...string) *keeper {
	dir, err := os.MkdirTemp("", "ramet-keep") // not t.TempDir: its long names do not fit into a socket's 108 bytes
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	k := &keeper{&node{T: t, program: binaries.today, data: filepath.Join(dir, "n"), args: args}, filepath.Join(dir, "backups")}
	must(t, os.Mkdir(k.dir, 0o700))
	k.serve()
	file, noise := filepath.Join(dir, "jobs.yaml"), make([]byte, jobBytes/2)
	for range submits {
		jobs := bytes.NewBufferString("jobs:\n")
		for range atOnce {
			_, _ = rand.Read(noise)
			fmt.Fprintf(jobs, "- {script_type: shell, prerequisites: [user:go], script: 'true # %s'}\n", hex.EncodeToString(noise))
		}
		must(t, os.WriteFile(file, jobs.Bytes(), 0o600))
		k.run("job", "submit", file)
	}
	return k
}

// begun starts a backup, and waits until some bytes of it are in its file, or it has ended.
func (k *keeper) begun(file string, some int64) (c *exec.Cmd, said *bytes.Buffer, ended chan error) {
	k.Helper()
	c, said, ended = k.command("backup", file), &bytes.Buffer{}, make(chan error, 1)
	c.Stdout, c.Stderr = said, said
	must(k.T, c.Start())
	go func() { ended <- c.Wait() }()
	testwait.Until(k, "a backup that has begun", func() bool {
		for _, name := range k.parts() {
			if info, err := os.Stat(name); err == nil && info.Size() >= some {
				return true
			}
		}
		return len(ended) > 0
	})
	return c, said, ended
}

// parts are the beginnings of backups that lie there.
func (k *keeper) parts() []string {
	list, err := filepath.Glob(filepath.Join(k.dir, ".*.part-*"))
	must(k.T, err)
	return list
}

// whole makes a backup, checks it, and wants nothing else to be there.
func (k *keeper) whole(file string) (said string) {
	k.Helper()
	said = k.run("backup", file)
	k.run("backup", "verify", file)
	if left := k.parts(); len(left) > 0 {
		k.Errorf("%q is left of a backup", left)
	}
	return said
}

// TestBackupThatIsKilled kills the command and the node, in turn, while one backs the other up: what is there by
// the backup's name is one, what was begun is removed by who made it or by the next backup, which says so, and
// that one is whole.
func TestBackupThatIsKilled(t *testing.T) {
	rounds := 4
	if n, err := strconv.Atoi(os.Getenv("RAMET_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	for _, on := range []struct {
		name string
		args func(t *testing.T) []string
	}{
		{"embedded", func(*testing.T) []string { return nil }},
		{"Redis", func(t *testing.T) []string {
			return []string{"--board", redistest.Start(t).URL(), "--archive", "sqlite:archive.db"}
		}},
	} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, on.args(t)...)
			last := filepath.Join(k.dir, "last.backup")
			k.whole(last)
			total, err := os.Stat(last)
			must(t, err)
			cut := 0
			for i := range rounds {
				file := filepath.Join(k.dir, fmt.Sprintf("%d.backup", i))
				c, said, ended := k.begun(file, total.Size()*int64(i)/int64(rounds))
				if i%2 == 0 {
					_ = c.Process.Kill()
				} else {
					_ = k.end(syscall.SIGKILL)
				}
				err, left := <-ended, k.parts()
				switch _, none := os.Stat(file); {
				case none == nil: // it had come to its end
					k.run("backup", "verify", file)
				case i%2 == 0:
					if cut++; len(left) > 1 {
						t.Errorf("round %d: %q is left", i, left)
					}
				default:
					cut++
					gone := (*exec.ExitError)(nil)
					if gone, _ = err.(*exec.ExitError); gone == nil || gone.ExitCode() != 7 || !strings.Contains(said.String(), "is the node running?") || len(left) > 0 {
						t.Errorf("round %d: the node was killed, the command ended with %v and left %q:\n%s", i, err, left, said)
					}
				}
				if i%2 == 1 {
					k.serve()
				}
				next := k.whole(file)
				for _, name := range left {
					if want := "removed " + filepath.Base(name) + ", which a backup that was broken off has left"; !strings.Contains(next, want) {
						t.Errorf("round %d: the next backup said %q, want %q", i, next, want)
					}
				}
				must(t, os.Remove(file))
			}
			t.Logf("%d of %d backups were broken off", cut, rounds)
			k.shows("^backup ", "backup", "verify", last) // another's backup is as it was
		})
	}
}

// fullDisk makes a folder the place of a backup that does not fit, and says what is wrong there; free gives it room.
type fullDisk func(t *testing.T, k *keeper) (words string, free func())

// TestBackupOnAFullDisk ends with what is wrong and the code for it, leaves nothing, and the one that was there before.
func TestBackupOnAFullDisk(t *testing.T) {
	if !testmount.Own(t) {
		return
	}
	onFullDisk(t, func(t *testing.T, k *keeper) (string, func()) {
		resize := testmount.Small(t, k.dir, "3m")
		return "no space left on device", func() { resize("100m") }
	})
}

// TestBackupThatMayNotGrow is that where nobody can mount a disk: a limit on the size of files stands in for it.
func TestBackupThatMayNotGrow(t *testing.T) {
	onFullDisk(t, func(t *testing.T, k *keeper) (string, func()) {
		limited := filepath.Join(filepath.Dir(k.dir), "limited")
		must(t, os.WriteFile(limited, []byte("#!/bin/bash\nulimit -f 2000\nexec "+binaries.today+" \"$@\"\n"), 0o700))
		k.program = limited
		return "file too large", func() { k.program = binaries.today }
	})
}

func onFullDisk(t *testing.T, on fullDisk) {
	k := newKeeper(t)
	words, free := on(t, k)
	file := filepath.Join(k.dir, "x.backup")
	must(t, os.WriteFile(file, []byte("the one before"), 0o600))
	for _, c := range []struct{ to, words string }{
		{file, "write the backup " + file + ": " + words + "; what was written is removed"},
		{"-", "standard output cannot be written: " + words + "; what is there is not all"},
	} {
		var said bytes.Buffer
		cmd := k.command("backup", c.to)
		cmd.Stderr = &said
		redirected, err := os.Create(filepath.Join(k.dir, "redirected"))
		must(t, err)
		cmd.Stdout = redirected
		_ = cmd.Run()
		must(t, redirected.Close())
		if code := cmd.ProcessState.ExitCode(); code != 7 || said.String() != "ramet: "+c.words+"\n" {
			t.Errorf("backup %s: got exit code %d and %q, want 7 and %q", c.to, code, &said, c.words)
		}
		if left := k.parts(); len(left) > 0 {
			t.Errorf("backup %s: %q is left", c.to, left)
		}
	}
	if text, err := k.try("backup", "verify", filepath.Join(k.dir, "redirected")); err == nil || !strings.Contains(text, "cut off") {
		t.Errorf("what was redirected to the full disk is taken for a backup: %v, %s", err, text)
	}
	if before, err := os.ReadFile(file); err != nil || string(before) != "the one before" {
		t.Errorf("the backup that was there is %.20q, %v", before, err)
	}
	must(t, os.Remove(filepath.Join(k.dir, "redirected")))
	free()
	k.whole(file)
	must(t, k.end(syscall.SIGTERM))
}
