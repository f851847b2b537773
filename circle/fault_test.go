package circle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// deadClaim takes a task as a worker would that dies at once.
func (r *rig) deadClaim() board.Claimed {
	r.Helper()
	got, err := r.board.Claim(r.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{queue.Circle(club)}}}, Max: 1, Owner: "dead/x",
		Lease: 30 * time.Second,
		Mark:  []board.Field{{Name: layout.TaskStatus, Value: "processing"}}})
	if err != nil || len(got) != 1 {
		r.Fatalf("claim: got %v, %v", got, err)
	}
	return got[0]
}

func TestALostWorkerLosesNothing(t *testing.T) {
	bubble(t, func(r *rig) {
		r.write("t1", "script", "ATTEMPT", "reply_to", "rhai_reply:a")
		r.push("t1")
		lost := r.deadClaim()
		r.recoverer()
		r.worker()
		if got := r.wait("t1"); got.Output != "2" || got.Losses != 1 {
			r.Errorf("got %+v, want the second attempt after one loss", got)
		}
		// The dead worker comes back to life: its end is refused.
		late := board.Batch{Space: lost.Space}
		late.Held(lost.Item, "dead/x", lost.Token).PushLeft("rhai_reply:a", "late")
		if err := r.board.Commit(r.Context(), late); !errors.Is(err, domain.ErrConflict) {
			r.Errorf("late end: got %v, want a conflict", err)
		}
		if r.reply("rhai_reply:a")["output"] != "2" {
			r.Error("not one reply")
		}
	})
}

// TestWhatCannotGoBackIsTold: something else lies where its circle was, when its worker
// is lost, or is told to stop.
func TestWhatCannotGoBackIsTold(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(r *rig, spoil func())
	}{
		{"lost", func(r *rig, spoil func()) {
			r.deadClaim()
			spoil()
			r.recoverer()
		}},
		{"drained", func(r *rig, spoil func()) {
			stop := r.worker(func(c *circle.WorkerConfig) { c.Grace = time.Second })
			synctest.Wait()
			spoil()
			if err := stop(); err != nil {
				r.Errorf("drain: %v", err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.write("t1", "script", "sleep(1000)", "reply_to", "rhai_reply:a")
				r.push("t1")
				tt.lose(r, func() {
					r.commit(new(board.Batch).Delete("rhai_tasks:friends").Set("rhai_tasks:friends", board.Field{Name: "a", Value: "b"}))
				})
				got := r.wait("t1")
				if got.Status != domain.TaskError || !strings.HasPrefix(got.Error, "it could not go back into its circle: ") {
					r.Errorf("got %+v", got)
				}
				if told := r.reply("rhai_reply:a"); told["error"] != got.Error {
					r.Errorf("reply: got %v", told)
				}
			})
		})
	}
}

// TestAReplyThatCannotBeToldHoldsNoTask: something else lies where the reply of a task
// would go that was lost too often.
func TestAReplyThatCannotBeToldHoldsNoTask(t *testing.T) {
	bubble(t, func(r *rig) {
		r.write("t1", "script", "1", "reply_to", "rhai_reply:a", "losses", strconv.Itoa(domain.DefaultLosses-1))
		r.push("t1")
		r.deadClaim()
		r.commit(new(board.Batch).Set("rhai_reply:a", board.Field{Name: "a", Value: "b"}))
		r.recoverer()
		time.Sleep(time.Minute)
		if got := r.record("t1"); got.Get("status") != "error" || !strings.Contains(got.Get("error"), "the worker was lost ") {
			r.Errorf("got %v, want it ended", got)
		}
	})
}

func TestExplainTellsALeaseThatRanOut(t *testing.T) {
	bubble(t, func(r *rig) {
		r.submit("t1", "1")
		r.deadClaim()
		time.Sleep(31 * time.Second)
		x, err := r.engine.Explain(r.Context(), home, "t1")
		if err != nil || x.Standing != domain.StandingLeased || x.NextMs != 0 ||
			!strings.HasPrefix(x.Text, "dead/x took it (attempt 1) and is gone, paused or cut off: its lease ran out at 2") {
			r.Errorf("got %+v, %v", x, err)
		}
	})
}

func TestWhatComesBackGoesFirst(t *testing.T) {
	bubble(t, func(r *rig) {
		for _, id := range []string{"t1", "t2", "t3"} {
			r.write(id, "script", fmt.Sprintf("say(%q)", id))
			r.push(id)
		}
		r.deadClaim()
		r.recoverer()
		time.Sleep(31 * time.Second)
		r.worker(func(c *circle.WorkerConfig) { c.Slots = 1 })
		r.wait("t3")
		if diff := cmp.Diff([]string{"t1", "t2", "t3"}, r.heard()); diff != "" {
			r.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestALeaseThatWasRenewedIsLeftAlone(t *testing.T) {
	bubble(t, func(r *rig) {
		r.write("t1", "script", "1")
		r.push("t1")
		got := r.deadClaim()
		ours, err := r.engine.RecoverLease(r.Context(), board.Lease{Space: got.Space, Item: got.Item, Owner: "dead/x", Token: got.Token})
		if !ours || err != nil || len(r.list("rhai_tasks:"+club)) != 0 || r.record("t1").Get("losses") != "" {
			r.Errorf("got %v, %v, %v", ours, err, r.record("t1"))
		}
	})
}

// TestAScriptStopsWhenItsLeaseCannotBeRenewed, because then another may begin.
func TestAScriptStopsWhenItsLeaseCannotBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := faultboard.New(memboard.Open(), faultboard.Config{})
		defer b.Close()
		r := &rig{T: t, board: b, engine: circle.New(b, circle.Config{})}
		r.worker()
		r.submit("t1", `say("begun"); sleep(20); say("still here"); sleep(9); say("too late")`)
		synctest.Wait()
		b.Cut()
		time.Sleep(time.Minute)
		b.Heal()
		if diff := cmp.Diff([]string{"begun", "still here"}, r.heard()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestATaskThatIsWrittenAsItIsDropped is run: its writer was slow.
func TestATaskThatIsWrittenAsItIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memboard.Open()
		late := sync.OnceFunc(func() {
			b := board.Batch{Space: layout.SpaceOf(home)}
			b.Set("rhai_task_details:t1", board.Field{Name: "script", Value: "42"})
			if err := inner.Commit(t.Context(), b); err != nil {
				t.Error(err)
			}
		})
		b := faultboard.New(inner, faultboard.Config{Before: func(_ context.Context, c faultboard.Call) error {
			if c.Batch != nil && len(c.Batch.Guards) > 1 && c.Batch.Guards[1].Field == "script" {
				late()
			}
			return nil
		}})
		defer b.Close()
		r := &rig{T: t, board: b, engine: circle.New(b, circle.Config{})}
		r.worker()
		r.push("t1")
		time.Sleep(10 * time.Second)
		if got := r.record("t1"); got.Get("output") != "42" {
			t.Errorf("got %v", got)
		}
	})
}

func TestAScriptThatKillsItsNodeEnds(t *testing.T) {
	for _, where := range []string{"foreign", "ours"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, circle.Config{MaxLosses: 3})
				if where == "ours" {
					task := &domain.Task{ID: "t1", Circle: club, Script: "1", ReplyToQueue: "rhai_reply:a"}
					if _, err := r.engine.Submit(r.Context(), home, task); err != nil {
						r.Fatal(err)
					}
				} else {
					r.write("t1", "script", "1", "reply_to", "rhai_reply:a")
					r.push("t1")
				}
				r.recoverer()
				for range 3 {
					synctest.Wait()
					r.deadClaim()
					time.Sleep(31 * time.Second)
				}
				want := "the worker was lost 3 times, last dead/x; does the script kill its node?"
				if got := r.wait("t1"); got.Status != domain.TaskError || got.Error != want || got.LeaseOwner != "" {
					r.Errorf("got %+v", got)
				}
				if got := r.reply("rhai_reply:a"); got["error"] != want {
					r.Errorf("got %v", got)
				}
				if live, err := r.board.Live(r.Context(), layout.SpaceOf(home), board.LiveItem{}, 10); err != nil || len(live) != 0 {
					r.Errorf("still alive: %v, %v", live, err)
				}
			})
		})
	}
}

func TestALeaseOnWhatIsGone(t *testing.T) {
	bubble(t, func(r *rig) {
		r.write("t1", "script", "1")
		r.push("t1", "ghost")
		r.deadClaim()
		r.deadClaim()
		r.recoverer()
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if got := r.list("rhai_tasks:" + club); len(got) != 2 {
			r.Errorf("got %v, want both back", got)
		}
		if ours, err := r.engine.RecoverLease(r.Context(), board.Lease{Space: 1, Item: "job:1:2"}); ours || err != nil {
			r.Errorf("a job's lease: got %v, %v", ours, err)
		}
	})
}

func TestADrainWithoutABoardIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memboard.Open()
		b := faultboard.New(inner, faultboard.Config{})
		defer b.Close()
		r := &rig{T: t, board: b, engine: circle.New(b, circle.Config{})}
		stop := r.worker()
		r.submit("t1", "sleep(600)")
		synctest.Wait()
		b.Cut()
		began := time.Now()
		err := stop()
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "1 task(s) of circles in hand were not given back") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 16*time.Second {
			t.Errorf("it took %v, want less than 16s", took)
		}
		b.Heal()
	})
}

// TestFaults: workers die between any two steps, calls fail, answers are lost.
// Every task ends once, with one reply, and nothing is left.
func TestFaults(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { faults(t, seed) })
		})
	}
}

func faults(t *testing.T, seed uint64) {
	const tasks = 150
	luck := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, circle.Config{MaxLosses: 1000, Retention: 1000 * time.Hour, ReplyExpiry: 1000 * time.Hour})
	r.recoverer()
	var lives sync.WaitGroup
	ctx, end := context.WithCancel(t.Context())
	for n := range 3 {
		node := fmt.Sprintf("n%d", n)
		luck := rand.New(rand.NewPCG(seed, uint64(10+n)))
		lives.Go(func() {
			for life := 0; ctx.Err() == nil; life++ {
				r.live(ctx, fmt.Sprintf("%s/%d", node, life), luck)
			}
		})
	}
	for i := range tasks {
		id := fmt.Sprintf("t%d", i)
		text := fmt.Sprintf("sleep(%d); %d", luck.IntN(3), i)
		if i%3 == 0 {
			r.push(id) // as in the seed's diagram
			time.Sleep(time.Duration(luck.IntN(20)) * time.Millisecond)
			r.write(id, "script", text, "reply_to", "rhai_reply:"+id)
		} else if i%3 == 1 {
			r.write(id, "script", text, "reply_to_queue", "rhai_reply:"+id)
			r.push(id)
		} else if _, err := r.engine.Submit(t.Context(), home, &domain.Task{ID: id, Circle: club, Script: text, ReplyToQueue: "rhai_reply:" + id}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(luck.IntN(200)) * time.Millisecond)
	}
	for i := range tasks {
		id := fmt.Sprintf("t%d", i)
		if got := r.wait(id); got.Status != domain.TaskCompleted || got.Output != fmt.Sprint(i) || got.LeaseOwner != "" {
			t.Errorf("got %+v", got)
		}
		want := map[string]string{"task_id": id, "status": "completed", "output": fmt.Sprint(i)}
		if diff := cmp.Diff(want, r.reply("rhai_reply:"+id)); diff != "" {
			t.Errorf("reply (-want +got):\n%s", diff)
		}
	}
	end()
	lives.Wait()
	if live, err := r.board.Live(t.Context(), layout.SpaceOf(home), board.LiveItem{}, 10); err != nil || len(live) != 0 {
		t.Errorf("still alive: %v, %v", live, err)
	}
	if got := r.list("rhai_tasks:" + club); len(got) != 0 {
		t.Errorf("still queued: %v", got)
	}
}

// live is one life of a worker behind a board with faults, cut off at last.
func (r *rig) live(ctx context.Context, owner string, luck *rand.Rand) {
	b := faultboard.New(r.board, faultboard.Config{Seed: luck.Uint64(), Refuse: 0.03, Lose: 0.05, Delay: 20 * time.Millisecond})
	w := circle.NewWorker(circle.New(b, circle.Config{MaxLosses: 1000, Retention: 1000 * time.Hour, ReplyExpiry: 1000 * time.Hour}), circle.WorkerConfig{
		Circles: []domain.ServedCircle{{Name: club, Context: home}}, Owner: owner, Slots: 8, Runtime: r.runtime(), Lease: 5 * time.Second, Grace: time.Millisecond})
	life, die := context.WithTimeout(ctx, time.Duration(1+luck.IntN(10000))*time.Millisecond)
	defer die()
	ended := make(chan struct{})
	go func() { defer close(ended); _ = w.Run(life) }()
	<-life.Done()
	if ctx.Err() == nil && luck.IntN(3) > 0 {
		b.Cut() // kill -9, as far as the board can see
	}
	<-ended
}
