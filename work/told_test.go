package work_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// TestACancelIsHeardAtOnce by whoever has the job, though another node was asked, and all slots are full.
func TestACancelIsHeardAtOnce(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := memboard.Open()
		defer b.Close()
		other := work.New(b, work.Config{})
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 4))
		defer r.stop()
		r.script.on("long", func(ctx context.Context, _ script.Task, _ script.Host) script.Outcome {
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Minute):
			}
			return script.Outcome{Verdict: script.Succeeded}
		})
		for id := range domain.JobID(4) {
			r.submit(job(id+1, "long"))
		}
		// Between two renewals, long after the last, and in one moment.
		for id, after := range []time.Duration{time.Second, time.Minute, 0} {
			time.Sleep(after)
			begun := time.Now()
			if _, err := other.Cancel(t.Context(), tenant, key(domain.JobID(id+1)), 7); err != nil {
				t.Fatal(err)
			}
			j := r.wait(domain.JobID(id + 1))
			if took := time.Since(begun); took > 500*time.Millisecond {
				t.Errorf("the cancel of job %d was heard after %v: it is %s", id+1, took, j.Status)
			}
		}
		r.want(4, domain.JobFinished, "")
	})
}

// TestAWorkerWaitsForCancels with a renewal, also for that of a job that it does not name.
func TestAWorkerWaitsForCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, known())
		h := r.hand(7, "a")
		h.claim(1, 0)
		r.submit(mail(1, "x"), mail(2, "y"))
		a := h.claim(2, 0)
		wait := func(ctx context.Context, most time.Duration, of ...domain.Assignment) (states []domain.LeaseState, took time.Duration) {
			var held []domain.HeldAttempt
			for _, a := range of {
				held = append(held, heldOf(a))
			}
			begun := time.Now()
			states, err := r.engine.ExtendFor(ctx, h.Worker, h.lease, most, held)
			if err != nil {
				t.Fatal(err)
			}
			return states, time.Since(begun)
		}
		want := func(what string, states []domain.LeaseState, took, wantTook time.Duration, want ...domain.LeaseState) {
			t.Helper()
			if !slices.Equal(states, want) || took != wantTook {
				t.Errorf("%s: got %v after %v, want %v after %v", what, states, took, want, wantTook)
			}
		}
		states, took := wait(t.Context(), 9*time.Second, a...)
		want("nothing comes", states, took, 9*time.Second, domain.LeaseRenewed, domain.LeaseRenewed)
		gone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		states, took = wait(gone, 9*time.Second, a[0])
		want("the worker has gone", states, took, time.Second, domain.LeaseRenewed)

		says := func(id domain.JobID, text string) {
			t.Helper()
			if x, err := r.engine.Explain(t.Context(), tenant, key(id)); err != nil || !strings.Contains(x.Text, text) {
				t.Errorf("job %d: got %q, %v, want %q", id, x.Text, err, text)
			}
		}
		cancelAfter := func(d time.Duration, id domain.JobID) {
			go func() {
				time.Sleep(d)
				if _, err := r.engine.Cancel(t.Context(), tenant, key(id), 1); err != nil {
					t.Error(err)
				}
			}()
		}
		cancelAfter(2*time.Second, 2)
		states, took = wait(t.Context(), 9*time.Second, a[0])
		want("a job that it does not name", states, took, 2*time.Second, domain.LeaseRenewed)
		says(2, "it is to be told to stop")
		states, took = wait(t.Context(), 9*time.Second, a...)
		want("asked for", states, took, 0, domain.LeaseRenewed, domain.LeaseCancelled)
		says(2, "it has been told to stop")
		cancelAfter(3*time.Second, 1)
		states, took = wait(t.Context(), 9*time.Second, a[0])
		want("a job that it names", states, took, 3*time.Second, domain.LeaseCancelled)
		says(1, "it has been told to stop")
		for i := range a {
			if _, err := h.finish(end(a[i], domain.VerdictStopped)); err != nil {
				t.Error(fmt.Errorf("end %d: %w", i, err))
			}
		}
		// Taken again by the same worker it is not to stop.
		if _, err := r.engine.Retry(t.Context(), tenant, key(1)); err != nil {
			t.Fatal(err)
		}
		states, took = wait(t.Context(), 0, h.claim(1, 0)...)
		want("tried again", states, took, 0, domain.LeaseRenewed)
	})
}
