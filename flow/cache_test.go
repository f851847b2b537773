package flow_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// kept is a change of a step that has it take what is kept for a key.
func kept(key string, span domain.Span) func(*domain.Step) {
	return func(s *domain.Step) { s.Cache = &domain.StepCache{Key: key, For: span} }
}

// cached is a blueprint with a step that is kept by its param, and one after it.
func cached(text string) *domain.Blueprint {
	b := blueprint(step("a", text, kept("${p}", 3600)), step("b", "need a x", needs("a")))
	b.Name, b.Params = "keeps", map[string]string{"p": "1"}
	return b
}

// wantCached checks from which flow the result of step a is; 0: it was run.
func (r *rig) wantCached(v domain.FlowView, from domain.FlowID) {
	r.Helper()
	st := v.Steps[0]
	switch {
	case from == 0 && (st.Cached != nil || st.Job == ""):
		r.Errorf("flow %d: step a was not run: %+v", v.ID, st)
	case from != 0 && (st.Cached == nil || st.Cached.Flow != from || st.Job != "" || !strings.HasPrefix(st.Text, "taken from the cache: job:1:")):
		r.Errorf("flow %d: got %+v, want step a from flow %d", v.ID, st, from)
	}
}

func TestAStepTakesWhatItDidForTheSameKey(t *testing.T) {
	bubble(t, func(r *rig) {
		first := r.submit(flow.Request{Plan: cached("set x 7")})
		r.wantCached(r.want(first, domain.FlowSucceeded, "a succeeded", "b succeeded"), 0)
		v := r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded, "a succeeded", "b succeeded")
		r.wantCached(v, first)
		if v.Result["a.x"] != "7" || v.Result["b.got"] != "7" {
			t.Errorf("got result %v, want what the first left", v.Result)
		}
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7"), Params: map[string]string{"p": "2"}}), domain.FlowSucceeded), 0) // another key
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 8")}), domain.FlowSucceeded), 0)                                      // another script
		anew := r.submit(flow.Request{Plan: cached("set x 7"), NoCache: true})
		r.wantCached(r.want(anew, domain.FlowSucceeded), 0)
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded), anew) // what it did is kept
		time.Sleep(time.Hour)
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded), 0) // too old
		if a := r.audit(); len(a.Repaired)+len(a.Stuck) > 0 {
			t.Errorf("audit: %+v", a)
		}
	})
}

func TestWhatIsNotKept(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"what failed", "fail no"},
		{"what told its flow a param", "set params.y 1"},
		{"a result that is too large", "set x " + noise(20<<10)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				for range 2 {
					b := cached(tc.text)
					b.Steps = b.Steps[:1]
					v := r.wait(r.submit(flow.Request{Plan: b}))
					r.wantCached(v, 0)
				}
			})
		})
	}
}

// TestWhatIsKeptIsThatOfItsJob: one that is gone, or was started again since, is no result.
func TestWhatIsKeptIsThatOfItsJob(t *testing.T) {
	bubble(t, func(r *rig) {
		first := r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded)
		b := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *b.Delete(first.Steps[0].Job)); err != nil {
			t.Fatal(err)
		}
		second := r.submit(flow.Request{Plan: cached("set x 7")})
		r.wantCached(r.want(second, domain.FlowSucceeded), 0)
		keys, _, err := r.board.Keys(r.ctx, 1, "ramet:cache:", "", 10)
		if err != nil || len(keys) != 1 {
			t.Fatalf("got %v, %v, want one record", keys, err)
		}
		spoilt := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *spoilt.Set(keys[0], board.Field{Name: "job", Value: "nonsense"})); err != nil {
			t.Fatal(err)
		}
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded), 0)
		recs, err := r.board.Get(r.ctx, 1, keys[0])
		if err != nil {
			t.Fatal(err)
		}
		if entry, err := layout.DecodeCacheEntry(keys[0], recs[0]); err != nil || entry.Flow == second || entry.Job == "nonsense" {
			t.Errorf("got %+v, %v, want what the last did", entry, err)
		}
	})
}

func TestAKeyOfResults(t *testing.T) {
	bubble(t, func(r *rig) {
		plan := func(value string) *domain.Blueprint {
			return blueprint(step("f", "set sum "+value), step("a", "set x 1", needs("f"), kept("v1-${needs.f.sum}", 60)))
		}
		first := r.submit(flow.Request{Plan: plan("p")})
		r.want(first, domain.FlowSucceeded)
		for value, want := range map[string]bool{"p": true, "q": false} {
			v := r.want(r.submit(flow.Request{Plan: plan(value)}), domain.FlowSucceeded, "f succeeded", "a succeeded")
			if got := v.Steps[1].Cached != nil; got != want {
				t.Errorf("sum %s: taken: %v, want %v", value, got, want)
			}
		}
		none := blueprint(step("f", ""), step("a", "set x 1", needs("f"), kept("${needs.f.sum}", 60)))
		v := r.want(r.submit(flow.Request{Plan: none}), domain.FlowErrored, "a errored")
		if !strings.Contains(v.Steps[1].Text, "cache.key: ${needs.f.sum}: the result of step f has no sum") {
			t.Errorf("got %q", v.Steps[1].Text)
		}
	})
}

// TestManyCachedSteps: steps of a large flow are taken, too, as far as there is room for them.
func TestTheStepThatARerunBeginsWithIsRun(t *testing.T) {
	bubble(t, func(r *rig) {
		b := cached("set x 7")
		b.Steps = append(b.Steps, step("c", "set y 1", needs("a"), kept("${p}", 3600)))
		first := r.submit(flow.Request{Plan: b})
		r.want(first, domain.FlowSucceeded)
		again := r.rerun(first, flow.Rerun{From: "a"})
		v := r.want(again, domain.FlowSucceeded, "a succeeded", "b succeeded", "c succeeded")
		r.wantCached(v, 0)
		if c := v.Steps[2].Cached; c == nil || c.Flow != first {
			t.Errorf("a step after it is as ever, and got %+v", v.Steps[2])
		}
		r.wantCached(r.want(r.submit(flow.Request{Plan: b}), domain.FlowSucceeded), again) // what it did is kept
	})
}

func TestManyCachedSteps(t *testing.T) {
	bubble(t, func(r *rig) {
		large := noise(10 << 10)
		plan := func() *domain.Blueprint {
			var steps []domain.Step
			for i := range 40 {
				steps = append(steps, step("s"+strconv.Itoa(i), "set x "+large, kept("k", 600)))
			}
			return blueprint(steps...)
		}
		r.want(r.submit(flow.Request{Plan: plan()}), domain.FlowSucceeded)
		v := r.want(r.submit(flow.Request{Plan: plan()}), domain.FlowSucceeded)
		taken := 0
		for _, s := range v.Steps {
			if s.Cached != nil {
				taken++
			}
		}
		if taken < 20 || taken > 25 {
			t.Errorf("%d steps of 40 with 10 KiB each were taken, want as many as fit into 256 KiB", taken)
		}
	})
}

// An entry that cannot be read costs a run, as one that is lost does.
func TestAnEntryThatIsAnotherKindOfThingCostsARun(t *testing.T) {
	bubble(t, func(r *rig) {
		r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded)
		keys, _, err := r.board.Keys(r.ctx, 1, "ramet:cache:", "", 10)
		if err != nil || len(keys) != 1 {
			t.Fatalf("got entries %v, %v, want one", keys, err)
		}
		b := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *b.Delete(keys[0]).PushLeft(keys[0], "x")); err != nil {
			t.Fatal(err)
		}
		again := r.submit(flow.Request{Plan: cached("set x 7")})
		r.wantCached(r.want(again, domain.FlowSucceeded), 0)
		r.wantCached(r.want(r.submit(flow.Request{Plan: cached("set x 7")}), domain.FlowSucceeded), again)
	})
}

// More steps end in one round than a commit has room for entries: no keeper was there meanwhile.
func TestManyStepsAreKeptAtOnce(t *testing.T) {
	plan := blueprint()
	plan.Name = "many"
	for i := range 600 {
		plan.Steps = append(plan.Steps, step(fmt.Sprint("s", i), "set x 1", kept(fmt.Sprint(i), 3600)))
	}
	unaudited(t, func(r *rig) {
		r.submit(flow.Request{Plan: plan})
		for _, do := range []func(context.Context){r.keeper, r.runner, r.keeper} {
			stop := r.run(do)
			time.Sleep(time.Minute)
			stop()
		}
		r.want(1, domain.FlowSucceeded)
		stop := r.run(func(ctx context.Context) {
			r.wg.Go(func() { r.runner(ctx) })
			r.keeper(ctx)
		})
		defer stop()
		v := r.want(r.submit(flow.Request{Plan: plan}), domain.FlowSucceeded)
		kept := 0
		for _, st := range v.Steps {
			if st.Cached != nil {
				kept++
			}
		}
		if kept < 590 { // now and then two keys have one place
			t.Errorf("%d of 600 steps are taken from the cache", kept)
		}
	})
}
