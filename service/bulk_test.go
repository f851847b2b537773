package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// dyingBoard is that of a node which dies before it writes anything.
type dyingBoard struct{ board.Board }

func (dyingBoard) Commit(context.Context, board.Batch) error {
	return domain.Unavailablef("the node is gone")
}

// parts does n parts of bulk operations, or all where n is 0, as the sweep of alarms does.
func (r *rig) parts(n int) (done int) {
	r.Helper()
	for n == 0 || done < n {
		time.Sleep(time.Millisecond)
		due, err := r.board.Due(r.Context(), 10, 0)
		if err != nil {
			r.Fatal(err)
		}
		due = slices.DeleteFunc(due, func(a board.Alarm) bool { return !strings.HasPrefix(a.Name, "bulk:") })
		if len(due) == 0 {
			return done
		}
		for _, a := range due {
			if ours, err := r.bulks.HandleAlarm(r.Context(), a); !ours || err != nil {
				r.Fatal(ours, err)
			}
			done++
		}
	}
	return done
}

func (r *rig) shown(id domain.BulkID) domain.Bulk {
	r.Helper()
	b, err := r.api.As(reader).ShowBulk(r.Context(), api.BulkParams{Context: house, ID: id})
	if err != nil {
		r.Fatal(err)
	}
	return *b
}

func TestAllJobsAreCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.api.As(admin)
		const n = 250 // more than two parts
		for range n {
			r.submit(0, nil)
		}
		p := api.BulkJobsParams{Context: house, JobFilter: api.JobFilter{Where: "job.id > 10"}, DryRun: true}
		counted, err := c.CancelAllJobs(t.Context(), p)
		if err != nil || counted.Total != n-10 || counted.More || counted.ID != 0 || counted.Status != domain.BulkCounted {
			t.Fatalf("counted: %+v, %v", counted, err)
		}
		if r.parts(0) != 0 {
			t.Error("a dry run began something")
		}
		p.DryRun = false
		begun, err := c.CancelAllJobs(t.Context(), p)
		if err != nil || begun.ID == 0 || begun.Total != n-10 || begun.Operation != "job.cancel" || begun.Filter != "where=job.id+%3E+10" {
			t.Fatalf("begun: %+v, %v", begun, err)
		}
		time.Sleep(2 * time.Second)
		r.submit(0, nil) // is made later
		r.parts(1)
		if got := r.shown(begun.ID); got.Status != domain.BulkRunning || got.Done == 0 || got.Done >= n-10 {
			t.Errorf("after a part: %+v", got)
		}
		r.parts(0)
		if got := r.shown(begun.ID); got.Status != domain.BulkFinished || got.Done != n-10 || got.Failed+got.Skipped != 0 || got.EndedMs == 0 {
			t.Errorf("in the end: %+v", got)
		}
		left, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: api.JobFilter{Status: domain.JobDispatched}, Count: true})
		if err != nil || left.Count.Matching != 11 {
			t.Errorf("left: %+v, %v", left.Count, err)
		}
		list, err := c.ListBulk(t.Context(), api.ListBulkParams{Context: house})
		if err != nil || len(list.Bulk) != 1 || list.Bulk[0].ID != begun.ID {
			t.Errorf("list: %+v, %v", list, err)
		}
		if err := r.audit.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, _, err := r.audit.Entries(t.Context(), house, identity.AuditFilter{Most: 500})
		if err != nil {
			t.Fatal(err)
		}
		each, all, ended := 0, 0, 0
		for _, e := range entries {
			switch {
			case e.Verb == "cancel" && e.Actor == admin && strings.HasPrefix(e.Object, "job:10:"):
				each++
			case e.Verb == "cancel_all" && strings.Contains(e.Detail, fmt.Sprintf("bulk operation %d: %d of where=", begun.ID, n-10)):
				all++
			case e.Verb == "cancel_all" && e.Actor == admin && e.Detail == fmt.Sprintf("bulk operation %d is finished: %d done, 0 skipped, 0 failed", begun.ID, n-10):
				ended++
			}
		}
		if all != 1 || ended != 1 || each != 0 {
			t.Errorf("the audit log has %d lines of single jobs, %d of the beginning and %d of the end", each, all, ended)
		}
	})
}

// A job that is started again and ends badly again is not started by the same operation
// twice, also where a part is done again after the death of its node.
func TestNothingIsRetriedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.api.As(admin)
		for range 3 {
			r.submit(0, nil)
		}
		cancel := func() {
			t.Helper()
			for id := domain.JobID(1); id <= 3; id++ {
				if _, err := c.CancelJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: id}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		begun, err := c.RetryAllJobs(t.Context(), api.BulkJobsParams{Context: house})
		if err != nil || begun.Total != 3 {
			t.Fatal(begun, err)
		}
		time.Sleep(time.Millisecond)
		other := bulk.New(dyingBoard{r.board})
		other.Serve(service.DoerOf(r.api))
		due, _ := r.board.Due(t.Context(), 10, 0)
		i := slices.IndexFunc(due, func(a board.Alarm) bool { return strings.HasPrefix(a.Name, "bulk:") })
		if _, err := other.HandleAlarm(t.Context(), due[i]); err == nil {
			t.Fatal("the node died before it wrote what it had done")
		}
		those := api.JobFilter{Status: domain.JobDispatched}
		if left, _ := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: those, Count: true}); left.Count.Matching != 3 {
			t.Fatalf("started again: %+v", left.Count)
		}
		cancel() // all end badly again
		r.parts(0)
		if got := r.shown(begun.ID); got.Status != domain.BulkFinished || got.Done != 0 {
			t.Errorf("got %+v", got)
		}
		those = api.JobFilter{Status: domain.JobError}
		if left, _ := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: those, Count: true}); left.Count.Matching != 3 {
			t.Errorf("they are as they ended: %+v", left.Count)
		}
	})
}

// A count looks as far as that of a list does, whatever a part does at once.
func TestABulkCountLooksFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const n = 4500
		jobs := make([]api.JobInput, n)
		for i := range jobs {
			jobs[i].Job = domain.Job{Script: "x", ScriptType: "shell"}
		}
		for at := 0; at < n; at += 500 {
			if _, err := r.api.As(admin).SubmitJobs(t.Context(), api.SubmitParams{Context: house, JobInputs: api.JobInputs{Jobs: jobs[at : at+500]}}); err != nil {
				t.Fatal(err)
			}
		}
		p := api.BulkJobsParams{Context: house, JobFilter: api.JobFilter{Where: "job.id > 10"}, DryRun: true}
		if b, err := r.api.As(admin).CancelAllJobs(t.Context(), p); err != nil || b.Total != n-10 || b.More {
			t.Errorf("got %+v, %v", b, err)
		}
	})
}

func TestABulkOperationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.api.As(admin)
		for range 150 {
			r.submit(0, nil)
		}
		all := api.BulkJobsParams{Context: house}
		begun, err := c.CancelAllJobs(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		r.parts(1)
		if _, err := r.api.As(reader).CancelBulk(t.Context(), api.BulkParams{Context: house, ID: begun.ID}); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("a reader ends it: %v", err)
		}
		ended, err := c.CancelBulk(t.Context(), api.BulkParams{Context: house, ID: begun.ID})
		if err != nil || ended.Status != domain.BulkCancelled {
			t.Fatal(ended, err)
		}
		if r.parts(0) != 0 {
			t.Error("it went on")
		}
		if _, err := c.CancelBulk(t.Context(), api.BulkParams{Context: house, ID: begun.ID}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("twice: %v", err)
		}
		// A right that is lost ends it, whatever is left.
		begun, err = c.CancelAllJobs(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.registry.Grant(t.Context(), house, servicetest.Neighbour, domain.Admin); err != nil { // there must be one
			t.Fatal(err)
		}
		if _, _, err := r.registry.Revoke(t.Context(), house, admin, domain.Admin); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // what is known of rights is not older
		r.parts(0)
		if got := r.shown(begun.ID); got.Status != domain.BulkError || !strings.Contains(got.Error, "actor 10") || got.Done != 0 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestBulkOperationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range domain.MaxBulksRunning {
			if _, err := r.api.As(admin).RetryAllJobs(t.Context(), api.BulkJobsParams{Context: house}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.api.As(admin).RetryAllJobs(t.Context(), api.BulkJobsParams{Context: house}); !errors.Is(err, domain.ErrLimit) {
			t.Errorf("got %v", err)
		}
		misspelt := api.JobFilter{Where: "job.x == 1"}
		if _, err := r.api.As(admin).RetryAllJobs(t.Context(), api.BulkJobsParams{Context: house, JobFilter: misspelt}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
}
