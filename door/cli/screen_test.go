package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Inside the package: a test has no terminal to draw on.

func TestStatusBlockFitsTheTerminal(t *testing.T) {
	lines := []string{"1 │ " + strings.Repeat("é", 30), "2 │ a\x1b[2Jb", "3", "4", "5"}
	got := statusBlock(lines, 20, 5)
	want := keepLines + "1 │ " + strings.Repeat("é", 14) + "…\x1b[K\n2 │ a [2Jb\x1b[K\nand 3 more\x1b[K\n" + wrapLines
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestScrollingLinesGoAboveTheStatus(t *testing.T) {
	var out bytes.Buffer
	s := &screen{logs: &out, notes: &out, fd: 1 << 20} // no terminal: its size is the default
	s.draw([]string{"a", "b"})
	s.log("said")
	s.draw([]string{"c"})
	s.draw([]string{"c"}) // as it stands there already
	s.draw(nil)
	s.log("end")
	ab, c := statusBlock([]string{"a", "b"}, 80, 24), statusBlock([]string{"c"}, 80, 24)
	want := ab + "\x1b[J" + "\x1b[2A\r\x1b[J" + "said\n" + ab + "\x1b[2A\r" + c + "\x1b[J" + "\x1b[1A\r\x1b[J" + "end\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestStanding(t *testing.T) {
	now := time.UnixMilli(100_000)
	tests := []struct {
		job  *domain.Job
		want string
	}{
		{nil, "submitted"},
		{&domain.Job{Status: domain.JobDispatched}, "waiting for a runner"},
		{&domain.Job{Status: domain.JobWaiting, Waits: 1}, "waiting for what it needs"},
		{&domain.Job{Status: domain.JobWaiting, QueuedMs: 1}, "waiting for a runner"},
		{&domain.Job{Status: domain.JobStarted, StartedMs: 88_500, Attempt: 1}, "running 11s"},
		{&domain.Job{Status: domain.JobStarted, StartedMs: 99_500, Attempt: 2}, "running 0s (attempt 2)"},
		{&domain.Job{Status: domain.JobStarted, NextRetryMs: 103_000, Attempt: 1}, "attempt 1 failed, next try in 3.0s"},
		{&domain.Job{Status: domain.JobStarted, Cancel: "1"}, "stopping"},
	}
	for _, tt := range tests {
		if got := standing(tt.job, now); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
