package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
	"github.com/ramet-run/ramet/worker"
)

// hesitant is a node that refuses a number of ends, and says when it wants to be asked again.
type hesitant struct {
	*near
	refuse int
	after  time.Duration
	asked  []time.Time
}

func (n *hesitant) FinishWork(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) ([]domain.AttemptEnded, []error, error) {
	n.asked = append(n.asked, time.Now())
	if n.refuse--; n.refuse >= 0 {
		return nil, nil, &busy{n.after}
	}
	return n.near.FinishWork(ctx, w, ends)
}

// A node that refuses an end is asked again when it says, but not so late that the lease runs out.
func TestAnEndIsHandedInWhenTheNodeSays(t *testing.T) {
	for _, tt := range []struct {
		name        string
		after       time.Duration
		least, most time.Duration
	}{
		{"when it says", 10 * time.Second, 10 * time.Second, 10 * time.Second},
		{"in time for the lease, which has 30 seconds", time.Hour, 15 * time.Second, 15 * time.Second},
		{"as ever where it says nothing", 0, 100 * time.Millisecond, 200 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := memboard.Open()
				defer b.Close()
				n := &hesitant{near: &near{engine: work.New(b, work.Config{})}, refuse: 1, after: tt.after}
				r := &rig{T: t, near: n.near}
				w := worker.New(n, worker.Config{Context: tenant, Lease: 30 * time.Second})
				w.Handler("f", func(context.Context, *worker.Job) (map[string]string, error) { return nil, errors.New("no") })
				r.submit(1, "x")
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- w.Run(ctx) }()
				j := r.wait(1)
				stop()
				if err := <-ended; err != nil || j.Status != domain.JobError || j.Losses != 0 {
					t.Fatalf("got %+v, %v", j, err)
				}
				if len(n.asked) != 2 {
					t.Fatalf("it was asked %d times, want 2", len(n.asked))
				}
				if d := n.asked[1].Sub(n.asked[0]); d < tt.least || d > tt.most {
					t.Errorf("it was asked again after %v, want %v to %v", d, tt.least, tt.most)
				}
			})
		})
	}
}
