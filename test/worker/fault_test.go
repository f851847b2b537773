package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
)

// TestWorkersThatDoWrong has workers that end what they do not have, come late, come twice and
// want too much. The doors are those of one node, and of two nodes on one store.
func TestWorkersThatDoWrong(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		n := startNode(t, "")
		doWrong(t, n, n)
	})
	t.Run("two nodes on Redis", func(t *testing.T) {
		config := "board: " + redistest.Start(t).URL() + "\n"
		n := startNode(t, config)
		doWrong(t, n, secondNode(t, n, config))
	})
}

// hand is a worker that does what it is told.
type hand struct {
	*testing.T
	c     *client.Client
	lease time.Duration
	domain.Worker
}

func (h hand) claim(most int, wait time.Duration) []domain.Assignment {
	h.Helper()
	jobs, err := h.c.ClaimWork(h.T.Context(), h.Worker, domain.WorkerAsk{Types: []domain.ScriptType{"mail"}, Max: most, LeaseMs: h.lease.Milliseconds(),
		WaitMs: wait.Milliseconds()})
	if err != nil {
		h.Fatal(err)
	}
	return jobs
}

// claimOne waits for a job for as long as it takes.
func (h hand) claimOne() domain.Assignment {
	h.Helper()
	for begun := time.Now(); time.Since(begun) < patience; {
		if jobs := h.claim(1, time.Second); len(jobs) > 0 {
			return jobs[0]
		}
	}
	h.Fatal("no job comes")
	return domain.Assignment{}
}

func held(a domain.Assignment) domain.HeldAttempt {
	return domain.HeldAttempt{Caller: a.Job.CallerID, ID: a.Job.ID, Attempt: a.Attempt}
}

func (h hand) finish(a domain.Assignment, v domain.Verdict, value string) error {
	h.Helper()
	e := domain.AttemptEnd{HeldAttempt: held(a), Verdict: v}
	if value != "" {
		e.Result = map[string]string{"v": value}
	}
	_, errs, err := h.c.FinishWork(h.T.Context(), h.Worker, []domain.AttemptEnd{e})
	return errors.Join(append(errs, err)...)
}

func doWrong(t *testing.T, one, two *node) {
	a := hand{t, one.client(), domain.MinWorkerLease, domain.Worker{Context: 1, Name: "a"}}
	b := hand{t, two.client(), domain.MaxWorkerLease, domain.Worker{Context: 1, Name: "b"}}
	if err := a.c.RegisterWork(t.Context(), 1, "mail"); err != nil {
		t.Fatal(err)
	}
	submit := func() domain.JobKey {
		t.Helper()
		key, err := a.c.SubmitJob(t.Context(), 1, domain.Job{Script: "{}", ScriptType: "mail"})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	conflict := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%s: got %v, want a conflict", what, err)
		}
	}
	key := submit()
	first := a.claimOne() // and says nothing any more
	conflict("another's job", b.finish(first, domain.VerdictSucceeded, "b"))
	second := b.claimOne() // when the lease has run out
	if second.Job.Key() != key || second.Attempt != 2 || second.Job.Losses != 1 {
		t.Errorf("got %v, attempt %d, losses %d", second.Job.Key(), second.Attempt, second.Job.Losses)
	}
	conflict("with an old token", a.finish(first, domain.VerdictSucceeded, "a"))
	conflict("a line with an old token", a.c.LogWork(t.Context(), a.Worker, held(first), []domain.LogLine{{Line: "x"}}))
	if states, err := a.c.ExtendWork(t.Context(), a.Worker, 5*time.Second, 0, []domain.HeldAttempt{held(first)}); err != nil || states[0] != domain.LeaseLost {
		t.Errorf("a lease that was lost is extended: %v, %v", states, err)
	}
	if err := b.finish(second, domain.VerdictSucceeded, "b"); err != nil {
		t.Fatal(err)
	}
	there := b
	there.c = a.c // the same worker, through the other door
	if err := there.finish(second, domain.VerdictSucceeded, "b"); err != nil {
		t.Errorf("said twice: %v", err)
	}
	conflict("said twice, and not the same", there.finish(second, domain.VerdictFailed, ""))
	if j, err := a.c.Wait(t.Context(), 1, key); err != nil || j.Result["v"] != "b" {
		t.Errorf("got %+v, %v", j, err)
	}
	a.lease = domain.MaxWorkerLease
	tooMuch(t, a, b, submit)
	ask := domain.AttemptEnd{HeldAttempt: held(second), Verdict: domain.VerdictSucceeded, Error: strings.Repeat("x", 10<<20)}
	if _, _, err := a.c.FinishWork(t.Context(), b.Worker, []domain.AttemptEnd{ask}); err == nil {
		t.Error("an end of 10 MB is taken")
	}
	if err := there.finish(second, domain.VerdictSucceeded, "b"); err != nil {
		t.Errorf("after 10 MB: %v", err)
	}
}

// tooMuch has both workers ask for all they can get, where a context may have three running.
func tooMuch(t *testing.T, a, b hand, submit func() domain.JobKey) {
	const most = 3
	if _, err := a.c.UpdateContext(t.Context(), 1, domain.TenantChange{MaxRunningByType: map[domain.ScriptType]int{"mail": most}}); err != nil {
		t.Fatal(err)
	}
	all := map[domain.JobKey]bool{}
	for range 10 {
		all[submit()] = true
	}
	ask := domain.WorkerAsk{Types: []domain.ScriptType{"mail"}, Max: domain.MaxAssignments + 1}
	if _, err := a.c.ClaimWork(t.Context(), a.Worker, ask); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a claim of %d: got %v", ask.Max, err)
	}
	for len(all) > 0 {
		var got [2][]domain.Assignment
		var both sync.WaitGroup
		for i, h := range []hand{a, b} {
			both.Go(func() { got[i] = h.claim(domain.MaxAssignments, time.Second) })
		}
		both.Wait()
		if n := len(got[0]) + len(got[1]); n > most {
			t.Fatalf("%d run at once, %d may", n, most)
		}
		for i, h := range []hand{a, b} {
			for _, j := range got[i] {
				if !all[j.Job.Key()] {
					t.Errorf("%v came twice", j.Job.Key())
				}
				delete(all, j.Job.Key())
				if err := h.finish(j, domain.VerdictSucceeded, ""); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestAnotherNodeIsAsked kills the node that a client of two asks: what may be done twice is asked of the other, and
// a job that is submitted there once more is the one that the first has made.
func TestAnotherNodeIsAsked(t *testing.T) {
	config := "board: " + redistest.Start(t).URL() + "\n"
	one := startNode(t, config)
	two := secondNode(t, one, config)
	c := clientOf(t, one, two)
	if err := c.RegisterWork(t.Context(), 1, "mail"); err != nil {
		t.Fatal(err)
	}
	once := client.Once(t.Context(), "a mail")
	mail := domain.Job{Script: "{}", ScriptType: "mail"}
	first, err := c.SubmitJob(once, 1, mail)
	if err != nil {
		t.Fatal(err)
	}
	one.kill()
	if again, err := c.SubmitJob(once, 1, mail); err != nil || again != first {
		t.Errorf("got %v, %v, want %v once more", again, err, first)
	}
	if j, err := c.Job(t.Context(), 1, first); err != nil || j.Key() != first {
		t.Errorf("got %v, %v", j, err)
	}
}

// TestANodeEndsInALongPoll ends nodes while workers wait there for jobs: what is submitted
// after a node was told to stop is no poll's of its.
func TestANodeEndsInALongPoll(t *testing.T) {
	config := "board: " + redistest.Start(t).URL() + "\n"
	one := startNode(t, config)
	two := secondNode(t, one, config)
	b := hand{t, two.client(), domain.MaxWorkerLease, domain.Worker{Context: 1, Name: "b"}}
	if err := b.c.RegisterWork(t.Context(), 1, "mail"); err != nil {
		t.Fatal(err)
	}
	for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		c := one.client()
		ended := make(chan error, 1)
		go func() {
			_, err := c.ClaimWork(context.Background(), domain.Worker{Context: 1, Name: "a-" + how.String()[:4]},
				domain.WorkerAsk{Types: []domain.ScriptType{"mail"}, LeaseMs: 5000, WaitMs: domain.MaxWorkerWait.Milliseconds()})
			ended <- err
		}()
		one.until("the worker is known", func() bool {
			list, err := b.c.Runners(t.Context(), 1)
			return err == nil && slices.ContainsFunc(list.Runners, func(r domain.Runner) bool { return r.Worker == "a-"+how.String()[:4] })
		})
		_ = one.process.Process.Signal(how)
		_ = one.process.Wait()
		if err := <-ended; err != nil && (how == syscall.SIGTERM || !errors.Is(err, domain.ErrUnavailable)) {
			t.Errorf("%v: the claim ends with %v", how, err)
		}
		key, err := b.c.SubmitJob(t.Context(), 1, domain.Job{Script: "{}", ScriptType: "mail"})
		if err != nil {
			t.Fatal(err)
		}
		got := b.claimOne()
		if got.Job.Key() != key || how == syscall.SIGTERM && got.Attempt != 1 {
			t.Errorf("%v: got %v, attempt %d, want %v", how, got.Job.Key(), got.Attempt, key)
		}
		if err := b.finish(got, domain.VerdictSucceeded, ""); err != nil {
			t.Error(err)
		}
		one.start()
	}
}
