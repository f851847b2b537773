package jail

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// hideIn opens a jail that hides <dir>/share/data.
func hideIn(t *testing.T, dir string) (jail *Jail, data string) {
	t.Helper()
	data = filepath.Join(dir, "share/data")
	put(t, filepath.Join(data, "secret"))
	jail, err := Open(Config{Level: script.Open, Hide: []string{data}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { jail.Close() })
	if jail.fence == nil {
		t.Skip("this kernel has no Landlock")
	}
	return jail, data
}

// put makes a file with its folders.
func put(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantRead runs a script that reads a file.
func wantRead(t *testing.T, jail *Jail, path string, can bool) {
	t.Helper()
	exit, said := run(t, t.Context(), jail, "cat '"+path+"'", script.Limits{})
	if (exit.Code == 0) != can {
		t.Errorf("read %s: got exit code %d, %q; readable should be %v", path, exit.Code, said, can)
	}
}

func TestWhatIsMadeLaterCanBeRead(t *testing.T) {
	dir := t.TempDir()
	jail, data := hideIn(t, dir)
	for _, name := range []string{"project/file", "file", "share/other/file", "share/file"} {
		path := filepath.Join(dir, name)
		put(t, path)
		wantRead(t, jail, path, true)
		wantRead(t, jail, filepath.Join(data, "secret"), false)
	}
	t.Run("in place of what was there", func(t *testing.T) {
		if err := os.Rename(filepath.Join(dir, "project"), filepath.Join(dir, "old")); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "project/new"))
		wantRead(t, jail, filepath.Join(dir, "project/new"), true)
		wantRead(t, jail, filepath.Join(dir, "old/file"), true)
	})
	t.Run("the hidden folder itself", func(t *testing.T) {
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
		wantRead(t, jail, filepath.Join(dir, "file"), true)
		put(t, filepath.Join(data, "secret"))
		wantRead(t, jail, filepath.Join(data, "secret"), false)
	})
}

// inNamespace makes this test program a child with mounts of its own.
const inNamespace = "RAMET_TEST_IN_NAMESPACE"

func TestWhatIsMountedLaterCanBeRead(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		if os.Getuid() != 0 {
			t.Skip("only root may mount")
		}
		self := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		self.Env = append(os.Environ(), inNamespace+"=1")
		self.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := self.CombinedOutput()
		if err != nil || strings.Contains(string(out), "--- SKIP") {
			t.Log(string(out))
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
	jail, err := Open(Config{Level: script.Open, Hide: []string{"/usr/share"}})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	if jail.fence == nil {
		t.Skip("this kernel has no Landlock")
	}
	awaitKept(t, jail.fence)
	if err := unix.Mount("none", "/mnt", "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	put(t, "/mnt/file")
	wantRead(t, jail, "/mnt/file", true)
	wantRead(t, jail, "/usr/share/doc", false)
	awaitKept(t, jail.fence)
}

func TestViewsAreClosed(t *testing.T) {
	dir := t.TempDir()
	jail, _ := hideIn(t, dir)
	before := descriptors(t)
	var users sync.WaitGroup
	for g := range 4 {
		users.Go(func() {
			for i := range 50 {
				if i%5 == 0 {
					_ = os.Mkdir(filepath.Join(dir, strconv.Itoa(g)+"-"+strconv.Itoa(i)), 0o700)
				}
				ruleset, err := jail.Ruleset(dir)
				if err != nil {
					t.Error(err)
					return
				}
				unix.Close(ruleset)
			}
		})
	}
	users.Wait()
	// 40 folders beside the hidden one, and what others do in /tmp meanwhile.
	if after := descriptors(t); after > before+100 {
		t.Errorf("got %d open descriptors, had %d", after, before)
	}
	jail.fence.close()
	if after := descriptors(t); after >= before {
		t.Errorf("closed: got %d open descriptors, had %d", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

func TestViewIsKept(t *testing.T) {
	f, err := newFence(Config{Hide: []string{"/usr/share"}})
	if err != nil {
		t.Skip(err)
	}
	defer f.close()
	awaitKept(t, f)
}

// awaitKept asks for the view until it is the same twice: something may be
// changing on this machine just now.
func awaitKept(t *testing.T, f *fence) {
	t.Helper()
	for range 100 {
		first, err := f.current()
		if err != nil {
			t.Fatal(err)
		}
		second, err := f.current()
		if err != nil {
			t.Fatal(err)
		}
		same := first == second
		f.release(second)
		f.release(first)
		if same {
			return
		}
	}
	t.Fatal("the view was made anew each time")
}

func TestLook(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/b/deep/er", "a/c", "d"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	// One within another, one by way of a link, one that is not there yet.
	v, err := look([]string{dir + "/link/b", dir + "/a/b/deep/er", dir + "/link/later"}, nil, readRights)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	open := map[string]bool{}
	for _, r := range v.rules {
		path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(r.fd))
		if err != nil {
			t.Fatal(err)
		}
		open[path] = true
	}
	for path, want := range map[string]bool{"a": false, "a/b": false, "a/b/deep": false, "a/b/deep/er": false, "a/c": true, "d": true, "link": false} {
		if got := open[filepath.Join(dir, path)]; got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	if !open["/usr"] || open["/"] {
		t.Errorf("got %v", open)
	}
}

func TestAFullFolderIsClosed(t *testing.T) {
	dir := t.TempDir()
	for i := range maxNeighbours + 1 {
		put(t, filepath.Join(dir, "share", strconv.Itoa(i)))
	}
	jail, data := hideIn(t, dir)
	before := descriptors(t)
	wantRead(t, jail, filepath.Join(dir, "share/1"), false)
	wantRead(t, jail, filepath.Join(data, "secret"), false)
	wantRead(t, jail, "/etc/passwd", true)
	if after := descriptors(t); after > before+maxNeighbours {
		t.Errorf("got %d descriptors, had %d", after, before)
	}
	told := false
	for _, m := range jail.Measures(script.Open) {
		told = told || strings.Contains(m.Detail, filepath.Join(dir, "share"))
	}
	if !told {
		t.Error("nothing says which folder is closed")
	}
}

func TestNoFenceIsNoJail(t *testing.T) {
	if jail, err := Open(Config{Level: script.Open}); err != nil || jail.fence == nil || jail.Close() != nil {
		t.Skip("this kernel has no Landlock")
	}
	var most unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &most); err != nil {
		t.Fatal(err)
	}
	few := most
	few.Cur = uint64(descriptors(t) + 8)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	jail, err := Open(Config{Level: script.Open, Hide: []string{t.TempDir()}})
	if bad := unix.Setrlimit(unix.RLIMIT_NOFILE, &most); bad != nil {
		t.Fatal(bad)
	}
	if err == nil {
		jail.Close()
		t.Error("a jail was opened without the fence that this kernel has")
	}
}

// BenchmarkCurrent is what a start pays for a view that is up to date, and
// for one that is not.
func BenchmarkCurrent(b *testing.B) {
	home := b.TempDir()
	data := filepath.Join(home, ".local/share/ramet")
	if err := os.MkdirAll(data, 0o700); err != nil {
		b.Fatal(err)
	}
	f, err := newFence(Config{Hide: []string{data}})
	if err != nil {
		b.Skip(err)
	}
	defer f.close()
	time.Sleep(2 * tick) // until the folders made just now count as unchanged
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			v, err := f.current()
			if err != nil {
				b.Fatal(err)
			}
			f.release(v)
		}
	})
	b.Run("anew", func(b *testing.B) {
		for b.Loop() {
			v, err := look(f.hide, nil, f.handled)
			if err != nil {
				b.Fatal(err)
			}
			v.close()
		}
		b.ReportMetric(float64(len(f.view.rules)), "rules")
	})
}
