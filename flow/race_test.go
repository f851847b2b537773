package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/simtest"
)

const crowd = 64

// together submits the same request by a crowd at once, over a board whose
// answers take their time.
func together(t *testing.T, r *rig, q flow.Request) []flow.Receipt {
	t.Helper()
	q.Caller = 1
	slow := faultboard.New(r.board, faultboard.Config{Seed: 7, Delay: 10 * time.Millisecond})
	e := flow.New(slow, r.work, r.cfg)
	receipts := make([]flow.Receipt, crowd)
	var wg sync.WaitGroup
	for i := range receipts {
		wg.Go(func() {
			got, err := e.Submit(r.ctx, tenant, []flow.Request{q})
			if err != nil {
				t.Errorf("submit: %v", err)
				return
			}
			receipts[i] = got[0]
		})
	}
	wg.Wait()
	return receipts
}

// tally counts what became of a crowd's submits, by flow.
func tally(t *testing.T, receipts []flow.Receipt) (ids map[domain.FlowID]int, made, refused int) {
	t.Helper()
	ids = map[domain.FlowID]int{}
	for _, rc := range receipts {
		switch {
		case errors.Is(rc.Err, domain.ErrConflict):
			refused++
			continue
		case rc.Err != nil:
			t.Errorf("submit: %v", rc.Err)
		case !rc.Existing:
			made++
		}
		ids[rc.ID]++
	}
	return ids, made, refused
}

func many(n int) *domain.Blueprint {
	b := blueprint()
	for i := range n {
		b.Steps = append(b.Steps, step(fmt.Sprint("s", i), ""))
	}
	return b
}

func TestACrowdThatWantsOneNameGetsOneFlow(t *testing.T) {
	for name, plan := range map[string]*domain.Blueprint{"plain": many(2), "of steps": blueprint(step("a", "", shards(3, 3))), "written in parts": many(300)} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				ids, made, refused := tally(t, together(t, r, flow.Request{Plan: plan, Trigger: "day-1"}))
				if len(ids) != 1 || made != 1 || refused != 0 {
					t.Fatalf("got flows %v, %d made, %d refused", ids, made, refused)
				}
				for id := range ids {
					r.want(id, domain.FlowSucceeded)
					want := len(plan.Steps)
					if plan.Steps[0].Shard != nil {
						want = 3
					}
					if n := len(r.words.runs); n != want {
						t.Errorf("%d jobs ran, want %d", n, want)
					}
					r.mustAct(id, flow.Order{Verb: flow.OrderDelete})
				}
				time.Sleep(5 * time.Minute)
				r.nothingLeft()
			})
		})
	}
}

func TestACrowdThatWantsToBeAloneHasOneThatLives(t *testing.T) {
	for name, plan := range map[string]*domain.Blueprint{"plain": many(1), "of steps": blueprint(step("a", "", shards(3, 3)))} {
		plan.UniqueAlive = true
		plan.Steps[0].Script = "sleep 1m\n"
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				for range 2 { // and once more after its end
					ids, made, refused := tally(t, together(t, r, flow.Request{Plan: plan}))
					if len(ids) != 1 || made != 1 || refused != crowd-1 {
						t.Fatalf("got flows %v, %d made, %d refused", ids, made, refused)
					}
					for id := range ids {
						r.want(id, domain.FlowSucceeded)
					}
				}
			})
		})
	}
}

// TestARetryDoesNotLiveBesideAnother has a flow started again that ended badly while
// another of its blueprint lives: that one's place is its own, also after.
func TestARetryDoesNotLiveBesideAnother(t *testing.T) {
	eachPlan(t, func(r *rig, plan func(string) *domain.Blueprint) {
		p, q := plan("sleep 1m\ncrashonce"), plan("sleep 1m")
		p.UniqueAlive, q.UniqueAlive = true, true
		first := r.submit(flow.Request{Plan: p})
		r.want(first, domain.FlowErrored)
		second := r.submit(flow.Request{Plan: q})
		if err := r.act(first, flow.Order{Verb: flow.OrderRetry}); !errors.Is(err, domain.ErrConflict) ||
			!strings.Contains(err.Error(), fmt.Sprintf("flow %d of its blueprint is alive", second)) {
			t.Errorf("a retry beside flow %d: got %v", second, err)
		}
		got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: p}})
		if err != nil || got[0].Err == nil {
			t.Errorf("another was made beside flow %d: %+v, %v", second, got, err)
		}
		r.want(second, domain.FlowSucceeded)
		r.mustAct(first, flow.Order{Verb: flow.OrderRetry})
		if got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: p}}); err != nil || got[0].Err == nil {
			t.Errorf("another was made beside the retried: %+v, %v", got, err)
		}
		r.want(first, domain.FlowSucceeded)
		r.want(r.submit(flow.Request{Plan: q}), domain.FlowSucceeded)
	})
}

// oldNames are the names of flows in an archive.
type oldNames map[archive.Name]string

func (n oldNames) Holder(_ context.Context, name archive.Name) (string, error) {
	if key, there := n[name]; there {
		return key, nil
	}
	return "", domain.NotFoundf("no flow has that name")
}

func TestANameInTheArchiveIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := oldNames{{Context: tenant, Blueprint: "test", Trigger: "old"}: "flow:77"}
		r := newRigOn(t, memboard.Open(), flow.Config{Names: names})
		for _, rc := range together(t, r, flow.Request{Plan: many(2), Trigger: "old"}) {
			if rc.Err != nil || !rc.Existing || !rc.Archived || rc.ID != 77 {
				t.Fatalf("got %+v, want flow 77 of the archive", rc)
			}
		}
		r.nothingLeft()
		id := r.submit(flow.Request{Plan: many(2), Trigger: "new"})
		r.want(id, domain.FlowSucceeded)
		got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: many(2), Trigger: "new"}})
		if err != nil || got[0].ID != id || !got[0].Existing || got[0].Archived {
			t.Errorf("got %+v, %v", got, err)
		}
		r.stop()
	})
}

func TestOneSubmitOfTheSameNameTwiceMakesOneFlow(t *testing.T) {
	bubble(t, func(r *rig) {
		q := flow.Request{Caller: 1, Plan: many(2), Trigger: "t"}
		got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{q, q})
		if err != nil || got[0].Err != nil || got[1].Err != nil || got[0].ID != got[1].ID || got[0].Existing || !got[1].Existing {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestKeepersTakeTurns lets the keeper of a flow stop for longer than its
// lease: another goes on, and the first changes nothing when it is back.
func TestKeepersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		var g simtest.Gate
		r := newRigOn(t, b, flow.Config{})
		r.stop() // its node: two others take over
		ctx, cancel := context.WithCancel(t.Context())
		stopped := flow.New(faultboard.New(b, faultboard.Config{Before: g.Before}), r.work, flow.Config{})
		r.wg.Go(func() { stopped.Keep(ctx, "old/a") })
		r.cancel = cancel
		r.submit(flow.Request{Plan: blueprint(step("a", "gate go", shards(5, 2)), step("b", "", needs("a")))})
		g.Close() // in the middle of whatever it does
		id := r.submit(flow.Request{Plan: blueprint(step("a", "set x 1", shards(50, 2)), step("b", "", needs("a")))})
		time.Sleep(time.Second)
		r.node(ctx, "new")
		r.want(id, domain.FlowSucceeded)
		close(r.words.gate("go"))
		time.Sleep(10 * time.Minute)
		g.Open()
		time.Sleep(10 * time.Minute)
		for id := domain.FlowID(1); id <= 2; id++ {
			v := r.want(id, domain.FlowSucceeded)
			if v.Retried != 0 {
				t.Errorf("flow %d: %+v", id, v)
			}
		}
		for name, n := range r.words.runs {
			if n != 1 {
				t.Errorf("%s ran %d times", name, n)
			}
		}
		r.stop()
	})
}

func TestALargeFlowThatExistsIsNotWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{Board: memboard.Open()}
		r := newRigOn(t, c, flow.Config{})
		q := flow.Request{Plan: many(300), Trigger: "t"}
		id := r.submit(q)
		r.want(id, domain.FlowSucceeded)
		r.stop()
		c.cost = cost{}
		if again := r.submit(q); again != id || c.batches > 0 {
			t.Errorf("got flow %d after %.0f commits, want flow %d after none", again, c.batches, id)
		}
	})
}

// silentNames are those of an archive that does not answer.
type silentNames struct{ asked atomic.Int64 }

func (n *silentNames) Holder(ctx context.Context, _ archive.Name) (string, error) {
	n.asked.Add(1)
	<-ctx.Done()
	return "", ctx.Err()
}

// silentRecords are those of an archive that does not answer.
type silentRecords struct{}

func (silentRecords) Get(ctx context.Context, _ domain.TenantID, _ string, _ int64) (archive.Record, error) {
	<-ctx.Done()
	return archive.Record{}, ctx.Err()
}

func (silentRecords) Put(ctx context.Context, _ []archive.Record) error {
	<-ctx.Done()
	return ctx.Err()
}

func (silentRecords) Release(ctx context.Context, _ archive.Name, _ string) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestASilentArchiveHoldsUpNobodyForLong: whatever the engine asks it ends in the archive's time, and says that it was silent.
func TestASilentArchiveHoldsUpNobodyForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, memboard.Open(), flow.Config{Names: &silentNames{}, Records: silentRecords{}})
		for name, ask := range map[string]func(context.Context) error{
			"named": func(ctx context.Context) error { return second(r.flows.Named(ctx, tenant, "b", []string{"t"})) },
			"end":   func(ctx context.Context) error { return second(r.flows.ArchivedEnd(ctx, tenant, "flow:7")) },
			"start again": func(ctx context.Context) error {
				return second(r.flows.Act(ctx, tenant, 7, flow.Order{Verb: flow.OrderRetry, By: 1}))
			},
			"rerun": func(ctx context.Context) error { return second(r.flows.Rerun(ctx, tenant, 7, flow.Rerun{})) },
		} {
			ctx, cancel := context.WithTimeout(r.ctx, time.Hour)
			began := time.Now()
			err := ask(ctx)
			if took := time.Since(began); took > time.Minute || !errors.Is(err, domain.ErrUnavailable) ||
				!strings.Contains(err.Error(), "the archive has not answered within") {
				t.Errorf("%s: took %v and got %v", name, took, err)
			}
			cancel()
		}
		r.stop()
	})
}

func second[T any](_ T, err error) error { return err }

func TestASilentArchiveHoldsUpNoSubmitForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names silentNames
		r := newRigOn(t, memboard.Open(), flow.Config{Names: &names})
		reqs := []flow.Request{{Caller: 1, Plan: many(1)}}
		for i := range 20 {
			reqs = append(reqs, flow.Request{Caller: 1, Plan: many(1), Trigger: fmt.Sprint("t", i)})
		}
		began := time.Now()
		got, err := r.flows.Submit(r.ctx, tenant, reqs)
		if took := time.Since(began); err != nil || took > 6*time.Second {
			t.Fatalf("it took %v, %v, want five seconds at most", took, err)
		}
		for i, rc := range got {
			if i == 0 && rc.Err != nil || i > 0 && !errors.Is(rc.Err, domain.ErrUnavailable) {
				t.Errorf("flow %d: got %v, want only that without a name to be made", i, rc.Err)
			}
		}
		if n := names.asked.Load(); n != 1 {
			t.Errorf("the archive was asked %d times, want once", n)
		}
		r.want(got[0].ID, domain.FlowSucceeded)
		r.stop()
	})
}
