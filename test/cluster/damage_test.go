package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// TestKillAndDamage changes one byte somewhere in the folder of a killed node,
// again and again: the node that starts there, or who reads there, is told which
// file is damaged, or all that was acknowledged is there. Never is there silently
// less.
func TestKillAndDamage(t *testing.T) {
	t.Parallel()
	var k *killer
	refused, whole := 0, 0
	for round := range damageRounds(t) {
		if round%20 == 0 {
			k = newFolder(t, t.TempDir())
		}
		p := spawn(t, k.where, "victim", k.data, envFirst+"="+fmt.Sprint(round*1_000_000+1))
		p.await("ack", 50+k.rand.IntN(1500))
		p.kill()
		k.book(p)
		hurt := k.copied()
		file := k.flip(hurt.data)
		if said, err := hurt.begins(); err != nil {
			t.Errorf("round %d, %s: %v", round, file, err)
		} else if said != "" {
			refused++
			if !strings.Contains(said, filepath.Base(file.name)) && !file.nameless() {
				t.Errorf("round %d, %s: the node says %q, want the file's name in it", round, file, said)
			}
		} else if said, err := hurt.compare(k.ledger()); err != nil {
			t.Errorf("round %d, %s: %v", round, file, err)
		} else if said != "" {
			refused++
			t.Logf("round %d, %s: found when it was read: %s", round, file, said)
		} else {
			whole++
		}
		// A board that stopped when it found the damage leaves goroutines behind, and
		// one of these may just be making a file: the test's end removes that one.
		_ = os.RemoveAll(hurt.data)
	}
	t.Logf("of the damaged folders %d were refused and %d whole", refused, whole)
}

func damageRounds(t *testing.T) int {
	if os.Getenv("RAMET_KILL_ROUNDS") != "" {
		return rounds(t)
	}
	return min(rounds(t), 4)
}

// copied is the killer's folder, again.
func (k *killer) copied() *killer {
	k.Helper()
	dir := k.TempDir()
	if err := os.CopyFS(dir, os.DirFS(k.data)); err != nil {
		k.Fatal(err)
	}
	return &killer{T: k.T, where: filepath.Join(dir, "board"), data: dir, rand: k.rand, acked: k.acked}
}

// flipped is where a byte was changed.
type flipped struct {
	name     string
	at, size int64
	was, is  byte
}

func (f flipped) String() string {
	return fmt.Sprintf("byte %d of %d of %s changed from %02x to %02x", f.at, f.size, filepath.Base(f.name), f.was, f.is)
}

// nameless reports whether a refusal need not name the file: another id in
// node.json is another node, whose name is taken; the store says of its options which
// one is strange; and a list of files whose end is damaged is an older one, whose
// files are missing.
func (f flipped) nameless() bool {
	name := filepath.Base(f.name)
	return name == "node.json" || strings.HasPrefix(name, "OPTIONS-") || strings.HasPrefix(name, "MANIFEST-")
}

// flip changes a byte of a file in a folder, or one bit of a log: a piece at its end
// of which more is changed is one that was not written any more.
func (k *killer) flip(dir string) (f flipped) {
	k.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && size(k.T, path) > 0 {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		k.Fatal(err)
	}
	f.name = files[k.rand.IntN(len(files))]
	text, err := os.ReadFile(f.name)
	if err != nil {
		k.Fatal(err)
	}
	f.size = int64(len(text))
	f.at = k.rand.Int64N(f.size)
	f.was = text[f.at]
	f.is = f.was ^ byte(1+k.rand.IntN(255))
	if filepath.Ext(f.name) == ".log" {
		f.is = f.was ^ 1<<k.rand.IntN(8)
	}
	write(k.T, f.name, f.at, []byte{f.is})
	return f
}

// begins starts a node on the folder and kills it once it works. said is its
// refusal; "": it did not refuse.
func (k *killer) begins() (said string, err error) {
	k.Helper()
	p := spawn(k.T, k.where, "victim", k.data)
	if p.opens() {
		p.kill()
		return "", nil
	}
	code, text := p.exit()
	if code != 1 || strings.Count(text, "\n") != 1 {
		return "", fmt.Errorf("the node ended with %d: %s; want 1 and one line", code, text)
	}
	return text, nil
}

// ledger is what a board says of each job and flow that was acknowledged.
type ledger map[string]string

// What is written in it.
const (
	over    = "over"
	waiting = "waiting"
)

// ledger reads the killer's board, which nobody has open.
func (k *killer) ledger() ledger {
	k.Helper()
	b := k.open()
	defer b.Close()
	l, err := k.read(k.Context(), b)
	if err != nil {
		k.Fatal(err)
	}
	return l
}

// read reads the records of what was acknowledged.
func (k *killer) read(ctx context.Context, b board.Board) (ledger, error) {
	l := ledger{}
	keys := make([]string, 0, len(k.acked))
	for key := range k.acked {
		keys = append(keys, key)
	}
	const page = 1000
	for len(keys) > 0 {
		part := keys[:min(page, len(keys))]
		keys = keys[len(part):]
		recs, err := b.Get(ctx, 1, part...)
		if err != nil {
			return nil, err
		}
		for i, key := range part {
			switch {
			case len(recs[i]) == 0:
			case domain.JobStatus(recs[i].Get(layout.JobStatus)) == domain.JobFinished:
				l[key] = over
			default:
				l[key] = waiting
			}
		}
	}
	return l, nil
}

// compare holds the killer's board against what an intact copy of it says. said is
// what the board says of its damage; "": nothing.
func (k *killer) compare(want ledger) (said string, err error) {
	k.Helper()
	b, err := openBoard(k.Context(), k.where, nil)
	if err != nil {
		return err.Error(), nil
	}
	defer b.Close()
	got, err := k.read(k.Context(), b)
	if err != nil {
		return err.Error(), nil
	}
	gone, undone := 0, 0
	for key, is := range want {
		switch {
		case got[key] == "":
			gone++
		case is == over && got[key] != over:
			undone++
		}
	}
	if gone+undone > 0 {
		return "", fmt.Errorf("of %d acknowledged %d are gone and %d have not ended any more, and nobody says so", len(want), gone, undone)
	}
	return "", nil
}
