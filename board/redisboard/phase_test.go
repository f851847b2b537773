package redisboard_test

import (
	"cmp"
	"os"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
)

func BenchmarkPhases(b *testing.B) {
	s, bd := serve(b, cmp.Or(os.Getenv("FS"), "everysec"), redisboard.Config{})
	t0, p0 := time.Now(), processTime(s.Pid())
	lap := func(what string) {
		t, p := time.Now(), processTime(s.Pid())
		b.Logf("%s: wall %.2f us server %.2f us", what, t.Sub(t0).Seconds()*1e6/float64(b.N), (p-p0).Seconds()*1e6/float64(b.N))
		t0, p0 = t, p
	}
	submitAll(b, bd, 1, b.N)
	lap("submit")
	var all []board.Claimed
	for {
		got, err := bd.Claim(b.Context(), askOf(256, "me"))
		if err != nil || len(got) == 0 {
			break
		}
		all = append(all, got...)
	}
	lap("claim")
	for len(all) > 0 {
		part := all[:min(256, len(all))]
		all = all[len(part):]
		var batches []board.Batch
		for i := range part {
			batches = append(batches, *finish(&part[i], "me"))
		}
		for _, err := range bd.CommitEach(b.Context(), batches) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	lap("finish")
}
