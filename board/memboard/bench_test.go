package memboard_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
)

// BenchmarkJob runs a job's way over the board: submit, claim, finish. Cost
// must not depend on the backlog nor on the number of spaces.
func BenchmarkJob(b *testing.B) {
	for _, spaces := range []int{1, 1000} {
		for _, backlog := range []int{0, 100000} {
			b.Run("spaces="+strconv.Itoa(spaces)+"/backlog="+strconv.Itoa(backlog), func(b *testing.B) {
				m, ctx := memboard.Open(), context.Background()
				defer m.Close()
				for i := range backlog {
					submit(b, m, spaces, i)
				}
				ask := board.Ask{
					Queues: []board.Queue{{Lists: []string{"queue:v"}}}, Max: 1, Owner: "me", Lease: time.Minute,
					Mark: []board.Field{{Name: "status", Value: "started"}},
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					submit(b, m, spaces, backlog+i)
					got, err := m.Claim(ctx, ask)
					if err != nil || len(got) != 1 {
						b.Fatal(got, err)
					}
					batch := board.Batch{Space: got[0].Space}
					batch.Held(got[0].Item, "me", got[0].Token).
						Set(got[0].Item, board.Field{Name: "status", Value: "finished"}, board.Field{Name: "result", Value: "{}"}).
						Release(got[0].Item).Settle(got[0].Item).Delete(got[0].Item)
					if err := m.Commit(ctx, batch); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func submit(b *testing.B, m *memboard.Board, spaces, i int) {
	key := "job:1:" + strconv.Itoa(i)
	batch := board.Batch{Space: board.Space(i % spaces)}
	batch.Absent(key).
		Set(key, board.Field{Name: "status", Value: "dispatched"}, board.Field{Name: "script", Value: "exit 0"},
			board.Field{Name: "script_type", Value: "v"}, board.Field{Name: "created_at", Value: "1700000000"}).
		Live(key, time.UnixMilli(int64(i))).PushLeft("queue:v", key)
	if err := m.Commit(context.Background(), batch); err != nil {
		b.Fatal(err)
	}
}
