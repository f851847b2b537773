package backup_test

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// BenchmarkCopy copies records from one embedded board to another: keys of nodes, and keys of callers, which are noted
// while the copy is not whole.
func BenchmarkCopy(b *testing.B) {
	const records, each = 100_000, 500
	open := func() board.Board {
		to, err := pebbleboard.Open(b.TempDir(), pebbleboard.Config{})
		if err != nil {
			b.Fatal(err)
		}
		return to
	}
	for name, key := range map[string]string{"node": "job:1:%d", "callers": "note %d"} {
		b.Run(name, func(b *testing.B) {
			from := open()
			defer from.Close()
			for i := 0; i < records; i += each {
				batch := board.Batch{Space: 7}
				for j := range each {
					batch.Set(fmt.Sprintf(key, i+j), board.Field{Name: "status", Value: "dispatched"}, board.Field{Name: "script", Value: "exit 0"})
				}
				if err := from.Commit(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				to := open()
				_, err := backup.Copy(b.Context(), backup.Side{Board: from, Name: "home", Alone: true}, backup.Side{Board: to, Alone: true}, false, nil)
				if err != nil {
					b.Fatal(err)
				}
				if err := to.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(records*float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
