package flow_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
)

// This file counts what flows cost the board: a plain flow costs its steps and
// edges, and a shard its jobs, whatever its size.

// counted is a board that counts what is asked of it.
type counted struct {
	board.Board

	mu sync.Mutex
	cost
}

// cost is what was asked.
type cost struct{ batches, ops, reads, bytes float64 }

// per is the cost of one of n.
func (c cost) per(n int) cost {
	return cost{c.batches / float64(n), c.ops / float64(n), c.reads / float64(n), c.bytes / float64(n)}
}

func (c *counted) count(b *board.Batch) {
	c.batches++
	c.ops += float64(len(b.Guards) + len(b.Ops))
	for _, op := range b.Ops {
		for _, f := range op.Fields {
			c.bytes += float64(len(f.Value))
		}
		for _, it := range op.Items {
			c.bytes += float64(len(it))
		}
	}
}

func (c *counted) Commit(ctx context.Context, b board.Batch) error {
	c.mu.Lock()
	c.count(&b)
	c.mu.Unlock()
	return c.Board.Commit(ctx, b)
}

func (c *counted) CommitEach(ctx context.Context, batches []board.Batch) []error {
	c.mu.Lock()
	for i := range batches {
		c.count(&batches[i])
	}
	c.mu.Unlock()
	return c.Board.CommitEach(ctx, batches)
}

// read counts an answer.
func (c *counted) read(recs []board.Record, items []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads++
	for _, r := range recs {
		for _, f := range r {
			c.bytes += float64(len(f.Name) + len(f.Value))
		}
	}
	for _, it := range items {
		c.bytes += float64(len(it))
	}
}

func (c *counted) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	recs, err := c.Board.Get(ctx, space, keys...)
	c.read(recs, nil)
	return recs, err
}

func (c *counted) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	recs, err := c.Board.GetFields(ctx, space, fields, keys...)
	c.read(recs, nil)
	return recs, err
}

func (c *counted) List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error) {
	items, err := c.Board.List(ctx, space, list, from, n)
	c.read(nil, items)
	return items, err
}

func (c *counted) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	got, err := c.Board.Claim(ctx, ask)
	recs := make([]board.Record, len(got))
	for i := range got {
		recs[i] = got[i].Record
	}
	c.read(recs, nil)
	return got, err
}

// shapes are plain flows of n jobs.
var shapes = map[string]func(i, n int) []domain.JobID{
	"chain": func(i, _ int) []domain.JobID {
		if i == 0 {
			return nil
		}
		return []domain.JobID{domain.JobID(i)}
	},
	"fan-out": func(i, _ int) []domain.JobID {
		if i == 0 {
			return nil
		}
		return []domain.JobID{1}
	},
	// Rows of ten, each job needing two of the row before.
	"lattice": func(i, _ int) []domain.JobID {
		if i < 10 {
			return nil
		}
		row, col := i/10, i%10
		return []domain.JobID{domain.JobID((row-1)*10 + col + 1), domain.JobID((row-1)*10 + (col+1)%10 + 1)}
	},
}

func TestAPlainFlowCostsItsJobsWhateverItsSize(t *testing.T) {
	watched.Large(t)
	all := map[string]cost{}
	for shape, on := range shapes {
		t.Run(shape, func(t *testing.T) {
			small, large := costOf(t, 100, on), costOf(t, 10_000, on)
			all[shape] = large
			t.Logf("of each job of 100: %+v; of 10000: %+v", small, large)
			for _, c := range []struct {
				name        string
				small, much float64
			}{{"batches", small.batches, large.batches}, {"guards and operations", small.ops, large.ops}, {"reads", small.reads, large.reads},
				{"bytes", small.bytes, large.bytes}} {
				if c.much > 1.5*c.small {
					t.Errorf("%s of each job: %.1f in a flow of 10000, %.1f in one of 100", c.name, c.much, c.small)
				}
			}
		})
	}
	for one, a := range all {
		for other, b := range all {
			if a.batches > 1.5*b.batches || a.ops > 1.5*b.ops || a.bytes > 1.5*b.bytes {
				t.Errorf("a %s costs more than a %s: of each job %+v and %+v", one, other, a, b)
			}
		}
	}
}

// Each index of a shard would read what all others have added.
func TestAShardCostsItsJobsHoweverManyParamsTheyAdd(t *testing.T) {
	watched.Large(t)
	cost := func(n int) cost {
		after := step("after", "", needs("parts"))
		return costOfFlow(t, n, flow.Request{Plan: blueprint(step("parts", "add p", shards(n, 50)), after)}, func(r *rig, v domain.FlowView) {
			last := r.words.seen[len(r.words.seen)-1]
			if len(v.Added) != n || len(last.Params) != n || last.Params[fmt.Sprint("p_", n-1)] != "x" {
				t.Errorf("the flow has %d params, and the step after the shard found %d; want %d", len(v.Added), len(last.Params), n)
			}
		})
	}
	small, large := cost(100), cost(2_000)
	t.Logf("of each job of 100: %+v; of 2000: %+v", small, large)
	if large.bytes > 3*small.bytes || large.batches > 3*small.batches { // it was 8 times; rounds take in more or less
		t.Errorf("a job costs %+v in a shard of 100, %+v in one of 2000", small, large)
	}
}

// costOf runs a flow of n jobs and says what each of them cost.
func costOf(t *testing.T, n int, on func(i, n int) []domain.JobID) (each cost) {
	jobs := make([]*domain.Job, n)
	for i := range jobs {
		jobs[i] = job(domain.JobID(i+1), "", on(i, n)...)
	}
	return costOfFlow(t, n, flow.Request{Jobs: jobs}, func(*rig, domain.FlowView) {})
}

// costOfFlow runs a flow, has its end looked at, and says what each of n cost.
func costOfFlow(t *testing.T, n int, q flow.Request, look func(*rig, domain.FlowView)) (each cost) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{Board: memboard.Open()}
		r := newRigOn(t, c, flow.Config{})
		time.Sleep(time.Second) // the first audit is over, and the next far
		c.mu.Lock()
		c.cost = cost{}
		c.mu.Unlock()
		look(r, r.want(r.submit(q), domain.FlowSucceeded))
		c.mu.Lock()
		each = c.per(n)
		c.mu.Unlock()
		r.stop()
	})
	return each
}

// What a flow is to its jobs, and which of them wait for each other, is known where it
// was made. Nobody reads it from the board for each job.
func TestAFlowIsNotReadForEachOfItsJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{Board: memboard.Open()}
		r := newRigOn(t, c, flow.Config{})
		time.Sleep(time.Second) // the first audit is over, and the next far
		c.mu.Lock()
		c.cost = cost{}
		c.mu.Unlock()
		const n = 50
		for range n {
			r.submit(flow.Request{Jobs: []*domain.Job{job(1, ""), job(2, "", 1), job(3, "", 2)}})
		}
		synctest.Wait()
		c.mu.Lock()
		each := c.per(n)
		c.mu.Unlock()
		t.Logf("of each flow: %+v", each)
		if each.reads > 7 { // claims of three jobs and of the flow's end, and what its end reads
			t.Errorf("a flow of three jobs was read %.1f times, want 7 at most", each.reads)
		}
		r.stop()
	})
}
