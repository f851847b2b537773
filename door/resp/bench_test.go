package resp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

func benchBoard(b *testing.B) board.Board {
	if os.Getenv("BENCH_BOARD") != "pebble" {
		return memboard.Open()
	}
	p, err := pebbleboard.Open(b.TempDir(), pebbleboard.Config{})
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkDoor is the cost of a command on a memory board, sixteen at a time,
// with that of the pipe and of the client that sends bytes made before.
// BENCH_BOARD=pebble takes an embedded board.
func BenchmarkDoor(b *testing.B) {
	for _, tt := range []struct {
		name string
		cmd  func(i int) []string
		fill bool
	}{
		{"LPUSH", func(int) []string { return []string{"LPUSH", "mylist", "abc"} }, false},
		{"HSET", func(i int) []string {
			return []string{"HSET", fmt.Sprintf("myhash:%012d", i*7919%100000), fmt.Sprintf("element:%012d", i*104729%100000), "abc"}
		}, false},
		{"HSET-job", func(i int) []string {
			return []string{"HSET", fmt.Sprintf("job:10:%d", i+1), "id", fmt.Sprint(i + 1), "caller_id", "10", "context_id", "7", "script", "echo hi",
				"script_type", "shell", "timeout", "60", "retries", "2",
				"env_vars", "{}", "result", "{}", "prerequisites", "[]", "dependends", "[]", "created_at", "1700000000", "updated_at", "1700000000", "status", "dispatched"}
		}, false},
		{"BRPOP", func(int) []string { return []string{"BRPOP", "mylist", "0"} }, true},
		{"GET", func(int) []string { return []string{"GET", "x"} }, false},
	} {
		b.Run(tt.name, func(b *testing.B) {
			r := newRigOn(b, benchBoard(b))
			c := r.as(admin)
			const pipeline = 16
			var batches []string
			for i := range max(b.N/pipeline, 1) {
				if i == 20_000 {
					break // they are sent again
				}
				var t strings.Builder
				for k := range pipeline {
					t.WriteString(encode(tt.cmd(i*pipeline + k)...))
				}
				batches = append(batches, t.String())
			}
			if tt.fill {
				items := append([]string{"LPUSH", "mylist"}, strings.Fields(strings.Repeat("abc ", 1000))...)
				for range b.N/1000 + 1 {
					c.do(items...)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += pipeline {
				c.raw(batches[i/pipeline%len(batches)])
				for range pipeline {
					if _, err := readAnswer(c.r); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
