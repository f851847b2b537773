package work_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// at asks for labels.
func at(labels string) func(*domain.Job) {
	return func(j *domain.Job) { j.Affinity, _ = domain.ParseLabels(labels) }
}

// noteTo is a script that notes its job.
func noteTo(mu *sync.Mutex, order *[]string) func(context.Context, script.Task, script.Host) script.Outcome {
	return func(_ context.Context, task script.Task, _ script.Host) script.Outcome {
		mu.Lock()
		defer mu.Unlock()
		*order = append(*order, task.Name)
		return ok(nil)
	}
}

// startLabelled starts a runner of a node with labels beside the rig's.
func (r *rig) startLabelled(id domain.RunnerID, labels string) (g *goScript, stop func()) {
	r.Helper()
	g = newGoScript("go", 2)
	l, err := domain.ParseLabels(labels)
	if err != nil {
		r.Fatal(err)
	}
	owner := "l" + strings.Repeat("x", int(id)) + "/a"
	s := startRunner(r.T, r.board, work.New(r.board, work.Config{}), work.RunnerConfig{ID: id, Owner: owner, Runtimes: []script.Runtime{g}, Labels: l})
	return g, s.stop
}

func TestJobsGoToNodesWithTheirLabels(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{}) // a node without labels
		eu, stop := r.startLabelled(2, "zone=eu,disk=ssd")
		defer stop()
		us, stop := r.startLabelled(3, "zone=us")
		defer stop()
		time.Sleep(10 * time.Second) // they wait for work
		begun := time.Now()
		r.submit(job(1, "ok", at("zone=eu")), job(2, "ok", at("disk=ssd,zone=eu")), job(3, "ok", at("zone=us")), job(4, "ok", at("zone=us"), after(1)))
		for id := domain.JobID(1); id <= 4; id++ {
			r.want(id, domain.JobFinished, "")
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("took %v, want no waiting for the first of new labels", took)
		}
		if eu.count(key(1)) != 1 || eu.count(key(2)) != 1 || us.count(key(3)) != 1 || us.count(key(4)) != 1 {
			t.Errorf("they ran elsewhere: %v, %v, %v", eu.runs, us.runs, r.script.runs)
		}
	})
}

func TestAJobWaitsForANodeWithItsLabels(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "ok", at("zone=eu")))
		time.Sleep(time.Hour)
		x := r.standingOf(1)
		if x.Standing != domain.StandingQueued || x.Queue != "queue:go:at:zone=eu" ||
			!strings.Contains(x.Text, "no node that is alive serves go with the labels zone=eu") {
			t.Errorf("got %+v", x)
		}
		if a, err := r.engine.Audit(t.Context(), tenant); err != nil || len(a.Repaired)+len(a.Stuck) != 0 {
			t.Errorf("audit: got %+v, %v", a, err)
		}
		_, stop := r.startLabelled(2, "zone=eu")
		defer stop()
		r.want(1, domain.JobFinished, "")
	})
}

func (r *rig) standingOf(id domain.JobID) domain.JobExplanation {
	r.Helper()
	x, err := r.engine.Explain(r.ctx, tenant, key(id))
	if err != nil {
		r.Fatal(err)
	}
	return x
}

func TestJobsWithLabelsKeepPrioritiesRetriesAndCaps(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := memboard.Open()
		defer b.Close()
		limits := board.Batch{Space: layout.SpaceOf(tenant)}
		if err := b.Commit(t.Context(), *limits.Set(layout.Limits, board.Field{Name: "max:queue:go", Value: "1"})); err != nil {
			t.Fatal(err)
		}
		labels := domain.Labels{"zone": "eu"}
		g := newGoScript("go", 4)
		var mu sync.Mutex
		var order []string
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a", Labels: labels}, g)
		defer r.stop()
		g.on("note", noteTo(&mu, &order))
		priority := func(n int) func(*domain.Job) { return func(j *domain.Job) { j.Priority = n } }
		r.submit(job(9, "ok", at("zone=eu"))) // the labels are known from here on
		r.want(9, domain.JobFinished, "")
		r.submit(job(10, "ok", at("zone=eu"), priority(5)))
		r.want(10, domain.JobFinished, "")
		r.submit(job(1, "hang"))
		time.Sleep(time.Second)
		r.submit(job(2, "note", at("zone=eu")), job(3, "note", at("zone=eu"), priority(5)), job(4, "note"))
		time.Sleep(time.Minute)
		if len(order) != 0 {
			t.Errorf("got %v while another job of the type held its cap", order)
		}
		if _, err := r.engine.Cancel(t.Context(), tenant, key(1), 1); err != nil {
			t.Fatal(err)
		}
		for id := domain.JobID(2); id <= 4; id++ {
			r.want(id, domain.JobFinished, "")
		}
		if slices.Index(order, "job:1:3") > slices.Index(order, "job:1:2") {
			t.Errorf("got order %v, want the one of priority 5 before the other", order)
		}
		r.submit(job(5, "fail", at("zone=eu"), retries(2)))
		if j := r.want(5, domain.JobError, domain.ReasonScriptFailed); j.Failures != 3 {
			t.Errorf("got %d failures, want 3", j.Failures)
		}
	})
}

// TestNoQueueStarvesForTheBacklogOfAnother has one slot, and far more jobs of
// one kind than can be run: those of another kind do not wait for their end.
func TestNoQueueStarvesForTheBacklogOfAnother(t *testing.T) {
	plain, eu, ssd := func(*domain.Job) {}, at("zone=eu"), at("disk=ssd")
	for _, c := range []struct {
		name         string
		backlog, job func(*domain.Job)
	}{
		{"without labels behind labels", eu, plain},
		{"with labels behind none", plain, eu},
		{"with labels behind others", ssd, eu},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachTaking(t, func(t *testing.T, by taking) {
				b := memboard.Open()
				defer b.Close()
				g := newGoScript("go", 1)
				var mu sync.Mutex
				var order []string
				note := noteTo(&mu, &order)
				g.on("note", func(ctx context.Context, task script.Task, h script.Host) script.Outcome {
					time.Sleep(time.Second)
					return note(ctx, task, h)
				})
				labels := domain.Labels{"zone": "eu", "disk": "ssd"}
				r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a", Labels: labels}, g)
				defer r.stop()
				r.submit(job(1, "note", eu), job(2, "note", ssd), job(3, "note")) // the labels are known from here on
				for id := domain.JobID(1); id <= 3; id++ {
					r.want(id, domain.JobFinished, "")
				}
				for id := range domain.JobID(40) {
					r.submit(job(100+id, "note", c.backlog))
				}
				r.submit(job(4, "note", c.job, func(j *domain.Job) { j.Priority = 9 }))
				r.want(4, domain.JobFinished, "")
				mu.Lock()
				defer mu.Unlock()
				if before := len(order) - 4; before > 6 {
					t.Errorf("%d of the backlog went before it", before)
				}
			})
		})
	}
}

func TestOneContextCannotTakeAllKindsOfAffinity(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		kind := func(i int) func(*domain.Job) { return at("n=x" + strconv.Itoa(i)) }
		for i := range layout.MaxAffinitiesOf {
			// Priorities are no kinds of their own.
			r.submit(job(domain.JobID(1+i), "ok", kind(i), func(j *domain.Job) { j.Priority = i % 10 }))
		}
		submit := func(in domain.TenantID, id domain.JobID, i int) error {
			receipts, err := r.engine.Submit(t.Context(), in, []*domain.Job{job(id, "ok", kind(i))})
			if err == nil {
				err = receipts[0].Err
			}
			return err
		}
		if err := submit(tenant, 500, layout.MaxAffinitiesOf); !errors.Is(err, domain.ErrLimit) {
			t.Errorf("one more: got %v", err)
		}
		if err := submit(tenant, 501, 7); err != nil {
			t.Errorf("one that is known: got %v", err)
		}
		if err := submit(tenant+1, 500, layout.MaxAffinitiesOf); err != nil {
			t.Errorf("in another context: got %v", err)
		}
	})
}

func TestAffinityThatIsWrong(t *testing.T) {
	for name, change := range map[string]func(*domain.Job){
		"a value with a colon": func(j *domain.Job) { j.Affinity = domain.Labels{"zone": "a:b"} },
		"a value with a comma": func(j *domain.Job) { j.Affinity = domain.Labels{"zone": "a,b=c"} },
		"no value":             func(j *domain.Job) { j.Affinity = domain.Labels{"zone": ""} },
		"no name":              func(j *domain.Job) { j.Affinity = domain.Labels{"": "eu"} },
		"a runner and labels":  func(j *domain.Job) { j.Affinity, j.ForRunner = domain.Labels{"zone": "eu"}, 3 },
		"more than a queue says": func(j *domain.Job) {
			j.Affinity = domain.Labels{"a": strings.Repeat("x", 64), "b": strings.Repeat("x", 64), "c": strings.Repeat("x", 64)}
		},
	} {
		j := job(1, "ok", change)
		if err := j.Validate(); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTheAuditorAnnouncesLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, work.Config{})
		_, stop := r.startLabelled(2, "zone=eu")
		defer stop()
		r.submit(job(1, "hang", at("zone=eu")))
		time.Sleep(time.Second)
		var b board.Batch
		if err := r.board.Commit(t.Context(), *b.Delete(layout.Affinities)); err != nil {
			t.Fatal(err)
		}
		// Another life, that knows no labels; its jobs come by another way.
		other := domain.Job{ID: 2, CallerID: 1, ContextID: tenant, Script: "ok", ScriptType: "go", Affinity: domain.Labels{"zone": "eu"}}
		batch := board.Batch{Space: layout.SpaceOf(tenant)}
		if queue := work.AddFlowJob(&batch, &other, work.Place{}, time.Now()); queue != "" {
			batch.PushLeft(queue, other.Key().String())
		}
		if err := r.board.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		r.want(2, domain.JobFinished, "")
	})
}

// TestWhoeverAuditsAnnouncesLabels has the node look that has announced them before: they are gone from
// the board since, as after a restore of an older copy.
func TestWhoeverAuditsAnnouncesLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		e := work.New(b, work.Config{})
		j := job(1, "ok", at("zone=eu"))
		if _, err := e.Submit(t.Context(), tenant, []*domain.Job{j}); err != nil {
			t.Fatal(err)
		}
		for _, space := range []board.Space{0, layout.SpaceOf(tenant)} {
			before, err := b.Members(t.Context(), space, layout.Affinities, "", 9)
			if err != nil || len(before) != 1 {
				t.Fatalf("space %d: got %q, %v", space, before, err)
			}
			gone := board.Batch{Space: space}
			if err := b.Commit(t.Context(), *gone.Delete(layout.Affinities)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if _, err := e.Audit(t.Context(), tenant); err != nil {
				t.Fatal(err)
			}
			if after, err := b.Members(t.Context(), space, layout.Affinities, "", 9); err != nil || !slices.Equal(after, before) {
				t.Errorf("space %d: after an audit there are %q, %v, want %q", space, after, err, before)
			}
		}
	})
}
