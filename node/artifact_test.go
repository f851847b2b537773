package node_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/artifact/folderstore"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// leaver is a runtime whose scripts leave a file.
type leaver struct{ echo }

func (l leaver) Info() script.Info { return script.Info{Slots: 3} }

func (l leaver) Run(_ context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	return script.Outcome{Verdict: script.Succeeded}, os.WriteFile(filepath.Join(t.Dir, "a"), []byte("x"), 0o600)
}

// fullStore has no room until it is made.
type fullStore struct {
	artifact.Store
	room chan struct{}
}

func (s fullStore) Put(ctx context.Context, t domain.TenantID, src io.ReadSeeker) (artifact.Blob, error) {
	select {
	case <-s.room:
		return s.Store.Put(ctx, t, src)
	default:
		return artifact.Blob{}, fmt.Errorf("artifact store: %w: %w", domain.ErrExhausted, syscall.ENOSPC)
	}
}

// TestAStoreThatIsFullIsKnownToAllNodes at once, by the record of the node that has the job, and nobody
// hears of it any more once there is room.
func TestAStoreThatIsFullIsKnownToAllNodes(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		folder, err := folderstore.Open(filepath.Join(t.TempDir(), "artifacts"))
		if err != nil {
			t.Fatal(err)
		}
		store := fullStore{folder, make(chan struct{})}
		n, err := node.New(t.Context(), b, node.Config{Name: "n1", DataDir: t.TempDir(), Artifacts: store, Runtimes: []script.Runtime{leaver{echo{typ: "go"}}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		synctest.Wait() // its first record is written, and the next is due in a while
		receipts, err := n.Work.Submit(t.Context(), 1, []*domain.Job{{ID: 1, CallerID: 1, Script: "x", ScriptType: "go", Artifacts: []string{"a"}}})
		if err != nil || receipts[0].Err != nil {
			t.Fatal(err, receipts)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		about := func() domain.Node {
			recs, err := b.Get(t.Context(), 0, layout.Node("n1"))
			if err != nil {
				t.Fatal(err)
			}
			about, err := layout.DecodeNode(layout.Node("n1"), recs[0])
			if err != nil {
				t.Fatal(err)
			}
			return about
		}
		key := receipts[0].Key
		if u := about().Unkept; len(u) != 1 || u[0].Context != 1 || u[0].Job != key.String() || !u[0].Full || !strings.Contains(u[0].Why, "no space left") {
			t.Errorf("its record says %+v", u)
		}
		x, err := work.New(b, work.Config{}).Explain(t.Context(), 1, key)
		if err != nil || !strings.HasSuffix(x.Text, "the artifact store is full") {
			t.Errorf("another node explains %q, %v", x.Text, err)
		}
		close(store.room)
		if j, err := n.Work.Wait(t.Context(), 1, key); err != nil || j.Status != domain.JobFinished {
			t.Fatal(j, err)
		}
		synctest.Wait()
		if u := about().Unkept; len(u) != 0 {
			t.Errorf("once there is room its record says %+v", u)
		}
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}
