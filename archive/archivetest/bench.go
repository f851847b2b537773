package archivetest

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// Bench measures batches of small jobs with three log lines each, as the
// archiver puts them; ns/op are for one record.
func Bench(b *testing.B, a archive.Archive) {
	batch := make([]archive.Record, 0, archive.MaxBatch)
	for i := 0; b.Loop(); i++ {
		r := job(1, domain.JobID(i+1), int64(1_700_000_000_000+i), func(j *domain.Job) {
			j.Script = fmt.Sprintf("echo line %d; exit 0", i)
			j.Result = map[string]string{"exit_code": "0", "stdout": fmt.Sprintf("line %d", i)}
		})
		for n := range 3 {
			r.Logs = append(r.Logs, domain.Log{Stream: "stdout", Line: fmt.Sprintf("request %d of batch %d took %d ms", i, n, i%97)})
		}
		if batch = append(batch, r); len(batch) == cap(batch) {
			if err := a.Put(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
			batch = batch[:0]
		}
	}
}
