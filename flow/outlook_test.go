package flow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

// outlookRig is a board with flows in many states, and nobody who moves them.
type outlookRig struct {
	*rig
	rand *rand.Rand
	bans *ban.Bans
	old  bool // they stand so long that an audit doubts them
}

// kinds are what flows may be of.
var kinds = []func(r *outlookRig) domain.FlowID{
	func(r *outlookRig) domain.FlowID {
		return r.steps(step("a", "set x 1"), step("b", "set y 1", phase(1)))
	},
	func(r *outlookRig) domain.FlowID {
		return r.steps(step("a", "set x 1", func(s *domain.Step) { s.ScriptType = "rust" }), step("b", "set x 1"))
	},
	func(r *outlookRig) domain.FlowID {
		return r.steps(step("a", "set x 1", func(s *domain.Step) { s.Affinity = map[string]string{"zone": "eu"} }))
	},
	func(r *outlookRig) domain.FlowID {
		return r.steps(step("a", "set x 1"), domain.Step{Name: "ask", Kind: domain.StepApproval})
	},
	func(r *outlookRig) domain.FlowID {
		return r.steps(step("a", "set x 1", func(s *domain.Step) { s.After = domain.Instant(time.Now().Add(time.Hour).UnixMilli()) }))
	},
	func(r *outlookRig) domain.FlowID { return r.steps(step("a", "set x 1", shards(5, 3))) },
	func(r *outlookRig) domain.FlowID {
		return r.submit(flow.Request{Jobs: []*domain.Job{
			{ID: 1, Script: "set x 1", ScriptType: "words"}, {ID: 2, Script: "set x 1", ScriptType: "rust", Dependends: []domain.JobID{1}}}})
	},
}

// mishaps each bring a flow into a state in which a board may be found, sound or not.
var mishaps = []func(r *outlookRig, id domain.FlowID){
	func(*outlookRig, domain.FlowID) {},
	func(r *outlookRig, id domain.FlowID) { // somebody looks at it, or it was to be looked at
		if err := r.flows.Pause(r.ctx, tenant, id, r.rand.IntN(2) == 0); err != nil {
			r.Fatal(err)
		}
	},
	func(r *outlookRig, id domain.FlowID) {
		r.change(func(b *board.Batch) {
			b.Set(domain.FlowKey(id), board.Field{Name: layout.FlowPaused, Value: "true"})
		})
	},
	func(r *outlookRig, id domain.FlowID) { // due, and in no queue
		if err := r.flows.Pause(r.ctx, tenant, id, false); err != nil {
			r.Fatal(err)
		}
		r.change(func(b *board.Batch) { b.Drop(queue.Keeper, layout.FlowState(id)) })
	},
	func(r *outlookRig, id domain.FlowID) {
		r.change(func(b *board.Batch) { b.Delete(layout.FlowState(id)) })
	},
	func(r *outlookRig, id domain.FlowID) {
		r.change(func(b *board.Batch) {
			b.Set(layout.FlowState(id), board.Field{Name: layout.FlowStateData, Value: "{"})
		})
	},
	func(r *outlookRig, id domain.FlowID) {
		r.change(func(b *board.Batch) { b.Delete(layout.FlowWaits(id)) })
		r.change(func(b *board.Batch) { b.PushLeft(layout.FlowWaits(id), "x") })
	},
	func(r *outlookRig, id domain.FlowID) { // what it waits for will not come
		r.change(func(b *board.Batch) { b.ClearAlarm(layout.FlowAlarm(layout.AlarmFlow, id)) })
	},
	func(r *outlookRig, id domain.FlowID) { // a job is gone, and it does not know
		if jobs := r.jobsOf(id); len(jobs) > 0 {
			r.change(func(b *board.Batch) { work.Remove(b, jobs[0]) })
		}
	},
	func(r *outlookRig, id domain.FlowID) { // a job is in no queue
		for _, j := range r.jobsOf(id) {
			r.change(func(b *board.Batch) { b.Drop("queue:words", j.String()) })
		}
	},
	func(r *outlookRig, id domain.FlowID) { // a keeper has it that is gone
		if err := r.flows.Pause(r.ctx, tenant, id, false); err != nil {
			r.Fatal(err)
		}
		ask := board.Ask{Queues: []board.Queue{{Lists: []string{queue.Keeper}}}, Max: 1, Owner: "dead/x",
			Lease: time.Second * time.Duration(5+r.rand.IntN(30))}
		if _, err := r.board.Claim(r.ctx, ask); err != nil {
			r.Fatal(err)
		}
	},
	func(r *outlookRig, id domain.FlowID) { // held by nobody
		r.change(func(b *board.Batch) {
			b.Drop(queue.Keeper, layout.FlowState(id)).Set(layout.FlowState(id), board.Field{Name: board.FieldOwner, Value: "dead/x"})
		})
	},
	func(r *outlookRig, id domain.FlowID) { // half written
		r.change(func(b *board.Batch) {
			b.Set(layout.FlowState(id), board.Field{Name: layout.FlowStateData, Value: `{"writing":true}`})
			if r.rand.IntN(2) == 0 {
				b.SetAlarm(layout.FlowAlarm(layout.AlarmFlowWrite, id), time.Now().Add(time.Hour))
			}
		})
	},
	func(r *outlookRig, id domain.FlowID) {
		scope := domain.BanScope{Kind: domain.BanFlow, Context: tenant, Name: fmt.Sprint(id)}
		if _, err := r.bans.Set(r.ctx, domain.Ban{BanScope: scope, Level: []domain.BanLevel{domain.BanCreate, domain.BanPick}[r.rand.IntN(2)],
			By: 1, Reason: "maintenance"}); err != nil {
			r.Fatal(err)
		}
	},
}

func (r *outlookRig) change(what func(b *board.Batch)) {
	r.Helper()
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	what(&b)
	if err := r.board.Commit(r.ctx, b); err != nil {
		r.Fatal(err)
	}
}

// nodes puts some on the board who say that they are there.
func (r *outlookRig) nodes() {
	for id := range domain.RunnerID(r.rand.IntN(3)) {
		about := domain.Runner{ID: id + 1, Node: "n", SeenMs: time.Now().UnixMilli(),
			Serves: []domain.Service{{ScriptType: "words", Served: r.rand.IntN(4) > 0}}}
		for _, role := range []domain.Role{domain.RoleKeeper, domain.RoleClockwork, domain.RoleRunner} {
			if r.rand.IntN(3) == 0 {
				about.Off = append(about.Off, domain.Off{Role: role, Rule: 1})
			}
		}
		b := board.Batch{}
		if err := r.board.Commit(r.ctx, *b.Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
			r.Fatal(err)
		}
	}
}

// jobsOf are the open jobs that have been made for a flow.
func (r *outlookRig) jobsOf(id domain.FlowID) (keys []domain.JobKey) {
	for _, name := range r.explain(id).WaitsFor {
		if key, err := domain.ParseJobKey(name); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func (r *outlookRig) explain(id domain.FlowID) domain.FlowExplanation {
	r.Helper()
	x, err := r.flows.Explain(r.ctx, tenant, id)
	if err != nil {
		r.Fatalf("flow %d: %v", id, err)
	}
	return x
}

// What explain says becomes of a flow and what the audit does with it are the same, in
// whatever states the flows of a board are.
func TestExplainAndAuditAgree(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			b := memboard.Open()
			defer b.Close()
			cache := ban.NewCache(b, nil)
			r := &outlookRig{rig: &rig{T: t, board: b, ctx: t.Context()}, rand: rand.New(rand.NewPCG(seed, 1)), bans: ban.New(b)}
			r.work = work.New(b, work.Config{Bans: cache})
			r.flows = flow.New(b, r.work, flow.Config{Bans: cache})
			var ids []domain.FlowID
			for range 1 + r.rand.IntN(6) {
				ids = append(ids, kinds[r.rand.IntN(len(kinds))](r))
			}
			if r.rand.IntN(5) > 0 {
				stop := r.run(func(ctx context.Context) { r.flows.Keep(ctx, "n1/a") })
				synctest.Wait()
				stop()
			}
			for _, id := range ids {
				mishaps[r.rand.IntN(len(mishaps))](r, id)
			}
			if err := cache.Load(r.ctx); err != nil {
				t.Fatal(err)
			}
			if r.old = r.rand.IntN(4) > 0; r.old {
				time.Sleep(time.Duration(11+r.rand.IntN(30)) * time.Second)
			}
			r.nodes()
			before := map[string]domain.FlowExplanation{}
			for _, id := range ids {
				x := r.explain(id)
				before[x.Key] = x
				seen[string(x.Standing)+" "+string(x.Outlook)]++
			}
			r.agree(seed, before)
			for _, id := range ids { // it did what explain had said
				if x := r.explain(id); r.old && x.Standing == domain.StandingStuck && x.Outlook == domain.OutlookMended {
					t.Errorf("seed %d: after the audit: %+v", seed, x)
				}
			}
		})
	}
	for _, want := range []string{"writing moves", "kept moves", "kept lacking", "queued moves", "queued lacking", "working moves", "working lacking",
		"working mended", "working held", "deciding held", "delayed moves", "delayed lacking", "paused held", "banned held", "stuck mended", "stuck stuck"} {
		if seen[want] == 0 {
			t.Errorf("no flow was %s, but %v", want, seen)
		}
	}
}

// agree compares what the audits find with what was explained.
func (r *outlookRig) agree(seed uint64, before map[string]domain.FlowExplanation) {
	r.Helper()
	jobs, err := r.work.Audit(r.ctx, tenant)
	if err != nil {
		r.Fatal(err)
	}
	a := r.audit()
	lacking := 0
	for key, x := range before {
		in := func(list []domain.Finding) bool {
			return slices.ContainsFunc(list, func(f domain.Finding) bool { return f.Key == key })
		}
		own := x.Standing == domain.StandingStuck
		if got, want := in(a.Repaired), r.old && own && x.Outlook == domain.OutlookMended; got != want {
			r.Errorf("seed %d: repaired %v: %+v", seed, got, x)
		}
		if got, want := in(a.Stuck), r.old && own && x.Outlook == domain.OutlookStuck; got != want {
			r.Errorf("seed %d: stuck %v: %+v", seed, got, x)
		}
		if in(a.Lacking) && x.Outlook != domain.OutlookLacking {
			r.Errorf("seed %d: lacking: %+v", seed, x)
		}
		// What is wrong with one of its jobs is found there, in the words of the flow.
		told := func(list []domain.Finding) bool {
			return slices.ContainsFunc(list, func(f domain.Finding) bool {
				text, _, _ := strings.Cut(f.Text, "; ")
				return strings.Contains(x.Text, text)
			})
		}
		switch {
		case x.Outlook == domain.OutlookLacking && x.Standing != domain.StandingWorking:
			lacking++
		case x.Outlook == domain.OutlookLacking && !told(jobs.Lacking), r.old && !own && x.Outlook == domain.OutlookMended && !told(jobs.Repaired),
			r.old && !own && x.Outlook == domain.OutlookStuck && !told(jobs.Stuck):
			r.Errorf("seed %d: not found: %+v, but %+v", seed, x, jobs)
		}
	}
	if a.Lacks() != lacking {
		r.Errorf("seed %d: %d lack somebody by the audit, %d by explain: %+v", seed, a.Lacks(), lacking, a.Lacking)
	}
}

// wakingBoard does something once, after somebody has looked into the keeper's queue.
type wakingBoard struct {
	board.Board
	then func()
}

func (b *wakingBoard) List(ctx context.Context, space board.Space, list string, from, count int) ([]string, error) {
	items, err := b.Board.List(ctx, space, list, from, count)
	if do := b.then; list == queue.Keeper && do != nil {
		b.then = nil
		do()
	}
	return items, err
}

// What comes into the keeper's queue while an audit is under way is not lost.
func TestAuditSeesWhatIsQueuedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &wakingBoard{Board: memboard.Open()}
		defer b.Close()
		r := &outlookRig{rig: &rig{T: t, board: b, ctx: t.Context(), work: work.New(b, work.Config{})}}
		r.flows = flow.New(b, r.work, flow.Config{})
		lost, woken := r.steps(step("a", "set x 1")), r.steps(step("a", "set x 1"))
		stop := r.run(func(ctx context.Context) { r.flows.Keep(ctx, "n1/a") })
		synctest.Wait()
		stop()
		wake := func(id domain.FlowID) {
			if err := r.flows.Pause(r.ctx, tenant, id, false); err != nil {
				t.Fatal(err)
			}
		}
		wake(lost)
		r.change(func(b *board.Batch) { b.Drop(queue.Keeper, layout.FlowState(lost)) })
		time.Sleep(11 * time.Second)
		b.then = func() { wake(woken) }
		if a := r.audit(); len(a.Repaired) != 1 || a.Repaired[0].Key != domain.FlowKey(lost) {
			t.Errorf("got %+v, want flow %d repaired alone", a.Repaired, lost)
		}
	})
}
