package redisboard_test

import (
	"net"
	"os/exec"
	"strings"

	"cmp"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
)

func BenchmarkRTT(b *testing.B) {
	s, bd := serve(b, cmp.Or(os.Getenv("FS"), "everysec"), redisboard.Config{})
	measure := func(what string, f func(i int)) {
		var took []time.Duration
		host, port, _ := net.SplitHostPort(s.Addr())
		exec.Command("redis-cli", "-h", host, "-p", port, "config", "resetstat").Run()
		for i := range 500 {
			time.Sleep(2 * time.Millisecond)
			t := time.Now()
			f(i)
			took = append(took, time.Since(t))
		}
		out, _ := exec.Command("redis-cli", "-h", host, "-p", port, "info", "commandstats").Output()
		for line := range strings.Lines(string(out)) {
			b.Log(what, strings.TrimSpace(line))
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2].Seconds()*1e6, what+"-us")
	}
	measure("empty", func(i int) { bd.Commit(b.Context(), board.Batch{}) })
	measure("len", func(i int) { bd.Len(b.Context(), 0, "x") })
	measure("submit", func(i int) { bd.Commit(b.Context(), *submission(1, i)) })
	measure("claim", func(i int) { bd.Claim(b.Context(), askOf(1, "me")) })
	measure("claim-none", func(i int) {
		bd.Claim(b.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:x"}}}, Max: 1, Owner: "x", Lease: time.Minute})
	})
}
