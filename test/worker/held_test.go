package worker

import (
	"context"
	"errors"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// The client counts what a filter fits, and does something to all of it.
func TestAllOfAFilter(t *testing.T) {
	n := startNode(t, "")
	c, ctx := n.client(), t.Context()
	if err := c.RegisterWork(ctx, 1, "mail"); err != nil {
		t.Fatal(err)
	}
	jobs := make([]api.JobInput, 12)
	for i := range jobs {
		jobs[i].Job = domain.Job{ScriptType: "mail", Script: "{}"}
	}
	if _, err := c.Submit(ctx, 1, jobs); err != nil {
		t.Fatal(err)
	}
	all := api.BulkJobsParams{Context: 1, JobFilter: api.JobFilter{Type: "mail", Where: "job.id > 2"}, DryRun: true}
	counted, err := client.All(ctx, c, api.JobCancelAll, all, func(*domain.Bulk) { t.Error("a count goes on") })
	if err != nil || counted.Total != 10 || counted.Status != domain.BulkCounted || counted.Done != 0 {
		t.Fatalf("got %+v, %v", counted, err)
	}
	all.DryRun = false
	told := 0
	done, err := client.All(ctx, c, api.JobCancelAll, all, func(b *domain.Bulk) {
		if told++; b.ID == 0 {
			t.Errorf("told of %+v", b)
		}
	})
	if err != nil || done.Done != 10 || done.Status != domain.BulkFinished || told == 0 {
		t.Errorf("got %+v, %v, told %d times", done, err, told)
	}
	all.Where = "job.nonsense("
	if _, err := client.All(ctx, c, api.JobCancelAll, all, nil); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a condition that is none: got %v", err)
	}
}

// Of two who have read the same, one changes it.
func TestAChangeHoldsWhatWasRead(t *testing.T) {
	n := startNode(t, "")
	c, ctx := n.client(), t.Context()
	apply := func(ctx context.Context, script string) error {
		_, err := client.Call(ctx, c, api.BlueprintApply, api.ApplyBlueprintParams{Context: 1,
			Text: "name: b\nsteps:\n- {name: a, script: " + script + ", script_type: shell}\n"}) // which only people change
		return err
	}
	one := api.BlueprintParams{Context: 1, Name: "b"}
	if err := apply(client.IfNone(ctx), "one"); err != nil {
		t.Fatal(err)
	}
	if err := apply(client.IfNone(ctx), "two"); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("there is one already: got %v", err)
	}
	_, tag, err := client.Read(ctx, c, api.BlueprintShow, one)
	if err != nil || tag == "" {
		t.Fatalf("got %q, %v", tag, err)
	}
	if err := apply(client.IfMatch(ctx, tag), "three"); err != nil {
		t.Error(err)
	}
	if err := apply(client.IfMatch(ctx, tag), "four"); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("it is another by now: got %v", err)
	}
	if _, now, err := client.Read(client.IfMatch(ctx, tag), c, api.BlueprintShow, one); err != nil || now == tag {
		t.Errorf("got %q, %v", now, err) // a condition is for changes
	}
	// What cannot hold it refuses, and is not done.
	_, err = c.Submit(client.IfMatch(ctx, tag), 1, []api.JobInput{{Job: domain.Job{ScriptType: domain.ScriptShell, Script: "true"}}})
	if !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a submit: got %v", err)
	}
	if _, _, err := client.Read(ctx, c, api.BlueprintDelete, api.NameBlueprintParams{Context: 1, Name: "b"}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("what changes something is not read: got %v", err)
	}
	if _, _, err := client.Read(ctx, c, api.BlueprintShow, api.BlueprintParams{Context: 1, Name: "none"}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("what is not there: got %v", err)
	}
}
