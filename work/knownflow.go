package work

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file keeps in memory what flows are to the jobs that run here: a flow of ten
// thousand jobs is not read ten thousand times, and one that was made here not at all.

const (
	// envFor is how long the environment of a flow is kept: nobody changes it but a
	// foreign program before the flow begins.
	envFor = 2 * time.Second
	// callerFor is how long it is kept whose a flow is: that never changes.
	callerFor = time.Minute
	// maxKnown bounds what is kept, in weights; twice as much may be for a while.
	maxKnown = 20_000
	// weighBytes of an environment weigh as much as a flow or an entry of a follower.
	weighBytes = 256
)

type flowPlace struct {
	space board.Space
	id    domain.FlowID
}

type knownFlow struct {
	caller string // as the flow's state has it; "" where there is no such flow
	env    map[string]string
	// trigger and blueprint are what templates in the environment may name.
	trigger, blueprint string
	brought            bool // as [domain.Flow.BroughtPlan] says

	bad  error // that the environment cannot be read
	read time.Time
	// followers are the entries of those that wait for each job, as they were written
	// when the flow was made; nil where that was not here.
	followers map[domain.JobID][]string
}

func (f *knownFlow) weight() int {
	n := 1 + len(f.followers)
	for name, value := range f.env {
		n += (len(name) + len(value)) / weighBytes
	}
	return n
}

// lasts is how long the flow may be kept by one who wants its environment, or not.
func (f *knownFlow) lasts(env bool) time.Duration {
	if env {
		return envFor
	}
	return callerFor
}

// knownFlows are the flows that were asked for last. The zero value is ready to use.
type knownFlows struct {
	mu sync.Mutex
	// flows are the newest, before those that were the newest until these were too many.
	flows, before map[flowPlace]knownFlow
	weight        int // of flows
}

// kept returns a flow that was kept short enough ago.
func (c *knownFlows) kept(p flowPlace, env bool) (f knownFlow, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok = c.flows[p]
	if !ok {
		f, ok = c.before[p]
	}
	return f, ok && time.Since(f.read) < f.lasts(env)
}

func (c *knownFlows) keep(p flowPlace, f knownFlow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.weight >= maxKnown || c.flows == nil {
		c.flows, c.before, c.weight = map[flowPlace]knownFlow{}, c.flows, 0
	}
	c.flows[p] = f
	c.weight += f.weight()
}

// get returns a flow, whose environment must not be changed; env says whether that is
// wanted.
func (c *knownFlows) get(ctx context.Context, b board.Board, p flowPlace, env bool) (knownFlow, error) {
	if kept, ok := c.kept(p, env); ok {
		return kept, nil
	}
	key := domain.FlowKey(p.id)
	now := time.Now()
	recs, err := b.GetFields(ctx, p.space, []string{layout.FlowEnvVars, layout.FlowTrigger, layout.FlowBlueprint, layout.FlowVersion, layout.FlowMessage,
		layout.FlowSender, layout.FlowStateCaller}, key, layout.FlowState(p.id))
	if err != nil {
		return knownFlow{}, err
	}
	f, bad := layout.DecodeFlow(key, recs[0])
	known := knownFlow{caller: recs[1].Get(layout.FlowStateCaller), env: f.EnvVars, trigger: f.Trigger, blueprint: f.Blueprint, brought: f.BroughtPlan(),
		bad: bad, read: now}
	if known.caller != "" { // else it may be made any moment
		c.keep(p, known)
	}
	return known, nil
}

// KeepFlow keeps what a flow that was made just now is to its jobs, some of which will
// run here. followers are the entries that were written of those that wait for each job.
func (e *Engine) KeepFlow(f *domain.Flow, followers map[domain.JobID][]string) {
	if len(followers) > maxKnown {
		followers = nil // it would take the place of all others
	}
	e.flows.keep(flowPlace{layout.SpaceOf(f.ContextID), f.ID},
		knownFlow{caller: callerID(f.CallerID), env: f.EnvVars, trigger: f.Trigger, blueprint: f.Blueprint, brought: f.BroughtPlan(), read: time.Now(),
			followers: followers})
}

// followersOf are the entries of those that wait for j. Every change of that list is
// counted on the job's record, and the commit that uses them is guarded by that number:
// as long as it is that of the entries which the flow was made with, they are the list.
func (e *Engine) followersOf(ctx context.Context, space board.Space, j *domain.Job) ([]string, error) {
	if j.FlowID != 0 {
		f, ok := e.flows.kept(flowPlace{space, j.FlowID}, false)
		if entries := f.followers[j.ID]; ok && len(entries) == j.Followers && f.caller == callerText(j) {
			return entries, nil
		}
	}
	return e.board.List(ctx, space, layout.Followers(j.Key()), 0, maxFollowersInline)
}
