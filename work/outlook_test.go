package work_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// outlookRig is a board with jobs in many states, and nobody who moves them.
type outlookRig struct {
	*rig
	rand *rand.Rand
	next domain.JobID
	old  bool // they stand so long that an audit doubts them
}

// onContext is a ban on whatever is of the context.
var onContext = domain.BanScope{Kind: domain.BanContext, Context: tenant}

// states each bring one job into a state in which a board may be found, sound or not.
var states = []func(r *outlookRig, id domain.JobID){
	func(r *outlookRig, id domain.JobID) { r.submit(job(id, "ok")) },
	func(r *outlookRig, id domain.JobID) {
		r.submit(job(id, "ok", func(j *domain.Job) { j.ScriptType = "rust" }))
	},
	func(r *outlookRig, id domain.JobID) {
		r.submit(job(id, "ok", at([]string{"zone=eu", "zone=us"}[r.rand.IntN(2)])))
	},
	func(r *outlookRig, id domain.JobID) {
		r.submit(job(id, "ok", func(j *domain.Job) { j.ForRunner = domain.RunnerID(1 + r.rand.IntN(3)) }))
	},
	func(r *outlookRig, id domain.JobID) {
		r.submit(job(id, "ok", func(j *domain.Job) { j.NotBefore = time.Now().Add(time.Hour).UnixMilli() }))
	},
	func(r *outlookRig, id domain.JobID) {
		r.submit(job(id, "ok", func(j *domain.Job) { j.Prerequisites = []string{"the lab is open"} }))
	},
	func(r *outlookRig, id domain.JobID) { // it waits, and nothing would end that
		r.submit(job(id, "ok", func(j *domain.Job) { j.Prerequisites = []string{"the lab is open"} }))
		r.change(func(b *board.Batch) { b.ClearAlarm(layout.Alarm(layout.AlarmPrereq, key(id))) })
	},
	func(r *outlookRig, id domain.JobID) { // ready, and in no queue
		r.submit(job(id, "ok"))
		r.change(func(b *board.Batch) { b.Drop("queue:go", key(id).String()) })
	},
	func(r *outlookRig, id domain.JobID) { // held by nobody
		r.submit(job(id, "ok"))
		r.change(func(b *board.Batch) {
			b.Drop("queue:go", key(id).String())
			b.Set(key(id).String(), board.Field{Name: layout.JobStatus, Value: "started"}, board.Field{Name: layout.JobLeaseOwner, Value: "dead/x"})
		})
	},
	func(r *outlookRig, id domain.JobID) { // to be tried again, by no alarm
		r.submit(job(id, "ok"))
		r.change(func(b *board.Batch) {
			b.Drop("queue:go", key(id).String())
			b.Set(key(id).String(), board.Field{Name: layout.JobNextRetryMs, Value: fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())})
		})
	},
	func(r *outlookRig, id domain.JobID) { // laid aside, for good
		r.submit(job(id, "ok"))
		r.change(func(b *board.Batch) {
			b.Drop("queue:go", key(id).String())
			b.Set(key(id).String(), board.Field{Name: layout.JobParked, Value: "type go"})
		})
	},
	func(r *outlookRig, id domain.JobID) { // laid aside, until somebody looks
		r.submit(job(id, "ok"))
		r.change(func(b *board.Batch) {
			b.Drop("queue:go", key(id).String())
			b.Set(key(id).String(), board.Field{Name: layout.JobParked, Value: onContext.String()})
			b.SetAlarm(layout.ParkedAlarm(onContext.String()), time.Now().Add(time.Hour))
		})
	},
	func(r *outlookRig, id domain.JobID) { // after another, in whatever state that is
		r.submit(job(id, "ok", func(j *domain.Job) {
			if id > 1 {
				j.Dependends = []domain.JobID{id - 1}
			}
		}))
	},
	func(r *outlookRig, id domain.JobID) { // taken by somebody who takes no leases, seen or not
		r.submit(job(id, "ok", func(j *domain.Job) { j.ScriptType = "rust" }))
		r.change(func(b *board.Batch) {
			b.Drop("queue:rust", key(id).String())
			b.Set(key(id).String(), board.Field{Name: layout.JobStatus, Value: "started"})
			if r.rand.IntN(2) == 0 {
				b.SetAlarm(layout.Alarm(layout.AlarmForeign, key(id)), time.Now().Add(time.Hour))
			}
		})
	},
	func(r *outlookRig, id domain.JobID) { // sent away with a message that is gone
		r.submit(job(id, "ok"))
		r.change(func(b *board.Batch) {
			b.Drop("queue:go", key(id).String())
			b.Set(key(id).String(), layout.SentFields("away", domain.MessageKey{Caller: 1, ID: 7})...)
			if r.rand.IntN(4) == 0 {
				b.Set(key(id).String(), board.Field{Name: layout.JobMessage, Value: "none"})
			}
		})
	},
	func(r *outlookRig, id domain.JobID) { // written by a foreign program, and pushed nowhere, or where no node looks
		r.written(id, "dispatched")
		r.change(func(b *board.Batch) {
			if queue := []string{"", "queue:go:p77", "queue:go:at:zone=eu"}[r.rand.IntN(3)]; queue != "" {
				b.PushLeft(queue, key(id).String())
			}
		})
	},
	func(r *outlookRig, id domain.JobID) { // the same, with a holder, and with a next attempt
		r.written(id, "started", f("lease_owner", "x"))
		if r.rand.IntN(2) == 0 {
			r.written(id, "started", f("next_retry_ms", fmt.Sprint(time.Now().UnixMilli())))
		}
	},
	func(r *outlookRig, id domain.JobID) { r.written(id, []string{"error", "finished"}[r.rand.IntN(2)]) },
	func(r *outlookRig, id domain.JobID) { // not queued by its writer, with one of ours after it
		r.written(id, "dispatched")
		r.next++
		r.submit(job(r.next, "ok", after(id)))
	},
	func(r *outlookRig, id domain.JobID) { // leased by one that is gone
		queue := fmt.Sprintf("queue:go:runner%d", 100+id)
		r.submit(job(id, "ok", func(j *domain.Job) { j.ForRunner = domain.RunnerID(100 + id) }))
		ask := board.Ask{Queues: []board.Queue{{Lists: []string{queue}}}, Max: 1, Owner: "dead/x", Lease: time.Second * time.Duration(5+r.rand.IntN(100)),
			Mark: []board.Field{{Name: layout.JobStatus, Value: "started"}}}
		if got, err := r.board.Claim(r.ctx, ask); err != nil || len(got) != 1 {
			r.Fatalf("claim: got %v, %v", got, err)
		}
	},
}

// written is a job that a foreign program wrote.
func (r *outlookRig) written(id domain.JobID, status string, more ...board.Field) {
	r.Helper()
	r.change(func(b *board.Batch) {
		b.Set(key(id).String(), append(more, f("script", "ok"), f("script_type", "go"), f("status", status))...)
	})
}

func (r *outlookRig) change(what func(b *board.Batch)) {
	r.Helper()
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	what(&b)
	if err := r.board.Commit(r.ctx, b); err != nil {
		r.Fatal(err)
	}
}

// runners puts some on the board who say that they serve something.
func (r *outlookRig) runners() {
	for id := range domain.RunnerID(r.rand.IntN(4)) {
		about := domain.Runner{ID: id + 1, Node: "n", SeenMs: time.Now().Add(time.Minute * time.Duration(r.rand.IntN(3))).UnixMilli(),
			Serves: []domain.Service{{ScriptType: []domain.ScriptType{"go", "go", "rust"}[r.rand.IntN(3)], Served: r.rand.IntN(4) > 0}}}
		if r.rand.IntN(2) == 0 {
			about.Labels = domain.Labels{"zone": "eu"}
		}
		if r.rand.IntN(4) == 0 {
			about.Off = []domain.Off{{Role: domain.RoleRunner, Rule: 1}}
		}
		if r.rand.IntN(2) == 0 {
			about.Off = append(about.Off, domain.Off{Role: domain.RoleClockwork, Rule: 1})
		}
		if r.rand.IntN(4) == 0 {
			about.Locked = []domain.Locked{{Context: tenant, Key: "disk"}}
		}
		b := board.Batch{}
		if err := r.board.Commit(r.ctx, *b.Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
			r.Fatal(err)
		}
	}
}

// What explain says becomes of a job and what the audit does with it are the same, in
// whatever states the jobs of a board are.
func TestExplainAndAuditAgree(t *testing.T) {
	seen := map[domain.Outlook]int{}
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			b := memboard.Open()
			defer b.Close()
			cache := ban.NewCache(b, nil)
			r := &outlookRig{rig: &rig{T: t, board: b, engine: work.New(b, work.Config{Bans: cache}), ctx: t.Context()}, rand: rand.New(rand.NewPCG(seed, 1))}
			for range 1 + r.rand.IntN(12) {
				r.next++
				states[r.rand.IntN(len(states))](r, r.next)
			}
			if r.rand.IntN(4) == 0 {
				if _, err := ban.New(b).Set(r.ctx, domain.Ban{BanScope: onContext, Level: domain.BanPick, By: 1, Reason: "maintenance"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := cache.Load(r.ctx); err != nil {
				t.Fatal(err)
			}
			if r.old = r.rand.IntN(4) > 0; r.old {
				time.Sleep(time.Duration(11+r.rand.IntN(30)) * time.Second) // beyond what an audit passes over as being under way
			}
			r.runners()
			before := map[string]domain.JobExplanation{}
			for id := range r.next {
				x := r.standingOf(id + 1)
				before[x.Key] = x
				seen[x.Outlook]++
			}
			a, err := r.engine.Audit(r.ctx, tenant)
			if err != nil {
				t.Fatal(err)
			}
			r.agree(seed, before, a)
			for id := range r.next { // it did what explain had said
				if x := r.standingOf(id + 1); r.old && x.Outlook == domain.OutlookMended {
					t.Errorf("seed %d: after the audit: %+v", seed, x)
				}
			}
		})
	}
	all := []domain.Outlook{domain.OutlookMoves, domain.OutlookWaits, domain.OutlookHeld, domain.OutlookLacking, domain.OutlookMended,
		domain.OutlookStuck}
	for _, o := range all {
		if seen[o] == 0 {
			t.Errorf("no job was found that %s", o)
		}
	}
}

// agree compares what an audit found with what was explained.
func (r *outlookRig) agree(seed uint64, before map[string]domain.JobExplanation, a domain.Audit) {
	r.Helper()
	lacking := map[string]int{}
	for key, x := range before {
		in := func(list []domain.Finding) bool {
			for _, f := range list {
				if f.Key == key {
					return true
				}
			}
			return false
		}
		ails := x.Outlook == domain.OutlookMended || x.Outlook == domain.OutlookStuck
		if says := strings.Contains(x.Text, "; the next audit "); says != (r.old && ails) {
			r.Errorf("seed %d: the next audit: %+v", seed, x)
		}
		for _, f := range a.Lacking {
			if strings.Contains(x.Text, f.Text) {
				lacking[f.Text]++
			}
		}
		if got, want := in(a.Repaired), r.old && x.Outlook == domain.OutlookMended; got != want {
			r.Errorf("seed %d: repaired %v: %+v", seed, got, x)
		}
		if got, want := in(a.Stuck), r.old && x.Outlook == domain.OutlookStuck; got != want {
			r.Errorf("seed %d: stuck %v: %+v", seed, got, x)
		}
		if in(a.Lacking) && x.Outlook != domain.OutlookLacking {
			r.Errorf("seed %d: lacking: %+v", seed, x)
		}
	}
	all := 0
	for _, x := range before {
		if x.Outlook == domain.OutlookLacking {
			all++
		}
	}
	if a.Lacks() != all {
		r.Errorf("seed %d: %d lack somebody by the audit, %d by explain: %+v", seed, a.Lacks(), all, a.Lacking)
	}
	for _, f := range a.Lacking {
		if lacking[f.Text] != f.More+1 {
			r.Errorf("seed %d: %+v: explain says it of %d", seed, f, lacking[f.Text])
		}
	}
}

// A job that waits for a time lacks a node on duty as clockwork, where rules have taken that
// from all: also when its time has not come, or has passed.
func TestWhatWaitsForATimeLacksClockwork(t *testing.T) {
	const lack = "rules have taken the duty of a clockwork from every node that is alive: see `ramet duty show`"
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &outlookRig{rig: &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}}
		states := []func(j *domain.Job){
			func(j *domain.Job) { j.NotBefore = time.Now().Add(time.Second).UnixMilli() },
			func(j *domain.Job) { j.Prerequisites = []string{"the lab is open"} },
			func(*domain.Job) {},
		}
		for i, with := range states {
			r.submit(job(domain.JobID(i+1), "ok", with))
		}
		retrying := domain.JobID(3)
		again := time.Now().Add(time.Second)
		r.change(func(b *board.Batch) {
			b.Drop("queue:go", key(retrying).String())
			b.Set(key(retrying).String(), board.Field{Name: layout.JobNextRetryMs, Value: fmt.Sprint(again.UnixMilli())})
			b.SetAlarm(layout.Alarm(layout.AlarmRetry, key(retrying)), again)
		})
		about := domain.Runner{ID: 1, Node: "n", SeenMs: time.Now().UnixMilli(), Serves: []domain.Service{{ScriptType: "go", Served: true}}}
		for _, off := range [][]domain.Off{nil, {{Role: domain.RoleClockwork, Rule: 1}}} {
			about.Off = off
			nodes := board.Batch{}
			if err := b.Commit(r.ctx, *nodes.Unset(about.Key(), layout.RunnerOff).Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // the times have passed in the first round
			for i := range states {
				x := r.standingOf(domain.JobID(i + 1))
				if lacks := x.Outlook == domain.OutlookLacking && strings.HasSuffix(x.Text, "; "+lack); lacks != (off != nil) {
					t.Errorf("off %v: got %+v", off, x)
				}
			}
			a, err := r.engine.Audit(r.ctx, tenant)
			if err != nil {
				t.Fatal(err)
			}
			var want []domain.Finding
			if off != nil {
				want = []domain.Finding{{Key: a.Lacking[0].Key, Text: lack, More: 2}}
			}
			if diff := cmp.Diff(want, []domain.Finding(a.Lacking)); diff != "" {
				t.Errorf("off %v: the audit (-want +got):\n%s", off, diff)
			}
		}
	})
}
