package work_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// counted is a board that counts the records of workers that are read.
type counted struct {
	board.Board
	read atomic.Int64
}

func (c *counted) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	if space != 0 && len(keys) > 0 && strings.HasPrefix(keys[0], layout.RunnerPrefix) {
		c.read.Add(int64(len(keys)))
	}
	return c.Board.Get(ctx, space, keys...)
}

// TestManyWorkersAreReadOnceForAllWhoAsk why a job waits, at about the same time; and few anew each time.
func TestManyWorkersAreReadOnceForAllWhoAsk(t *testing.T) {
	for _, tt := range []struct{ workers, want int }{{600, 600}, {3, 60}} {
		t.Run(fmt.Sprint(tt.workers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &counted{Board: memboard.Open()}
				r := &rig{T: t, board: b, engine: work.New(b, known()), ctx: t.Context()}
				list := func(name string) domain.Runner {
					w := domain.Worker{Context: tenant, Actor: 7, Name: name}
					about := domain.Runner{ID: w.RunnerID(), Worker: name, Actor: 7, SeenMs: b.Now().UnixMilli(),
						Serves: []domain.Service{{ScriptType: "other", Served: true}}}
					r.commit(new(board.Batch).Set(layout.Runner(about.ID), layout.EncodeRunner(about)...))
					return about
				}
				for i := range tt.workers {
					list(fmt.Sprint("w", i))
				}
				if err := r.engine.RegisterTypes(t.Context(), tenant, []domain.ScriptType{"mail"}); err != nil {
					t.Fatal(err)
				}
				r.submit(mail(1, "x"))
				var asking sync.WaitGroup
				for range 20 {
					asking.Go(func() { r.standingOf(1) })
				}
				asking.Wait()
				if got := int(b.read.Load()); got != tt.want {
					t.Errorf("%d records of workers were read, want %d", got, tt.want)
				}
				about := list("w0")
				about.Serves[0].ScriptType = "mail"
				r.commit(new(board.Batch).Set(layout.Runner(about.ID), layout.EncodeRunner(about)...))
				time.Sleep(3 * time.Second)
				if x := r.standingOf(1); strings.Contains(x.Text, "no node that is alive serves mail") {
					t.Errorf("a worker that has come is not known: %s", x.Text)
				}
			})
		})
	}
}
