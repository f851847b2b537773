package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
)

// memArchive is an archive in memory, as far as flows need one.
type memArchive struct {
	mu      sync.Mutex
	away    bool
	records map[string]archive.Record
	names   map[archive.Name]string
}

func newMemArchive() *memArchive {
	return &memArchive{records: map[string]archive.Record{}, names: map[archive.Name]string{}}
}

func (s *memArchive) set(away bool) { s.mu.Lock(); defer s.mu.Unlock(); s.away = away }

func (s *memArchive) Put(_ context.Context, records []archive.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return domain.Unavailablef("the archive is away")
	}
	for _, r := range records {
		s.records[r.Key] = r
		if name, ok := r.Name(); ok && s.names[name] == "" {
			s.names[name] = r.Key
		}
	}
	return nil
}

func (s *memArchive) Release(_ context.Context, n archive.Name, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[n] == key {
		delete(s.names, n)
	}
	return nil
}

func (s *memArchive) Get(_ context.Context, _ domain.TenantID, key string, _ int64) (archive.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[key]
	if !ok {
		return r, domain.NotFoundf("no %s", key)
	}
	return r, nil
}

func (s *memArchive) Holder(_ context.Context, n archive.Name) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key := s.names[n]; key != "" {
		return key, nil
	}
	return "", n.Missing()
}

// putAway archives what has ended, and prunes it from the board.
func (s *memArchive) putAway(r *rig) {
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
			if err := s.Put(r.ctx, []archive.Record{rec}); err != nil {
				r.Fatal(err)
			}
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
				s := newMemArchive()
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

// TestALargeFlowIsStartedAgainFromTheArchive whose blueprint is longer than a field may
// be, and one of many steps; also where a node dies that brings it back.
func TestALargeFlowIsStartedAgainFromTheArchive(t *testing.T) {
	watched.Large(t)
	many := []domain.Step{step("a", "crashonce")}
	for i := range 600 {
		many = append(many, step(fmt.Sprint("b", i), "", phase(1), maySkip))
	}
	long := largePlan(mayFail)
	long.Steps[3].Script = "crashonce\n" + long.Steps[3].Script
	long.Steps[3].MayFail = false
	for name, plan := range map[string]*domain.Blueprint{"long": long, "of many steps": blueprint(many...)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b := newMemArchive(), memboard.Open()
				r := newRigOn(t, b, flow.Config{Names: s, Records: s})
				defer r.stop()
				id := r.submit(flow.Request{Plan: plan, OnError: domain.OnErrorContinue})
				r.soon(id, domain.FlowErrored)
				time.Sleep(time.Minute)
				s.putAway(r)
				retry := flow.Order{Verb: flow.OrderRetry, By: 1}
				dying := flow.New(&failing{b, 2}, r.work, flow.Config{Names: s, Records: s})
				if _, err := dying.Act(r.ctx, tenant, id, retry); err == nil || err.Error() != "the writer is dead" {
					t.Fatalf("got %v of the node that dies in between: this tests nothing", err)
				}
				if keys, _, _ := b.Keys(r.ctx, 1, "ramet:flow:", "", 100); len(keys) == 0 {
					t.Fatal("nothing was written: this tests nothing")
				}
				time.Sleep(2 * time.Hour)
				if keys, _, _ := b.Keys(r.ctx, 1, "ramet:flow:", "", 100); len(keys) > 0 {
					t.Errorf("left on the board: %v", keys)
				}
				r.mustAct(id, retry)
				r.soon(id, domain.FlowSucceeded)
				time.Sleep(2 * time.Hour) // and nothing of it expires
				if _, err := flow.New(b, r.work, flow.Config{}).Plan(r.ctx, tenant, id); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func ref[T any](v T) *T { return &v }

// TestADeletedFlowLeavesATrace deletes flows that live and such that have ended.
func TestADeletedFlowLeavesATrace(t *testing.T) {
	plain := blueprint(step("a", "gate never"), step("b", "", needs("a")))
	stepped := blueprint(step("a", "gate never", shards(5, 2)), step("b", "", needs("a")))
	for name, plan := range map[string]*domain.Blueprint{"plain": plain, "of steps": stepped} {
		for _, how := range []string{"alive", "ended", "away"} {
			t.Run(name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newMemArchive()
					r := newRigOn(t, memboard.Open(), flow.Config{Names: s, Records: s})
					defer r.stop()
					request := flow.Request{Plan: plan, Trigger: "t"}
					id := r.submit(request)
					time.Sleep(time.Second)
					if how == "ended" {
						r.mustAct(id, flow.Order{Verb: flow.OrderCancel})
						r.want(id, domain.FlowCancelled)
					}
					if how == "away" {
						s.set(true)
						if done, err := r.flows.Act(r.ctx, tenant, id, flow.Order{Verb: flow.OrderDelete, By: 9}); err != nil || done {
							t.Errorf("it is done (%v, %v) while the archive is away", done, err)
						}
						r.want(id, domain.FlowCancelled)
						x, err := r.flows.Explain(r.ctx, tenant, id)
						if want := "; it is to be deleted, and waits for the archive to have it first"; err != nil || !strings.HasSuffix(x.Text, want) {
							t.Errorf("got %+v, %v, want %q at the end of its text", x, err, want)
						}
						s.set(false)
						time.Sleep(5 * time.Second)
					} else {
						r.mustAct(id, flow.Order{Verb: flow.OrderDelete, By: 9})
					}
					if how != "ended" {
						time.Sleep(time.Hour) // for a while the board has the name, too
						r.nothingLeft()
					}
					v, err := flow.Archived(ref(s.records[domain.FlowKey(id)]))
					if err != nil || v.Reason != domain.FlowCancelled || v.Error == "" {
						t.Errorf("in the archive is %+v, %v", v.Flow, err)
					}
					if again := r.submit(request); again != id {
						t.Errorf("its name is given to flow %d", again)
					}
					r.mustAct(id, flow.Order{Verb: flow.OrderDelete, Forget: true})
					other := r.submit(request)
					if other == id {
						t.Error("its name is taken though it was to be forgotten")
					}
					if err := r.act(id, flow.Order{Verb: flow.OrderRetry}); !errors.Is(err, domain.ErrConflict) {
						t.Errorf("retry of who has lost its name: got %v, want a conflict", err)
					}
					r.mustAct(other, flow.Order{Verb: flow.OrderDelete, Forget: true})
					if third := r.submit(request); third == other || third == id {
						t.Errorf("its name is taken by flow %d", third)
					}
				})
			})
		}
	}
}

func TestALargeFlowComesBackFromTheArchiveAsItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newMemArchive()
		r := newRigOn(t, memboard.Open(), flow.Config{Records: a})
		steps := []domain.Step{step("a", "crashonce")}
		for i := range 400 {
			steps = append(steps, step(fmt.Sprint("b", i), "", phase(1), maySkip))
		}
		id := r.submit(flow.Request{Plan: blueprint(steps...), OnError: domain.OnErrorContinue})
		r.soon(id, domain.FlowErrored)
		time.Sleep(time.Second)
		a.putAway(r)
		r.mustAct(id, flow.Order{Verb: flow.OrderRetry})
		r.soon(id, domain.FlowSucceeded)
		if n := len(r.words.seen); n != 402 {
			t.Errorf("%d runs, want 402: each of 401 jobs, and one again", n)
		}
		r.stop()
	})
}
