package cluster

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/testmount"
)

// newFolder prepares a data folder with an embedded board in dir.
func newFolder(t *testing.T, dir string) *killer {
	t.Helper()
	k := newKiller(t, filepath.Join(dir, "board"))
	k.data = dir
	return k
}

// fill lets a node submit and work until it has acknowledged n jobs, and kills
// it.
func (k *killer) fill(n int) {
	k.Helper()
	p := spawn(k.T, k.where, "victim", k.data, envFirst+"=1")
	p.await("ack", n)
	p.kill()
	k.book(p)
}

func (k *killer) book(p *process) {
	for _, key := range p.lines("ack") {
		k.acked[key] = true
	}
}

// wantRefusal waits for a node's end, which must be one line that says all of
// words.
func wantRefusal(t *testing.T, p *process, words ...string) {
	t.Helper()
	code, text := p.exit()
	if code != 1 || strings.Count(text, "\n") != 1 {
		t.Errorf("the node ended with %d: %s; want 1 and one line", code, text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the node said %q, want %q in it", text, w)
		}
	}
}

// The disk fills up under load: submits are refused in words that help, the
// node ends, and when there is room again nothing acknowledged is lost.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if !testmount.Own(t) {
		return
	}
	resize := testmount.Small(t, dir, "6m")
	k := newFolder(t, dir)
	p := spawn(t, k.where, "victim", k.data, envFirst+"=1", envScript+"=8192")
	if text := p.await("refused", 1)[0]; !strings.Contains(text, "free some space") {
		t.Errorf("a submit on a full disk is refused with %q", text)
	}
	wantRefusal(t, p, "is full: free some space", "nothing acknowledged was lost")
	k.book(p)
	wantRefusal(t, spawn(t, k.where, "victim", k.data), "free some space")
	resize("1g")
	t.Logf("%d jobs acknowledged", len(k.acked))
	k.drain()
	k.verify()
}

// A limit on the size of files stands in for a full disk where nothing can be
// mounted.
func TestFilesCannotGrow(t *testing.T) {
	t.Parallel()
	k := newFolder(t, t.TempDir())
	p := spawn(t, k.where, "victim", k.data, envFirst+"=1", envScript+"=8192", envFile+"="+strconv.Itoa(2<<20))
	if text := p.await("refused", 1)[0]; !strings.Contains(text, "file too large") {
		t.Errorf("a submit is refused with %q", text)
	}
	wantRefusal(t, p, "cannot be written", "file too large", "nothing acknowledged was lost")
	k.book(p)
	t.Logf("%d jobs acknowledged", len(k.acked))
	k.drain()
	k.verify()
}

func TestFolderBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	k := newFolder(t, t.TempDir())
	first := spawn(t, k.where, "victim", k.data)
	first.await("ready", 1)
	wantRefusal(t, spawn(t, k.where, "other", t.TempDir()), "is in use by another ramet process (pid "+strconv.Itoa(first.cmd.Process.Pid)+")")
	first.alive()
	first.kill()
	spawn(t, k.where, "victim", k.data).await("ready", 1)
}

// What a node left when it was killed is damaged before the next life.
func TestDamagedFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, board string)
		words  string // of the refusal; "": it opens, and nothing is lost
		either bool   // it may open and lack something
	}{
		{name: "garbage behind the log", damage: func(t *testing.T, board string) { extend(t, newest(t, board, "*.log"), garbage(5000)) }},
		{name: "zeros behind the log", damage: func(t *testing.T, board string) { extend(t, newest(t, board, "*.log"), make([]byte, 100_000)) }},
		{name: "half a record behind the log", damage: func(t *testing.T, board string) { extend(t, newest(t, board, "*.log"), garbage(3)) }},
		{name: "a log cut short", damage: func(t *testing.T, board string) { cut(t, newest(t, board, "*.log"), 1000) }, words: "is damaged", either: true},
		{name: "garbage within the log", damage: func(t *testing.T, board string) { overwrite(t, newest(t, board, "*.log")) }, words: "is damaged", either: true},
		{name: "garbage within the manifest", damage: func(t *testing.T, board string) { overwrite(t, newest(t, board, "MANIFEST-*")) }, words: "is damaged"},
		{name: "no manifest", damage: func(t *testing.T, board string) { remove(t, newest(t, board, "MANIFEST-*")) }, words: "is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newFolder(t, t.TempDir())
			k.fill(500)
			if c.words == "" && size(t, newest(t, k.where, "*.log")) == 0 {
				// Then the damage is all that the log has, and it may be
				// taken for one that was overwritten.
				c.words, c.either = "is damaged", true
			}
			c.damage(t, k.where)
			if c.words == "" {
				k.drain()
				k.verify()
				return
			}
			p := spawn(t, k.where, "victim", k.data)
			if c.either && p.opens() {
				t.Log("it opens")
				return
			}
			wantRefusal(t, p, c.words)
		})
	}
}

// opens tells whether the node gets ready.
func (p *process) opens() bool {
	for {
		ready, changed := p.sofar("ready")
		if len(ready) > 0 {
			return true
		}
		select {
		case <-changed:
		case <-p.ended:
			return len(p.lines("ready")) > 0
		}
	}
}

// newest is the file that was made last: their names are numbers.
func newest(t *testing.T, board, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(board, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, board, err)
	}
	return files[len(files)-1]
}

func garbage(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func size(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func write(t *testing.T, file string, at int64, b []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

func extend(t *testing.T, file string, b []byte) { write(t, file, size(t, file), b) }

// overwrite puts garbage into the middle of a file.
func overwrite(t *testing.T, file string) {
	write(t, file, size(t, file)/2, garbage(int(min(64, size(t, file)/4))))
}

func cut(t *testing.T, file string, n int64) {
	t.Helper()
	if err := os.Truncate(file, max(0, size(t, file)-n)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}
