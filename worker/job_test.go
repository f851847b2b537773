package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
)

// numbered are lines of a size, the first with that number.
func numbered(from, n, size int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("%-*d", size, from+i)
	}
	return lines
}

// log is a job's log, its streams left out.
func (r *rig) log(id domain.JobID) (lines []string) {
	r.Helper()
	for {
		page, err := r.engine.Logs(r.Context(), tenant, domain.JobKey{Caller: 1, ID: id}, len(lines), 1000)
		if err != nil {
			r.Fatal(err)
		}
		if len(page) == 0 {
			return lines
		}
		for _, l := range page {
			lines = append(lines, l.Line)
		}
	}
}

// same compares long logs: it names the first line that is another.
func (r *rig) same(what string, got, want []string) {
	r.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			r.Errorf("%s: line %d of %d: got %.60q, want %.60q", what, i, len(got), got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		r.Errorf("%s: got %d lines, want %d", what, len(got), len(want))
	}
}

// errUnheard says that a node has done what it was asked, and was not heard.
var errUnheard = domain.Unavailablef("the answer was lost")

// What a function logs just before its end comes, however much it is, also where the node does
// not take it at once.
func TestAllLinesComeWithTheEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		lines   []string
		refusal error // of the first three requests
	}{
		{"a node whose answers are lost", numbered(0, 3000, 1), errUnheard},
		{"one more than go with an end", numbered(0, 1001, 1), nil},
		{"more bytes than go with an end", numbered(0, 200, 3000), nil},
		{"lines of many bytes", numbered(0, 100, 9000), nil},
		{"all that is kept", numbered(0, 10_000, 1), nil},
		{"a node that is away for a moment", numbered(0, 3000, 1), domain.Unavailablef("a moment")},
		{"a node that says when to come again", numbered(0, 3000, 1), &busy{time.Second}},
		{"a node that wants nothing before the lease runs out", numbered(0, 3000, 1), &busy{time.Hour}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, worker.Config{}, func(w *worker.Worker) {
					w.Handler("f", func(_ context.Context, job *worker.Job) (map[string]string, error) {
						job.Logf("%s", strings.Join(tt.lines, "\n"))
						return nil, nil
					})
				})
				refusals := 3
				refuse := func() error {
					if refusals--; refusals >= 0 {
						return tt.refusal
					}
					return nil
				}
				r.set(func(n *near) {
					if errors.Is(tt.refusal, errUnheard) {
						n.heard = refuse // what was written is sent again, and is there once
					} else {
						n.lines = refuse
					}
				})
				r.submit(1, "x")
				if j := r.wait(1); j.Status != domain.JobFinished || j.Losses != 0 {
					t.Fatalf("got %+v", j)
				}
				r.same("the log", r.log(1), tt.lines)
			})
		})
	}
}

// Where a function writes faster than the node takes, the log tells of what is missing where it
// is missing, and goes on to the last line.
func TestMissingLinesAreToldOfWhereTheyAre(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails bool
		want  []string
	}{
		{"behind those on their way", false, slices.Concat([]string{"first", "50000 lines are missing here: they could not be sent"}, numbered(50_000, 10_000, 1))},
		{"with those that were on their way in vain", true, append([]string{"50001 lines are missing here: they could not be sent"}, numbered(50_000, 10_000, 1)...)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				away, written := make(chan struct{}), make(chan struct{})
				r := start(t, worker.Config{}, func(w *worker.Worker) {
					w.Handler("f", func(_ context.Context, job *worker.Job) (map[string]string, error) {
						job.Logf("first")
						<-away
						for _, line := range numbered(0, 60_000, 1) {
							job.Logf("%s", line)
						}
						close(written)
						return nil, nil
					})
				})
				requests := 0
				r.set(func(n *near) {
					n.lines = func() error {
						if requests++; requests > 1 {
							return nil
						}
						close(away)
						<-written
						if tt.fails {
							return domain.Unavailablef("in vain")
						}
						return nil
					}
				})
				r.submit(1, "x")
				r.wait(1)
				r.same("the log", r.log(1), tt.want)
			})
		})
	}
}

// A node that takes no lines holds up no end: the last lines come with it, behind the mark of
// those that are missing, before the lease runs out that the job had when its function ended.
func TestAnEndDoesNotWaitForLinesThatNobodyTakes(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refusal error
		most    time.Duration
	}{
		{"because it is away", domain.Unavailablef("away"), 30 * time.Second},
		{"because it never will", domain.Invalidf("no lines"), time.Second},
		{"and says when to come again", &busy{time.Hour}, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ended time.Time
				r := start(t, worker.Config{Lease: 30 * time.Second}, func(w *worker.Worker) {
					w.Handler("f", func(_ context.Context, job *worker.Job) (map[string]string, error) {
						job.Logf("%s", strings.Join(numbered(0, 3000, 1), "\n"))
						ended = time.Now()
						return nil, nil
					})
				})
				r.set(func(n *near) { n.lines = func() error { return tt.refusal } })
				r.submit(1, "x")
				if j := r.wait(1); j.Status != domain.JobFinished || j.Losses != 0 || time.Since(ended) > tt.most {
					t.Fatalf("after %v got %+v", time.Since(ended), j)
				}
				r.same("the log", r.log(1), append([]string{"2001 lines are missing here: they could not be sent"}, numbered(2001, 999, 1)...))
			})
		})
	}
}
