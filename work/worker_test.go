package work_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/tracing"
	"github.com/ramet-run/ramet/work"
)

// hand is a worker's own hand in the tests.
type hand struct {
	*rig
	domain.Worker
	lease time.Duration
}

func (r *rig) hand(actor domain.ActorID, name string) *hand {
	return &hand{r, domain.Worker{Context: tenant, Actor: actor, Name: name}, 30 * time.Second}
}

// mail is a type that no node serves.
func mail(id domain.JobID, text string, change ...func(*domain.Job)) *domain.Job {
	j := job(id, text, change...)
	j.ScriptType = "mail"
	return j
}

func (h *hand) ask(most int, wait time.Duration) domain.WorkerAsk {
	return domain.WorkerAsk{Types: []domain.ScriptType{"mail"}, Max: most, WaitMs: wait.Milliseconds(), LeaseMs: h.lease.Milliseconds(), Slots: 5}
}

func (h *hand) claim(most int, wait time.Duration) []domain.Assignment {
	h.Helper()
	list, err := h.engine.ClaimFor(h.ctx, h.Worker, h.ask(most, wait))
	if err != nil {
		h.Fatal(err)
	}
	return list
}

func heldOf(a domain.Assignment) domain.HeldAttempt {
	return domain.HeldAttempt{Caller: a.Job.CallerID, ID: a.Job.ID, Attempt: a.Attempt}
}

func end(a domain.Assignment, v domain.Verdict, change ...func(*domain.AttemptEnd)) domain.AttemptEnd {
	e := domain.AttemptEnd{HeldAttempt: heldOf(a), Verdict: v}
	for _, c := range change {
		c(&e)
	}
	return e
}

// finish ends one attempt.
func (h *hand) finish(e domain.AttemptEnd) (domain.AttemptEnded, error) {
	h.Helper()
	done, errs, err := h.engine.FinishFor(h.ctx, h.Worker, []domain.AttemptEnd{e})
	if err != nil {
		return domain.AttemptEnded{}, err
	}
	return done[0], errs[0]
}

func (h *hand) extend(a ...domain.Assignment) []domain.LeaseState {
	h.Helper()
	var held []domain.HeldAttempt
	for _, a := range a {
		held = append(held, heldOf(a))
	}
	states, err := h.engine.ExtendFor(h.ctx, h.Worker, h.lease, 0, held)
	if err != nil {
		h.Fatal(err)
	}
	return states
}

// known is a configuration whose nodes serve the type go alone.
func known() work.Config {
	return work.Config{Served: func(t domain.ScriptType) bool { return t == "go" }}
}

func TestWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		if got := h.claim(5, 0); len(got) != 0 {
			t.Fatalf("claimed %v of nothing", got)
		}
		r.submit(mail(1, `{"to":"x"}`), mail(2, "b"), mail(3, "c", after(1)))
		got := h.claim(5, 0)
		if len(got) != 2 || got[0].Job.Script != `{"to":"x"}` || got[0].Attempt != 1 || got[0].TimeoutMs != 3_600_000 || got[0].Job.Status != domain.JobStarted {
			t.Fatalf("got %+v", got)
		}
		done, err := h.finish(end(got[0], domain.VerdictSucceeded, func(e *domain.AttemptEnd) {
			e.Result = map[string]string{"id": "17"}
			e.Lines = []domain.LogLine{{Line: "sent"}}
		}))
		if err != nil || done.Status != domain.JobFinished {
			t.Fatalf("got %+v, %v", done, err)
		}
		if j := r.wait(1); j.Result["id"] != "17" || j.RunnerID != h.RunnerID() {
			t.Errorf("got %+v", j)
		}
		if logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 10); err != nil || len(logs) != 1 || logs[0].Line != "sent" || logs[0].Stream != "stdout" {
			t.Errorf("logs: %+v, %v", logs, err)
		}
		// Its follower comes with what it needed.
		next := h.claim(5, time.Second)
		if len(next) != 1 || next[0].Job.ID != 3 || next[0].Input.Needs["1"].Result["id"] != "17" {
			t.Fatalf("got %+v", next)
		}
		// Said again it is no error: the answer may have been lost.
		sent := func(e *domain.AttemptEnd) { e.Result = map[string]string{"id": "17"} }
		if done, err := h.finish(end(got[0], domain.VerdictSucceeded, sent)); err != nil || done.Status != domain.JobFinished {
			t.Errorf("again: %+v, %v", done, err)
		}
	})
}

// A worker of two types gets a job of the second whose key was pushed before its record
// was written.
func TestAWorkerWaitsForTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		ask := h.ask(1, time.Second)
		ask.Types = []domain.ScriptType{"post", "mail"}
		r.commit(new(board.Batch).PushLeft("queue:mail", key(1).String()))
		got := make(chan []domain.Assignment)
		go func() {
			list, err := h.engine.ClaimFor(h.ctx, h.Worker, ask)
			if err != nil {
				t.Error(err)
			}
			got <- list
		}()
		synctest.Wait()
		r.commit(new(board.Batch).Set(key(1).String(), f("script", "x"), f("script_type", "mail")))
		if list := <-got; len(list) != 1 || list[0].Job.ID != 1 {
			t.Errorf("got %+v, want job 1; it is %+v", list, r.show(1))
		}
	})
}

func TestAWorkersClaimWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0) // so that its type is known
		go func() {
			time.Sleep(7 * time.Second)
			r.submit(mail(1, "x"))
		}()
		begun := time.Now()
		if got := h.claim(1, 20*time.Second); len(got) != 1 || time.Since(begun) > 8*time.Second {
			t.Errorf("got %v after %v", got, time.Since(begun))
		}
		begun = time.Now()
		if got := h.claim(1, 20*time.Second); len(got) != 0 || time.Since(begun) != 20*time.Second {
			t.Errorf("got %v after %v", got, time.Since(begun))
		}
	})
}

func TestWhatAWorkerSaysOfAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		final := func(e *domain.AttemptEnd) { e.Final = true }
		later := func(e *domain.AttemptEnd) { e.AfterMs = 600_000 }
		for i, tt := range []struct {
			name    string
			retries uint8
			end     func(domain.Assignment) domain.AttemptEnd
			status  domain.JobStatus
			reason  domain.Reason
			next    time.Duration // at least, until it comes again
		}{
			{"failed without retries", 0, func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed) },
				domain.JobError, domain.ReasonScriptFailed, 0},
			{"errored with retries", 1, func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictErrored) },
				domain.JobStarted, domain.ReasonScriptFailed, time.Second / 2},
			{"final with retries", 1, func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed, final) },
				domain.JobError, domain.ReasonScriptFailed, 0},
			{"later", 1, func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed, later) },
				domain.JobStarted, domain.ReasonScriptFailed, 10 * time.Minute},
			{"given back", 0, func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictStopped) },
				domain.JobStarted, "", time.Nanosecond},
		} {
			id := domain.JobID(i + 1)
			r.submit(mail(id, "x", retries(tt.retries)))
			a := h.claim(1, time.Second)
			begun := time.Now()
			done, err := h.finish(tt.end(a[0]))
			if err != nil || done.Status != tt.status || done.Reason != tt.reason {
				t.Errorf("%s: got %+v, %v", tt.name, done, err)
			}
			if tt.next == 0 {
				continue
			}
			// Each claim lets virtual time pass.
			for len(a) > 0 && a[0].Attempt == 1 {
				for a = nil; len(a) == 0; {
					a = h.claim(1, 30*time.Second)
				}
			}
			if took := time.Since(begun); took < tt.next && tt.next > time.Nanosecond || a[0].Attempt != 2 {
				t.Errorf("%s: attempt %d after %v", tt.name, a[0].Attempt, took)
			}
			if _, err := h.finish(end(a[0], domain.VerdictSucceeded)); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	})
}

// A worker that dies, hangs, or comes back late: its job goes to another, and what it
// says of it is not counted.
func TestALateWorkerIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h, other := r.hand(7, "a"), r.hand(7, "b")
		h.claim(1, 0)
		r.submit(mail(1, "x"))
		a := h.claim(1, 0)
		for range 10 { // as long as it says so it has it
			time.Sleep(20 * time.Second)
			if got := h.extend(a...); got[0] != domain.LeaseRenewed {
				t.Fatalf("got %v", got)
			}
		}
		var b []domain.Assignment
		for range 5 {
			if b = other.claim(1, 30*time.Second); len(b) > 0 {
				break
			}
		}
		if len(b) != 1 || b[0].Attempt != 2 || b[0].Job.Losses != 1 {
			t.Fatalf("got %+v", b)
		}
		if got := h.extend(a...); got[0] != domain.LeaseLost {
			t.Errorf("extended: %v", got)
		}
		for name, err := range map[string]error{
			"finish":               second(h.finish(end(a[0], domain.VerdictSucceeded))),
			"log":                  r.engine.LogFor(t.Context(), h.Worker, heldOf(a[0]), []domain.LogLine{{Line: "x"}}),
			"finish of another's":  second(h.finish(end(b[0], domain.VerdictSucceeded))),
			"finish as a stranger": second(r.hand(8, "b").finish(end(b[0], domain.VerdictSucceeded))),
		} {
			if !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if _, err := other.finish(end(b[0], domain.VerdictSucceeded, func(e *domain.AttemptEnd) { e.Result = map[string]string{"by": "b"} })); err != nil {
			t.Error(err)
		}
		if j := r.wait(1); j.Result["by"] != "b" {
			t.Errorf("got %+v", j)
		}
	})
}

// Of two verdicts on one attempt the one that was not written is refused, and what stands
// is answered as often as it is asked for.
func TestAnAttemptEndsOneWay(t *testing.T) {
	result := func(text string) func(*domain.AttemptEnd) {
		return func(e *domain.AttemptEnd) { e.Result = map[string]string{"v": text} }
	}
	final := func(e *domain.AttemptEnd) { e.Final = true }
	for _, tt := range []struct {
		name          string
		retries       uint8
		first, second func(domain.Assignment) domain.AttemptEnd
		want          string // of the refusal; "" when both are answered alike
	}{
		{"failed, then succeeded", 3,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed, final) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded, result("x")) },
			"attempt 1 has ended already, as error (script_failed)"},
		{"succeeded, then failed", 0,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded, result("x")) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed) },
			"attempt 1 has ended already, as finished"},
		{"another result", 0,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded, result("x")) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded, result("y")) },
			"attempt 1 has ended already, as finished"},
		{"timed out, then succeeded", 0,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictTimeout) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded) },
			"attempt 1 has ended already, as error (timeout)"},
		{"failed and tried again, then succeeded", 1,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded) },
			"attempt 1 has failed already, and the job is tried again"},
		{"given back, then succeeded", 1,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictStopped) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded) },
			"is not this worker's any more"},
		{"succeeded twice", 0,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded, result("x")) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictSucceeded, result("x")) }, ""},
		{"failed twice", 0,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictFailed) }, ""},
		{"failed and tried again, twice", 1,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictErrored) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictErrored) }, ""},
		{"given back twice", 1,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictStopped) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictStopped) }, ""},
		{"given up twice", 1,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictLost) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictLost) }, ""},
		{"given back, then given up", 1,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictStopped) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictLost) }, ""},
		{"given up, then given back", 1,
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictLost) },
			func(a domain.Assignment) domain.AttemptEnd { return end(a, domain.VerdictStopped) }, ""},
	} {
		for _, together := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, together %v", tt.name, together), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, known())
					h := r.hand(7, "a")
					h.claim(1, 0)
					r.submit(mail(1, "x", retries(tt.retries)))
					a := h.claim(1, 0)[0]
					var done [2]domain.AttemptEnded
					var errs [2]error
					if together {
						d, e, err := r.engine.FinishFor(h.ctx, h.Worker, []domain.AttemptEnd{tt.first(a), tt.second(a)})
						if err != nil {
							t.Fatal(err)
						}
						done, errs = [2]domain.AttemptEnded(d), [2]error(e)
					} else {
						done[0], errs[0] = h.finish(tt.first(a))
						done[1], errs[1] = h.finish(tt.second(a))
					}
					if errs[0] != nil {
						t.Fatalf("the first: %v", errs[0])
					}
					if tt.want == "" {
						if errs[1] != nil || done[1] != done[0] {
							t.Errorf("the second: got %+v, %v, want %+v", done[1], errs[1], done[0])
						}
						return
					}
					if !errors.Is(errs[1], domain.ErrConflict) || !strings.Contains(errs[1].Error(), tt.want) || done[1] != (domain.AttemptEnded{}) {
						t.Errorf("the second: got %+v, %v, want %q", done[1], errs[1], tt.want)
					}
				})
			})
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestALineThatIsSentTwiceIsLoggedOnce, also with the end of the attempt, as the answer may have been lost;
// those without a number are all new.
func TestALineThatIsSentTwiceIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(1, "x", retries(1)))
		log := func(a domain.Assignment, from, to int64) (lines []domain.LogLine) {
			for n := from; n <= to; n++ {
				lines = append(lines, domain.LogLine{Line: fmt.Sprintf("%d of %d", n, a.Attempt), N: n})
			}
			return lines
		}
		send := func(a domain.Assignment, lines ...domain.LogLine) {
			t.Helper()
			if err := r.engine.LogFor(t.Context(), h.Worker, heldOf(a), lines); err != nil {
				t.Fatal(err)
			}
		}
		a := h.claim(1, 0)[0]
		send(a, log(a, 1, 3)...)
		send(a, log(a, 1, 3)...)
		send(a, log(a, 2, 5)...) // with some more
		send(a, domain.LogLine{Line: "old"})
		send(a, domain.LogLine{Line: "old"})
		send(a, domain.LogLine{Line: "6 of 1\nand more", N: 6})
		if _, err := h.finish(end(a, domain.VerdictFailed, func(e *domain.AttemptEnd) { e.Lines = log(a, 4, 7) })); err != nil {
			t.Fatal(err)
		}
		a = h.claim(1, 30*time.Second)[0]
		send(a, log(a, 1, 2)...) // another attempt has its own
		if err := r.engine.LogFor(t.Context(), h.Worker, heldOf(a), []domain.LogLine{{Line: "x", N: -1}}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("a number below 0: got %v", err)
		}
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range logs {
			if l.Stream == "stdout" {
				got = append(got, l.Line)
			}
		}
		want := []string{"1 of 1", "2 of 1", "3 of 1", "4 of 1", "5 of 1", "old", "old", "6 of 1", "and more", "7 of 1", "1 of 2", "2 of 2"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A clock that is set an hour on makes what began before it look an hour old.
func TestAWorkersTimeIsNotOverBecauseAClockWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(1, "x", func(j *domain.Job) { j.Timeout = 60 }))
		a := h.claim(1, 0)
		hourAgo := strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)
		r.commit(new(board.Batch).Set(key(1).String(), f(layout.JobStartedMs, hourAgo)))
		if got := h.extend(a...); got[0] != domain.LeaseRenewed {
			t.Errorf("got %v, want that it goes on", got)
		}
	})
}

func TestAWorkerThatLeavesIsListedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		listed := func() bool {
			recs, err := r.board.Get(t.Context(), layout.SpaceOf(tenant), layout.Runner(h.RunnerID()))
			if err != nil {
				t.Fatal(err)
			}
			return recs[0] != nil
		}
		for range 2 { // it may come again at once
			if h.claim(1, 0); !listed() {
				t.Error("a worker that asks for jobs is not listed")
			}
			r.submit(mail(1, "x"))
			a := h.claim(1, 0)
			if err := r.engine.Leave(t.Context(), h.Worker); err != nil || listed() {
				t.Errorf("a worker that has left is listed: %v", err)
			}
			for _, a := range a { // what it still asks for does not bring it back
				h.extend(a)
			}
			if listed() {
				t.Error("a worker that has left is listed again by a renewal")
			}
		}
	})
}

// Who gives itself a name that comes to the number of another's worker gets neither what only that
// worker may take, nor its place among the runners.
func TestANumberIsOneWorkersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		good, evil := r.hand(3, "good"), r.hand(7, "jtNIDf")
		if good.RunnerID() != evil.RunnerID() {
			t.Fatal("the two names have each a number of its own")
		}
		listed := func(want string) {
			t.Helper()
			recs, err := r.board.Get(t.Context(), layout.SpaceOf(tenant), layout.Runner(good.RunnerID()))
			if got := recs[0].Get(layout.RunnerWorker); err != nil || got != want {
				t.Errorf("listed is %q (%v), want %q", got, err, want)
			}
		}
		refused := func(h *hand) {
			t.Helper()
			if _, err := r.engine.ClaimFor(t.Context(), h.Worker, h.ask(1, 0)); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("a claim of %s: got %v", h.Name, err)
			}
		}
		good.claim(1, 0)
		r.submit(mail(1, "x", func(j *domain.Job) { j.ForRunner = good.RunnerID() }), mail(2, "x"))
		other := r.hand(7, "other").claim(1, 0) // 2
		for range 3 {                           // not only the first time
			refused(evil)
			time.Sleep(time.Second)
		}
		evil.extend(other...)
		listed("good")
		if err := r.engine.Leave(t.Context(), evil.Worker); err != nil {
			t.Error(err)
		}
		listed("good")
		got := good.claim(1, 0)
		if len(got) != 1 || got[0].Job.ID != 1 {
			t.Fatalf("its own job: got %v", got)
		}
		if s := evil.extend(got...); s[0] != domain.LeaseLost {
			t.Errorf("the other renews its lease: %v", s)
		}
		if _, err := evil.finish(end(got[0], domain.VerdictSucceeded)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("the other ends its job: %v", err)
		}
		if _, err := good.finish(end(got[0], domain.VerdictSucceeded)); err != nil {
			t.Error(err)
		}
		if err := r.engine.Leave(t.Context(), good.Worker); err != nil {
			t.Error(err)
		}
		listed("")
		evil.claim(1, 0) // its number is free again
		listed("jtNIDf")
		refused(good)
	})
}

// What only one worker may take is handed to nobody who had its number before, in a claim that waits or at a
// node that has not heard of the change.
func TestWhatIsForAWorkerGoesToWhoHasItsNumber(t *testing.T) {
	for name, nodes := range map[string]int{"a claim that waits": 1, "another node": 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, known())
				there := *r
				if nodes > 1 {
					there.engine = work.New(r.board, known())
				}
				evil, good := r.hand(7, "jtNIDf"), there.hand(3, "good")
				evil.claim(1, 0)
				claimed := make(chan error, 1)
				late := func() {
					list, err := r.engine.ClaimFor(t.Context(), evil.Worker, evil.ask(1, 5*time.Second))
					if len(list) > 0 {
						t.Errorf("the other worker was given %s", list[0].Job.Key())
					}
					claimed <- err
				}
				if nodes == 1 {
					go late()
					synctest.Wait()
				}
				if err := there.engine.Leave(t.Context(), evil.Worker); err != nil {
					t.Fatal(err)
				}
				good.claim(1, 0)
				r.submit(mail(1, "x", func(j *domain.Job) { j.ForRunner = good.RunnerID() }))
				if nodes > 1 {
					late()
				}
				if err := <-claimed; !errors.Is(err, domain.ErrConflict) {
					t.Errorf("the other's claim: got %v, want a conflict", err)
				}
				if list := good.claim(1, 0); len(list) != 1 || list[0].Job.ID != 1 {
					t.Errorf("its own claim: got %v", list)
				}
			})
		})
	}
}

// A worker that left at one node and comes again at another has what is for it alone, and is listed with that.
func TestAWorkerThatCameAgainHasItsNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		there := *r
		there.engine = work.New(r.board, known())
		h := r.hand(3, "good")
		h.claim(1, 0)
		if err := there.engine.Leave(t.Context(), h.Worker); err != nil {
			t.Fatal(err)
		}
		r.submit(mail(1, "x", func(j *domain.Job) { j.ForRunner = h.RunnerID() }))
		if list := h.claim(1, 0); len(list) != 1 {
			t.Errorf("got %v", list)
		}
		recs, err := r.board.Get(t.Context(), layout.SpaceOf(tenant), layout.Runner(h.RunnerID()))
		if err != nil || recs[0].Get(layout.RunnerWorker) != "good" {
			t.Errorf("listed is %v, %v", recs[0], err)
		}
	})
}

// between is a board where somebody is quicker whenever the record of a worker is to be new.
type between struct {
	board.Board
	quicker func()
}

func (b *between) Commit(ctx context.Context, batch board.Batch) error {
	if quicker := b.quicker; quicker != nil && len(batch.Guards) > 0 && batch.Guards[0].Kind == board.GuardAbsent {
		b.quicker = nil
		quicker()
	}
	return b.Board.Commit(ctx, batch)
}

// A worker has more than one claim at once, through several nodes: each writes the same record down.
func TestAWorkersFirstClaimsAtOnceAreItsOwn(t *testing.T) {
	for _, tt := range []struct {
		name  string
		actor domain.ActorID
		say   string
		want  error
	}{{"the same worker", 3, "good", nil}, {"another one", 7, "jtNIDf", domain.ErrConflict}} {
		t.Run(tt.name, func(t *testing.T) {
			b := &between{Board: memboard.Open()}
			r := &rig{T: t, board: b, engine: work.New(b, known()), ctx: t.Context()}
			first := r.hand(tt.actor, tt.say)
			b.quicker = func() { first.claim(1, 0) }
			h := r.hand(3, "good")
			if _, err := r.engine.ClaimFor(t.Context(), h.Worker, h.ask(1, 0)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if b.quicker != nil {
				t.Error("nobody was quicker")
			}
		})
	}
}

// A worker that a node of an older version wrote down is known again.
func TestAWorkerWithoutAnActorIsItsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h, b := r.hand(7, "a"), board.Batch{Space: layout.SpaceOf(tenant)}
		key := layout.Runner(h.RunnerID())
		if err := r.board.Commit(t.Context(), *b.Set(key, board.Field{Name: layout.RunnerWorker, Value: "a"})); err != nil {
			t.Fatal(err)
		}
		h.claim(1, 0)
		recs, err := r.board.Get(t.Context(), layout.SpaceOf(tenant), key)
		if err != nil || recs[0].Get(layout.RunnerActor) != "7" {
			t.Errorf("got %v, %v", recs[0], err)
		}
	})
}

func TestAWorkerHearsOfACancelAndOfItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		short := func(j *domain.Job) { j.Timeout = 60 }
		r.submit(mail(1, "x"), mail(2, "y", short), mail(3, "z", short))
		a := h.claim(3, 0)
		if _, err := r.engine.Cancel(t.Context(), tenant, key(1), 1); err != nil {
			t.Fatal(err)
		}
		if got := h.extend(a...); !slices.Equal(got, []domain.LeaseState{domain.LeaseCancelled, domain.LeaseRenewed, domain.LeaseRenewed}) {
			t.Errorf("got %v", got)
		}
		if done, err := h.finish(end(a[0], domain.VerdictStopped)); err != nil || done.Reason != domain.ReasonCancelled {
			t.Errorf("got %+v, %v", done, err)
		}
		for range 4 {
			time.Sleep(16 * time.Second)
			h.extend(a[1:]...)
		}
		if got := h.extend(a[1:]...); got[0] != domain.LeaseTimeout {
			t.Errorf("got %v", got)
		}
		if done, err := h.finish(end(a[1], domain.VerdictTimeout)); err != nil || done.Reason != domain.ReasonTimeout {
			t.Errorf("got %+v, %v", done, err)
		}
		// One that does not listen loses the job in the end, however often it extends.
		for range 3 {
			time.Sleep(16 * time.Second)
			h.extend(a[2])
		}
		if j := r.wait(3); j.Reason != domain.ReasonTimeout {
			t.Errorf("got %+v", j)
		}
	})
}

func TestAWorkersJobsAreItsContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		if _, err := r.engine.Submit(t.Context(), tenant, []*domain.Job{mail(1, "x")}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.engine.Show(t.Context(), tenant, key(1)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a job of a type that nobody has asked for: got %v", err)
		}
		h.claim(1, 0)
		r.submit(mail(1, "x"))
		elsewhere := *h
		elsewhere.Context = 2
		if got := elsewhere.claim(5, time.Second); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
		receipts, err := r.engine.Submit(t.Context(), 3, []*domain.Job{{ID: 1, CallerID: 1, Script: "x", ScriptType: "mail"}})
		if err != nil || !errors.Is(receipts[0].Err, domain.ErrInvalid) {
			t.Errorf("got %+v, %v", receipts, err)
		}
		// It is seen among those who take its jobs.
		x, err := r.engine.Explain(t.Context(), tenant, key(1))
		if err != nil || strings.Contains(x.Text, "no node") {
			t.Errorf("got %+v, %v", x, err)
		}
		time.Sleep(time.Minute)
		if x, err = r.engine.Explain(t.Context(), tenant, key(1)); err != nil || !strings.Contains(x.Text, "serves mail") {
			t.Errorf("got %+v, %v", x, err)
		}
	})
}

func TestALogOfAWorkerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := known()
		cfg.LogBytes = 10_000
		r := newRig(t, cfg)
		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(1, "x"))
		a := h.claim(1, 0)
		for i := range 30 {
			if err := r.engine.LogFor(t.Context(), h.Worker, heldOf(a[0]), []domain.LogLine{{Line: fmt.Sprint(i, strings.Repeat("x", 900))}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.finish(end(a[0], domain.VerdictSucceeded)); err != nil {
			t.Fatal(err)
		}
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 100)
		if err != nil || len(logs) != 10 || !strings.HasPrefix(logs[9].Line, "log cut") {
			t.Errorf("%d lines, %v", len(logs), err)
		}
	})
}

func TestWhatAWorkerMayNotAsk(t *testing.T) {
	r := newRig(t, known())
	w := domain.Worker{Context: tenant, Actor: 7, Name: "a"}
	ask := func(change func(*domain.WorkerAsk)) error {
		a := domain.WorkerAsk{Types: []domain.ScriptType{"mail"}}
		change(&a)
		return second(r.engine.ClaimFor(context.Background(), w, a))
	}
	many := make([]domain.ScriptType, domain.MaxWorkerTypes+1)
	for name, err := range map[string]error{
		"no types":    ask(func(a *domain.WorkerAsk) { a.Types = nil }),
		"many types":  ask(func(a *domain.WorkerAsk) { a.Types = many }),
		"a bad type":  ask(func(a *domain.WorkerAsk) { a.Types[0] = "Mail!" }),
		"effects":     ask(func(a *domain.WorkerAsk) { a.Types[0] = domain.ScriptEffect }),
		"too many":    ask(func(a *domain.WorkerAsk) { a.Max = 1000 }),
		"for ever":    ask(func(a *domain.WorkerAsk) { a.LeaseMs = 1 << 40 }),
		"a long wait": ask(func(a *domain.WorkerAsk) { a.WaitMs = 1 << 40 }),
		"no name":     second(r.engine.ClaimFor(context.Background(), domain.Worker{Context: 1, Actor: 7}, domain.WorkerAsk{Types: []domain.ScriptType{"mail"}})),
		"a bad name": second(r.engine.ClaimFor(context.Background(), domain.Worker{Context: 1, Actor: 7, Name: "a b"},
			domain.WorkerAsk{Types: []domain.ScriptType{"mail"}})),
		"no jobs":      second(r.engine.ExtendFor(context.Background(), w, time.Minute, 0, nil)),
		"a bad wait":   second(r.engine.ExtendFor(context.Background(), w, time.Minute, time.Hour, []domain.HeldAttempt{{}})),
		"a bad lease":  second(r.engine.ExtendFor(context.Background(), w, time.Hour, 0, []domain.HeldAttempt{{}})),
		"a long line":  r.engine.LogFor(context.Background(), w, domain.HeldAttempt{}, []domain.LogLine{{Line: strings.Repeat("x", 1<<20)}}),
		"a bad stream": r.engine.LogFor(context.Background(), w, domain.HeldAttempt{}, []domain.LogLine{{Stream: "ramet"}}),
	} {
		if !errors.Is(err, domain.ErrInvalid) && !errors.Is(err, domain.ErrLimit) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Types that nobody serves any more, and no job is of, do not keep others from being known.
func TestTypesThatNobodyUsesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		name := func(i int) domain.ScriptType { return domain.ScriptType(fmt.Sprintf("t%d", i)) }
		var types []domain.ScriptType
		for i := range domain.MaxContextTypes {
			types = append(types, name(i))
		}
		register := func(types ...domain.ScriptType) error { return r.engine.RegisterTypes(t.Context(), tenant, types) }
		if err := register(types...); err != nil {
			t.Fatal(err)
		}
		one := mail(1, "x")
		one.ScriptType = name(3)
		r.submit(one)
		claim := func(t domain.ScriptType) error {
			w := domain.Worker{Context: tenant, Actor: 7, Name: "a"}
			return second(r.engine.ClaimFor(context.Background(), w, domain.WorkerAsk{Types: []domain.ScriptType{t}}))
		}
		if err := claim(name(5)); err != nil {
			t.Fatal(err)
		}
		if err := register("new"); err != nil {
			t.Fatalf("one more: %v", err)
		}
		all, err := r.board.Members(t.Context(), layout.SpaceOf(tenant), layout.RegisteredTypes, "", domain.MaxContextTypes)
		if want := []string{"new", string(name(3)), string(name(5))}; err != nil || !slices.Equal(slices.Sorted(slices.Values(all)), want) {
			t.Errorf("got %v, %v, want %v", all, err, want)
		}
	})
}

// Whoever may only claim neither takes back what was registered, nor keeps it from being.
func TestClaimsLeaveRoomForWhatIsRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		register := func(s domain.ScriptType) {
			t.Helper()
			if err := r.engine.RegisterTypes(t.Context(), tenant, []domain.ScriptType{s}); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
		register("solo")
		n := 0
		claims := func() (err error) { // each worker lives for ten minutes, and keeps its types
			for round := 0; err == nil && round < 20; round++ {
				ask := domain.WorkerAsk{}
				for range domain.MaxWorkerTypes {
					n++
					ask.Types = append(ask.Types, domain.ScriptType(fmt.Sprintf("t%d", n)))
				}
				_, err = r.engine.ClaimFor(t.Context(), domain.Worker{Context: tenant, Actor: 7, Name: fmt.Sprintf("w%d", n)}, ask)
			}
			return err
		}
		if err := claims(); !errors.Is(err, domain.ErrLimit) {
			t.Fatalf("got %v", err)
		}
		register("t1") // known by claims alone so far
		register("another")
		time.Sleep(15 * time.Minute) // those workers are gone, and make room for what is claimed now
		if err := claims(); !errors.Is(err, domain.ErrLimit) {
			t.Fatalf("got %v", err)
		}
		for i, s := range []domain.ScriptType{"solo", "t1", "another"} {
			j := mail(domain.JobID(i+1), "x")
			j.ScriptType = s
			r.submit(j)
		}
	})
}

// What one node takes back is known at the others no more within seconds, and may be named again at each.
func TestTypesThatAreTakenBackAreUnknownEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		there := *r
		there.engine = work.New(r.board, known())
		register := func(e *work.Engine, types ...domain.ScriptType) {
			t.Helper()
			if err := e.RegisterTypes(t.Context(), tenant, types); err != nil {
				t.Fatal(err)
			}
		}
		takes := func(e *work.Engine, id domain.JobID) bool {
			j := mail(id, "x")
			j.ScriptType = "stale"
			receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{j})
			if err != nil {
				t.Fatal(err)
			}
			return receipts[0].Err == nil
		}
		register(r.engine, "stale")
		register(there.engine, "stale")
		for i := range domain.MaxContextTypes {
			register(r.engine, domain.ScriptType(fmt.Sprintf("t%d", i)))
		}
		time.Sleep(6 * time.Second)
		if takes(r.engine, 1) || takes(there.engine, 1) {
			t.Error("a node takes jobs of a type that was taken back")
		}
		time.Sleep(time.Minute) // until some may be taken back again
		register(there.engine, "stale")
		if !takes(there.engine, 2) || !takes(r.engine, 3) {
			t.Error("a node does not know what was registered again")
		}
	})
}

func TestAClaimBringsNoMoreThanItCanCarry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		large := strings.Repeat("x", 500<<10)
		for i := range 50 {
			r.submit(mail(domain.JobID(i+1), large))
		}
		got := map[domain.JobID]int64{}
		for round := 0; len(got) < 50; round++ {
			list := h.claim(50, time.Second)
			if len(list) > 40 || len(list) == 0 {
				t.Fatalf("got %d at once", len(list))
			}
			for _, a := range list {
				got[a.Job.ID] = a.Attempt
				if a.Job.Losses+a.Job.Failures != 0 {
					t.Errorf("job %d has lost something: %+v", a.Job.ID, a.Job)
				}
				if _, err := h.finish(end(a, domain.VerdictSucceeded)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func TestWhoHasAnotherNameEachTimeIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		var err error
		n := 0
		for ; err == nil && n < 20_000; n++ {
			_, err = r.engine.ClaimFor(t.Context(), domain.Worker{Context: tenant, Actor: 7, Name: fmt.Sprint("w", n)},
				domain.WorkerAsk{Types: []domain.ScriptType{"go"}})
		}
		if !errors.Is(err, domain.ErrExhausted) || n < 2500 {
			t.Errorf("after %d names: %v", n, err)
		}
		time.Sleep(11 * time.Minute)
		r.hand(7, "another").claim(1, 0)
	})
}

// What a function calls belongs to the trace of its job, under the span of the attempt.
func TestAWorkerIsToldTheTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0) // so that its type is known
		const trace = "0af7651916cd43dd8448eb211c80319c"
		traced := mail(1, "x", func(j *domain.Job) { j.TraceID = trace })
		r.submit(traced)
		r.submit(mail(2, "y"))
		for _, a := range h.claim(2, 0) {
			want := ""
			if a.Job.ID == 1 {
				want = tracing.Header(trace, tracing.Attempt(tenant, traced, 1))
			}
			if a.TraceParent != want {
				t.Errorf("job %d: got %q, want %q", a.Job.ID, a.TraceParent, want)
			}
		}
	})
}

// TestLinesThatWereOvertakenAreLogged, also with the end of the attempt: requests that are made beside each other have no order.
func TestLinesThatWereOvertakenAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(1, "x", retries(1)))
		a := h.claim(1, 0)[0]
		lines := func(numbers ...int64) (list []domain.LogLine) {
			for _, n := range numbers {
				list = append(list, domain.LogLine{Line: fmt.Sprint(n), N: n})
			}
			return list
		}
		for _, part := range [][]int64{{1}, {5, 6}, {2, 3}, {5, 6}, {2}, {9, 9, 8}} {
			if err := r.engine.LogFor(t.Context(), h.Worker, heldOf(a), lines(part...)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.finish(end(a, domain.VerdictSucceeded, func(e *domain.AttemptEnd) { e.Lines = lines(4, 9, 7, 10) })); err != nil {
			t.Fatal(err)
		}
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range logs {
			if l.Stream == "stdout" {
				got = append(got, l.Line)
			}
		}
		if diff := cmp.Diff(strings.Fields("1 5 6 2 3 9 8 4 7 10"), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAnEndIsTakenWhateverNumbersItsLinesHave: it would come again as it is, until the lease was over. The log says that lines
// are missing.
func TestAnEndIsTakenWhateverNumbersItsLinesHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(1, "x", retries(1)))
		a := h.claim(1, 0)[0]
		if _, err := h.finish(end(a, domain.VerdictFailed, func(e *domain.AttemptEnd) {
			e.Lines = []domain.LogLine{{Line: "first", N: 1}, {Line: "lost", N: 1_795_000_000},
				{Line: "lost", N: 1_795_000_001}, {Line: "last", N: 2}, {Line: "lost", N: math.MaxInt64}}
		})); err != nil {
			t.Fatal(err)
		}
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range logs {
			got = append(got, l.Line)
		}
		want := []string{"first", "2 lines are missing here: their n are too far beyond the last that came", "last",
			"1 line is missing here: its n is too far beyond the last that came"}
		if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestANumberThatNoLineCanHaveIsRefused: lines that follow would be taken for seen.
// A worker that could send nothing for long leaves some out.
func TestANumberThatNoLineCanHaveIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(1, "x", retries(1)))
		a := h.claim(1, 0)[0]
		for _, l := range []struct {
			n    int64
			fits bool
		}{{1, true}, {math.MaxInt64, false}, {1 << 31, false}, {1_795_000_000, false}, {domain.MaxLogGap + 2, false},
			{2, true}, {domain.MaxLogGap + 2, true}, {domain.MaxLogGap + 3, true}} {
			line := domain.LogLine{Line: fmt.Sprint(l.n), N: l.n}
			if err := r.engine.LogFor(t.Context(), h.Worker, heldOf(a), []domain.LogLine{line}); l.fits && err != nil || !l.fits && !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("number %d: got %v, want it taken: %v", l.n, err, l.fits)
			}
		}
		logs, err := r.engine.Logs(t.Context(), tenant, key(1), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range logs {
			if l.Stream == "stdout" {
				got = append(got, l.Line)
			}
		}
		if diff := cmp.Diff([]string{"1", "2", fmt.Sprint(int64(domain.MaxLogGap + 2)), fmt.Sprint(int64(domain.MaxLogGap + 3))}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Where a board was set back, a job may have the number of one that a worker has in hand, and the worker that one, too:
// nothing that it says of the old one counts for the new one.
func TestAWorkerTellsAJobFromTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0) // makes the type known
		r.submit(mail(1, "old"), mail(2, "other"))
		old := h.claim(1, 0)[0]
		if old.Job.StartedMs == 0 {
			t.Fatal("a claim does not say when the attempt began")
		}
		saying := func(a domain.Assignment) domain.HeldAttempt {
			held := heldOf(a)
			held.StartedMs = a.Job.StartedMs
			return held
		}
		step := func(a domain.Assignment, asked int64, name string) error {
			request := fmt.Appendf(nil, `{"do":"step","name":%q}`, name)
			return second(r.engine.StepFor(t.Context(), h.Worker, domain.WorkerStep{HeldAttempt: saying(a), Asked: asked, Request: request}))
		}
		finish := func(a domain.Assignment, v domain.Verdict) error {
			return second(h.finish(end(a, v, func(e *domain.AttemptEnd) { e.HeldAttempt = saying(a) })))
		}
		if err := step(old, 0, "charge"); err != nil {
			t.Fatal(err)
		}
		b := &board.Batch{}
		b.Delete("job:1:1").Delete(layout.Steps(key(1)))
		if r.commit(b); len(h.claim(1, 0)) != 1 { // 2; the lease of 1 has gone with its record
			t.Fatal("no job")
		}
		time.Sleep(time.Second)
		r.submit(mail(1, "new"))
		now := h.claim(1, 0)[0]
		if now.Attempt != old.Attempt || now.Job.Script != "new" {
			t.Fatalf("got attempt %d of %q", now.Attempt, now.Job.Script)
		}
		states, err := r.engine.ExtendFor(t.Context(), h.Worker, h.lease, 0, []domain.HeldAttempt{saying(old), saying(now), heldOf(now)})
		if want := []domain.LeaseState{domain.LeaseLost, domain.LeaseRenewed, domain.LeaseRenewed}; err != nil || !slices.Equal(states, want) {
			t.Errorf("renewed: %v, %v, want %v", states, err, want)
		}
		log := func(a domain.Assignment) error {
			return r.engine.LogFor(t.Context(), h.Worker, saying(a), []domain.LogLine{{Line: "x"}})
		}
		refused := map[string]error{"its line": log(old), "its end": finish(old, domain.VerdictSucceeded), "its failure": finish(old, domain.VerdictFailed)}
		for what, err := range refused {
			if !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s: got %v", what, err)
			}
		}
		_ = step(old, 1, "ship")
		if items, err := r.board.List(t.Context(), layout.SpaceOf(tenant), layout.Steps(key(1)), 0, 10); err != nil || len(items) != 0 {
			t.Errorf("the new one remembers %v, %v", items, err)
		}
		if err := errors.Join(step(now, 0, "charge"), log(now), finish(now, domain.VerdictSucceeded), finish(now, domain.VerdictSucceeded)); err != nil {
			t.Error(err)
		}
		if err := finish(old, domain.VerdictSucceeded); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("the old one's end, when the new one has ended: got %v", err)
		}
	})
}
