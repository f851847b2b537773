package etcdboard_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/internal/etcdtest"
)

// BenchmarkCycle is submit, claim and finish of one job, by some callers on
// some nodes, with etcd's fsync on. An operation is one job.
func BenchmarkCycle(b *testing.B) {
	for _, c := range []struct{ nodes, callers int }{{1, 1}, {1, 8}, {1, 64}, {8, 8}, {8, 64}} {
		b.Run(fmt.Sprintf("nodes=%d/callers=%d", c.nodes, c.callers), func(b *testing.B) {
			boards := openNodes(b, c.nodes)
			share(b, c.callers, func(i, _ int) {
				bd, id := boards[i%c.nodes], fmt.Sprint("job:", i, ":", time.Now().UnixNano())
				must(b, bd.Commit(b.Context(), *in(sp).Absent(id).Set(id, field("status", "queued")).Live(id, time.Now()).PushLeft("queue:v", id)))
				a := ask(1, "me")
				a.Wait = time.Minute
				got, err := bd.Claim(b.Context(), a)
				must(b, err)
				must(b, bd.Commit(b.Context(), *in(sp).Held(got[0].Item, "me", got[0].Token).Delete(got[0].Item)))
			})
		})
	}
}

// BenchmarkClaim is claims of one item each from one full queue. An operation
// is one claim.
func BenchmarkClaim(b *testing.B) {
	for _, c := range []struct{ nodes, callers int }{{1, 8}, {1, 64}, {8, 8}, {8, 64}} {
		b.Run(fmt.Sprintf("nodes=%d/callers=%d", c.nodes, c.callers), func(b *testing.B) {
			boards := openNodes(b, c.nodes)
			for i := 0; i < b.N; i += 500 {
				batch := in(sp)
				for k := range 500 {
					batch.PushLeft("queue:v", fmt.Sprint("job:", i+k))
				}
				must(b, boards[0].Commit(b.Context(), *batch))
			}
			b.ResetTimer()
			share(b, c.callers, func(i, _ int) {
				a := ask(1, "me")
				a.Wait = time.Minute
				got, err := boards[i%c.nodes].Claim(b.Context(), a)
				must(b, err)
				if len(got) != 1 {
					b.Errorf("got %d items", len(got))
				}
			})
		})
	}
}

func openNodes(b *testing.B, n int) []*etcdboard.Board {
	url := etcdtest.URL("bench", etcdtest.Start(b))
	boards := make([]*etcdboard.Board, n)
	for i := range boards {
		bd, err := etcdboard.Open(b.Context(), url, etcdboard.Config{})
		must(b, err)
		b.Cleanup(func() { bd.Close() })
		boards[i] = bd
	}
	return boards
}

// share runs b.N operations by some callers.
func share(b *testing.B, callers int, run func(caller, i int)) {
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > b.N {
					return
				}
				run(caller, i)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "/s")
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Error(err)
	}
}
