package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
)

// This file measures what a list costs with more and more on the board.

// listSizes are how many flows, and as many jobs, there are; the first thousand of
// each have a hundred that are alive, and a hundred that ended in error.
var listSizes = []int{1_000, 10_000, 100_000}

// listCalls is how often each list is asked for.
const listCalls = 10

// listed is one kind of list.
type listed struct {
	name string
	ask  func(ctx context.Context, c service.Caller) (found int, err error)
}

var lists = []listed{
	{"flows", flowsOf(api.ListFlowsParams{Limit: enough})},
	{"flows_error", flowsOf(api.ListFlowsParams{FlowFilter: api.FlowFilter{Status: domain.FlowError}, Limit: enough})},
	{"flows_reason", flowsOf(api.ListFlowsParams{FlowFilter: api.FlowFilter{Reason: domain.FlowFailed}, Limit: enough})},
	{"flows_started", flowsOf(api.ListFlowsParams{FlowFilter: api.FlowFilter{Status: domain.FlowStarted}, Limit: enough})},
	{"flows_name", flowsOf(api.ListFlowsParams{FlowFilter: api.FlowFilter{Blueprint: "listed", Trigger: "t7"}, Limit: enough})},
	{"flows_where", flowsOf(api.ListFlowsParams{FlowFilter: api.FlowFilter{Where: "flow.retried > 5"}, Limit: enough})},
	{"jobs", jobsOf(api.ListJobsParams{Limit: enough})},
	{"jobs_error", jobsOf(api.ListJobsParams{JobFilter: api.JobFilter{Status: domain.JobError}, Limit: enough})},
	{"jobs_started", jobsOf(api.ListJobsParams{JobFilter: api.JobFilter{Status: domain.JobStarted}, Limit: enough})},
	{"jobs_where", jobsOf(api.ListJobsParams{JobFilter: api.JobFilter{Where: "job.losses > 5"}, Limit: enough})},
	{"actors", func(ctx context.Context, c service.Caller) (int, error) {
		l, err := c.ListActors(ctx, api.ListActorsParams{Limit: enough})
		return len(l.Actors), err
	}},
}

// enough is how many things are asked for.
const enough = 100

// flowsOf asks until there are enough or no more; with a condition that holds for
// none, once.
func flowsOf(p api.ListFlowsParams) func(context.Context, service.Caller) (int, error) {
	return func(ctx context.Context, c service.Caller) (found int, err error) {
		p := p
		p.Context = 1
		for {
			l, err := c.ListFlows(ctx, p)
			found += len(l.Flows)
			if p.Cursor = l.Next; err != nil || l.Next == "" || found >= enough || p.Where != "" {
				return found, err
			}
		}
	}
}

func jobsOf(p api.ListJobsParams) func(context.Context, service.Caller) (int, error) {
	return func(ctx context.Context, c service.Caller) (found int, err error) {
		p := p
		p.Context = 1
		for {
			l, err := c.ListJobs(ctx, p)
			found += len(l.Jobs)
			if p.Cursor = l.Next; err != nil || l.Next == "" || found >= enough || p.Where != "" {
				return found, err
			}
		}
	}
}

// listCost measures the processor time until there are a hundred things of each list.
func listCost(r *rig) figures {
	ctx := context.Background()
	registry := identity.NewRegistry(r.board)
	_, err := registry.EnsureOperator(ctx, r.dir)
	check(err)
	flows := flow.New(r.board, r.engine, flow.Config{})
	access := identity.NewAccess(registry, nil)
	caller := service.New(service.Parts{Jobs: r.engine, Flows: flows, Directory: registry, Access: access, Records: r.board, Keys: r.board,
		Info: func() api.Info { return api.Info{} }}).As(domain.Operator)
	check(r.engine.KeepFailed(ctx, 1, false))
	out := figures{}
	first := map[string]float64{}
	there := 0
	for _, n := range listSizes {
		if n > *jobs {
			break
		}
		r.putListed(ctx, there, n)
		there = n
		for _, l := range lists {
			found, err := l.ask(ctx, caller) // what is done once is done
			check(err)
			cpu := selfCPU() + r.serverCPU()
			for range listCalls {
				_, err := l.ask(ctx, caller)
				check(err)
			}
			each := (selfCPU() + r.serverCPU() - cpu) * 1e6 / listCalls
			size := "_" + strconv.Itoa(n)
			out["us_"+l.name+size], out["found_"+l.name+size] = round(each), found
			if first[l.name] == 0 {
				first[l.name] = each
			}
			out["cost_ratio_"+l.name] = round(each / max(first[l.name], 1))
		}
	}
	return out
}

// putListed puts records on the board until there are n flows and n jobs, and as many
// actors, as the engines write them.
func (r *rig) putListed(ctx context.Context, from, n int) {
	first, err := r.board.Next(ctx, 1, layout.Seq("flow", 0), n-from)
	check(err)
	firstJob, err := r.board.Next(ctx, 1, layout.Seq("job", domain.Operator), n-from)
	check(err)
	now := time.Now()
	var batches []board.Batch
	put := func(b board.Batch) {
		if batches = append(batches, b); len(batches) == 500 {
			for _, err := range r.board.CommitEach(ctx, batches) {
				check(err)
			}
			batches = batches[:0]
		}
	}
	for i := range n - from {
		alive, bad := from == 0 && i%10 == 0, from == 0 && i%10 == 1
		b := board.Batch{Space: 1}
		listedFlow(&b, domain.FlowID(first)+domain.FlowID(i), i+from, bad, alive, now)
		listedJob(&b, domain.JobID(firstJob)+domain.JobID(i), bad, alive, now)
		put(b)
		a := board.Batch{}
		id := domain.ActorID(1000 + from + i)
		put(*a.Set(layout.Actor(id), layout.EncodeActor(domain.Actor{ID: id, Pubkey: fmt.Sprintf("%064x", id)})...))
	}
	for _, err := range r.board.CommitEach(ctx, batches) {
		check(err)
	}
}

func listedFlow(b *board.Batch, id domain.FlowID, i int, bad, alive bool, now time.Time) {
	f := domain.Flow{ID: id, CallerID: 1, ContextID: 1, Blueprint: "listed", Trigger: "t" + strconv.Itoa(i), Stepped: true,
		Status: domain.FlowFinished, Reason: domain.FlowSucceeded, CreatedAt: domain.At(now), FinishedMs: now.UnixMilli()}
	switch {
	case bad:
		f.Status, f.Reason = domain.FlowError, domain.FlowFailed
	case alive:
		f.Status, f.Reason, f.FinishedMs = domain.FlowStarted, "", 0
		b.Live(f.Key(), now)
	}
	b.Set(f.Key(), layout.EncodeFlow(f)...)
	b.Set(layout.FlowName(f.Blueprint, f.Trigger), board.Field{Name: layout.FlowNameID, Value: strconv.Itoa(int(id))})
	if !alive {
		layout.Ended(b, f.Key(), now, layout.FailedFlows, bad)
	}
}

func listedJob(b *board.Batch, id domain.JobID, bad, alive bool, now time.Time) {
	j := domain.Job{ID: id, CallerID: 1, ContextID: 1, Script: "x", ScriptType: "noop", Status: domain.JobFinished, CreatedAt: domain.At(now),
		QueuedMs: now.UnixMilli(), FinishedMs: now.UnixMilli()}
	switch {
	case bad:
		j.Status, j.Reason = domain.JobError, domain.ReasonScriptFailed
	case alive:
		j.Status, j.FinishedMs = domain.JobStarted, 0
		b.Live(j.Key().String(), now)
	}
	b.Set(j.Key().String(), layout.EncodeJob(&j)...)
	if !alive {
		layout.Ended(b, j.Key().String(), now, layout.FailedJobs, bad)
	}
}
