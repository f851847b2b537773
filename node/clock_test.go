package node_test

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/node"
)

// TestWhoLivesIsJudgedByTheBoardsClock has a node whose own clock is an hour off judge others
// by what they have said at instants of the board, and say the like of itself.
func TestWhoLivesIsJudgedByTheBoardsClock(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, within board.Board) {
				b := boardtest.Ahead(within, by)
				seen := func(ago time.Duration) string { return strconv.FormatInt(b.Now().Add(-ago).UnixMilli(), 10) }
				other := func(name, runner string, ago time.Duration) {
					t.Helper()
					var batch board.Batch
					batch.Set(layout.Node(name), board.Field{Name: layout.NodeID, Value: name}, board.Field{Name: layout.NodeSeen, Value: seen(ago)},
						board.Field{Name: "runner_id", Value: runner})
					batch.Set("runner:"+runner, board.Field{Name: layout.RunnerNode, Value: name}, board.Field{Name: layout.RunnerSeen, Value: seen(ago)},
						board.Field{Name: "serves", Value: `[{"script_type":"other","served":true}]`})
					if err := b.Commit(t.Context(), batch); err != nil {
						t.Fatal(err)
					}
				}
				other("lives", "71", time.Second)
				other("died", "72", 2*domain.NodeSilence)
				if _, err := node.New(t.Context(), b, node.Config{Name: "lives", DataDir: t.TempDir()}); !errors.Is(err, domain.ErrConflict) {
					t.Errorf("the name of a node that lives: got %v, want a conflict", err)
				}
				if _, err := node.New(t.Context(), b, node.Config{Name: "new", RunnerID: 71, DataDir: t.TempDir()}); !errors.Is(err, domain.ErrConflict) {
					t.Errorf("the runner id of a node that lives: got %v, want a conflict", err)
				}
				n := start(t, b, node.Config{Name: "died", RunnerID: 72, DataDir: t.TempDir()})
				if _, err := n.Work.Wait(t.Context(), 1, submit(t, n.Node, 1, "ok")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // a node works while it writes that it is there
				recs, err := b.Get(t.Context(), 0, layout.Node("died"), layout.Runner(72))
				if err != nil {
					t.Fatal(err)
				}
				is, err := layout.DecodeNode(layout.Node("died"), recs[0])
				runner, wrong := layout.DecodeRunner(layout.Runner(72), recs[1])
				if now := b.Now(); err != nil || wrong != nil || !is.Seen(now).Alive || !runner.Alive(now) || is.SeenMs > now.UnixMilli() {
					t.Errorf("by the board's clock the node is %+v and its runner %+v, want both alive: %v %v", is, runner, err, wrong)
				}
				if lack, err := n.Work.Absent(t.Context(), domain.RoleRunner); err != nil || lack != "" {
					t.Errorf("of runners: %q %v, want that some live", lack, err)
				}
				if err := n.stop(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
