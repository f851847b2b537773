package flow_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// shelf is an archive in memory, as far as flows need one.
type shelf struct {
	mu      sync.Mutex
	records map[string]archive.Record
}

func (s *shelf) Get(_ context.Context, _ domain.TenantID, key string, _ int64) (archive.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	if !ok {
		return r, domain.NotFoundf("no %s", key)
	}
	return r, nil
}

func (s *shelf) Holder(_ context.Context, n archive.Name) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, r := range s.records {
		if name, ok := r.Name(); ok && name == n {
			return key, nil
		}
	}
	return "", n.Missing()
}

// putAway archives what has ended, and prunes it from the board.
func (s *shelf) putAway(r *rig) {
	r.Helper()
	left, err := r.work.Backlog(r.ctx, tenant)
	if err != nil {
		r.Fatal(err)
	}
	ended, covered, err := r.work.Ended(r.ctx, left, 1000)
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range ended {
		var rec archive.Record
		ok := true
		if e.Flow != 0 {
			rec, ok, err = r.flows.Record(r.ctx, tenant, e.Flow)
		} else {
			rec, err = archive.OfJob(tenant, e.Job, e.Logs)
		}
		if err != nil {
			r.Fatal(err)
		}
		if ok {
			s.records[rec.Key] = rec
		}
	}
	if err := r.work.MarkArchived(r.ctx, left, covered); err != nil {
		r.Fatal(err)
	}
	if _, err := r.work.Prune(r.ctx, tenant, time.Now().Add(time.Hour)); err != nil {
		r.Fatal(err)
	}
}

var _ clockwork.FlowRecords = (*flow.Engine)(nil)

func TestAFlowIsStartedAgainFromTheArchive(t *testing.T) {
	plain := blueprint(step("a", "set x 7"), step("b", "crashonce\nneed a x", needs("a")), step("c", "need b got", needs("b")))
	stepped := blueprint(step("a", "set x 7"), step("s", "", shards(5, 2), needs("a")), step("b", "crashonce\nneed a x", needs("a", "s"), phase(1)))
	for name, plan := range map[string]*domain.Blueprint{"plain": plain, "of steps": stepped} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &shelf{records: map[string]archive.Record{}}
				r := newRigOn(t, memboard.Open(), flow.Config{Names: s, Records: s})
				defer r.stop()
				id := r.submit(flow.Request{Plan: plan, Trigger: "t"})
				r.want(id, domain.FlowErrored)
				time.Sleep(time.Minute)
				s.putAway(r)
				for _, prefix := range []string{"flow:", "job:", "ramet:flow:"} {
					if keys, _, _ := r.board.Keys(r.ctx, 1, prefix, "", 100); len(keys) > 0 {
						t.Fatalf("left on the board: %v", keys)
					}
				}
				if again := r.submit(flow.Request{Plan: plan, Trigger: "t"}); again != id {
					t.Errorf("its name was given again, to flow %d", again)
				}
				r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
				v := r.want(id, domain.FlowSucceeded, "a succeeded", "b succeeded")
				if v.Result["b.got"] != "7" {
					t.Errorf("result %v", v.Result)
				}
				time.Sleep(time.Minute)
				s.putAway(r)
				if v, err := flow.Archived(ref(s.records[domain.FlowKey(id)])); err != nil || v.Reason != domain.FlowSucceeded || len(v.Steps) < 3 {
					t.Errorf("archived: %+v, %v", v, err)
				}
				if n, err := r.board.Len(r.ctx, 1, layout.Finished); err != nil || n[0] != 0 {
					list, _ := r.board.List(r.ctx, 1, layout.Finished, 0, 99)
					recs, _ := r.board.Get(r.ctx, 1, append(list, layout.Trimmed)...)
					t.Errorf("%d entries are left of what ended (%v): %v %v", n[0], err, list, recs)
				}
				if err := r.act(id, flow.Order{Verb: flow.OrderRetry}); err == nil {
					t.Error("a flow that succeeded was started again")
				}
			})
		})
	}
}

func ref[T any](v T) *T { return &v }
