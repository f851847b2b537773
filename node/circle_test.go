package node_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script/rhaiscript"
)

var friends = domain.ServedCircle{Name: "friends", Context: 1}

func circles(t *testing.T) node.CirclesConfig {
	return node.CirclesConfig{Served: []domain.ServedCircle{friends}, Runtime: rhaiscript.New(rhaiscript.Config{Slots: 4})}
}

func put(t *testing.T, n *node.Node, id, text string) {
	t.Helper()
	if _, err := n.Circles.Submit(t.Context(), 1, &domain.Task{ID: id, Circle: "friends", Script: text}); err != nil {
		t.Fatal(err)
	}
}

func TestANodeServesCircles(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir(), Circles: circles(t), Grace: time.Second})
		put(t, n.Node, "t1", "40 + 2")
		if got, err := n.Circles.Wait(t.Context(), 1, "t1"); err != nil || got.Output != "42" {
			t.Errorf("got %+v, %v", got, err)
		}
		synctest.Wait()
		if servers, err := n.Circles.Servers(t.Context()); err != nil || len(servers[friends]) != 1 || servers[friends][0] != "n1" {
			t.Errorf("served by %v, %v", servers, err)
		}
		// A drain gives back what does not end.
		put(t, n.Node, "t2", "sleep(1000)")
		synctest.Wait()
		if err := n.stop(); err != nil {
			t.Error(err)
		}
		if got, err := n.Circles.Show(t.Context(), 1, "t2"); err != nil || got.Status != domain.TaskPending || got.LeaseOwner != "" {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestANodeBringsBackTasks that nobody has any more.
func TestANodeBringsBackTasks(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir()})
		defer n.stop()
		// Of two tasks, another node took one and died, and somebody emptied the
		// list with the other.
		put(t, n.Node, "lost", "1")
		ask := board.Ask{Queues: []board.Queue{{Lists: []string{queue.Circle("friends")}}}, Max: 1, Owner: "n3/x", Lease: 30 * time.Second}
		if got, err := b.Claim(t.Context(), ask); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		put(t, n.Node, "stray", "1")
		empty := board.Batch{Space: 1}
		if err := b.Commit(t.Context(), *empty.Delete(queue.Circle("friends"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		got, err := b.List(t.Context(), 1, queue.Circle("friends"), 0, 10)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, []string{"lost", "stray"}) {
			t.Errorf("got %v, %v, want both back in their circle", got, err)
		}
	})
}

func TestABanHoldsCirclesUp(t *testing.T) {
	bubble(t, func(t *testing.T, b board.Board) {
		n := start(t, b, node.Config{Name: "n1", DataDir: t.TempDir(), Circles: circles(t)})
		defer n.stop()
		scope := domain.BanScope{Kind: domain.BanType, Name: "rhai"}
		if _, err := ban.New(b).Set(t.Context(), domain.Ban{BanScope: scope, Level: domain.BanPick, Reason: "test", By: 1}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		put(t, n.Node, "t1", "1")
		time.Sleep(time.Hour)
		if got, err := n.Circles.Show(t.Context(), 1, "t1"); err != nil || got.Status != domain.TaskPending {
			t.Errorf("got %+v, %v", got, err)
		}
		if _, err := ban.New(b).Lift(t.Context(), scope); err != nil {
			t.Fatal(err)
		}
		if got, err := n.Circles.Wait(t.Context(), 1, "t1"); err != nil || got.Status != domain.TaskCompleted {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}
