package etcdboard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/testwait"
)

func epoch(t *testing.T, b board.Board) board.Epoch {
	t.Helper()
	recs, err := b.Get(t.Context(), 0, board.EpochKey)
	if err != nil {
		t.Fatal(err)
	}
	return board.EpochOf(recs[0])
}

func next(t *testing.T, b board.Board, space board.Space, key string) int64 {
	t.Helper()
	n, err := b.Next(t.Context(), space, key, 1)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNumbersGoOnAfterARestore restores a snapshot, as somebody does whose etcd is
// lost, once and again.
func TestNumbersGoOnAfterARestore(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url := etcdtest.URL("", server)
	b := open(t, url)
	var last, actor int64
	for range 20 {
		last, actor = next(t, b, 7, "ramet:seq:job:12"), next(t, b, 0, "ramet:seq:actor")
	}
	for i := range int64(2) {
		snapshot := server.Snapshot()
		for range 30 {
			last, actor = next(t, b, 7, "ramet:seq:job:12"), next(t, b, 0, "ramet:seq:actor")
		}
		b.Close()
		server.Restore(snapshot)
		b = open(t, url)
		other := open(t, url)
		if e := epoch(t, other); e.Number != i+1 || !strings.Contains(e.Cause, "restored from a snapshot") {
			t.Errorf("got epoch %+v, want %d", e, i+1)
		}
		if n := next(t, b, 7, "ramet:seq:job:12"); n <= last+1000 {
			t.Errorf("number %d is given out, and %d was", n, last)
		}
		if n := next(t, other, 0, "ramet:seq:actor"); n <= actor+1000 {
			t.Errorf("actor %d is given out, and %d was", n, actor)
		}
	}
}

// TestARestartBeginsNoEpoch of an etcd that has lost nothing, also one that was busy.
func TestARestartBeginsNoEpoch(t *testing.T) {
	server := etcdtest.Start(t)
	url := etcdtest.URL("", server)
	last := int64(0)
	for range 5 {
		b := open(t, url)
		for range 30 {
			if n := next(t, b, 7, "n"); n != last+1 {
				t.Fatalf("got number %d after %d", n, last)
			}
			last++
		}
		other := open(t, url)
		if e := epoch(t, other); e.Number != 0 {
			t.Fatalf("got epoch %+v", e)
		}
		b.Close()
		other.Close()
		server.Restart()
	}
}

// TestANodeNoticesARestoreUnderIt takes nothing from its memory for what etcd has, and gives out no number
// of before: also where the restored etcd is said to be further than any node has seen, as its manual has it.
func TestANodeNoticesARestoreUnderIt(t *testing.T) {
	for name, flags := range map[string][]string{
		"plain":  nil,
		"bumped": {"--bump-revision", "1000000", "--mark-compacted"},
	} {
		t.Run(name, func(t *testing.T) {
			server := etcdtest.Start(t, "--unsafe-no-fsync")
			url := etcdtest.URL("", server)
			reader, writer := open(t, url), open(t, url)
			commit(t, writer, in(sp).Set("r", field("a", "before")))
			last := next(t, writer, sp, "n")
			snapshot := server.Snapshot()
			for range 10 {
				commit(t, writer, in(sp).Set("r", field("a", "after")))
				last = next(t, writer, sp, "n")
			}
			if recs, err := reader.Get(t.Context(), sp, "r"); err != nil || recs[0].Get("a") != "after" {
				t.Fatal(recs, err)
			}
			server.Restore(snapshot, flags...)
			told := func(what string, do func() error) {
				t.Helper()
				var err error
				testwait.Until(t, what+" that is answered", func() bool {
					err = do()
					return err == nil || !strings.Contains(err.Error(), "cannot be reached")
				})
				if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "restored from a snapshot") {
					t.Errorf("%s: got %v, want that etcd was restored", what, err)
				}
			}
			told("a number", func() error {
				n, err := reader.Next(t.Context(), sp, "n", 1)
				if err == nil {
					t.Errorf("number %d is given out after %d", n, last)
				}
				return err
			})
			told("a read", func() error { _, err := reader.Get(t.Context(), sp, "r"); return err })
			told("a write", func() error { return writer.Commit(t.Context(), *in(sp).Set("r", field("b", "new"))) })
			told("a claim", func() error { _, err := writer.Claim(t.Context(), ask(1, "n")); return err })
			b := open(t, url)
			if recs, err := b.Get(t.Context(), sp, "r"); err != nil || recs[0].Get("a") != "before" || recs[0].Get("b") != "" {
				t.Errorf("got %v, %v, want what the snapshot has", recs, err)
			}
			if n := next(t, b, sp, "n"); n <= last+1000 {
				t.Errorf("number %d is given out, and %d was", n, last)
			}
		})
	}
}
