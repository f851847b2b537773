package service

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// worker is who asks.
func (c Caller) worker(ctx context.Context, verb domain.Verb, p api.WorkerParams) (domain.Worker, error) {
	_, err := c.may(ctx, verb, p.Context, "jobs")
	return domain.Worker{Context: p.Context, Actor: c.who.Actor, Name: p.Worker}, err
}

// ClaimWork gives jobs to a worker, and waits for the first if asked.
func (c Caller) ClaimWork(ctx context.Context, p api.ClaimParams) (api.Assignments, error) {
	w, err := c.worker(ctx, domain.VerbClaim, p.WorkerParams)
	if err != nil {
		return api.Assignments{}, err
	}
	jobs, err := c.api.parts.Jobs.ClaimFor(ctx, w, p.WorkerAsk)
	return api.Assignments{Jobs: append([]domain.Assignment{}, jobs...)}, err
}

// ExtendWork renews the leases of a worker's jobs.
func (c Caller) ExtendWork(ctx context.Context, p api.ExtendParams) (api.Extended, error) {
	w, err := c.worker(ctx, domain.VerbExtend, p.WorkerParams)
	if err != nil {
		return api.Extended{}, err
	}
	lease := domain.DefaultLease
	if p.LeaseMs != 0 {
		if err := domain.CheckWorkerLease(p.LeaseMs); err != nil {
			return api.Extended{}, err
		}
		lease = time.Duration(p.LeaseMs) * time.Millisecond
	}
	states, err := c.api.parts.Jobs.ExtendFor(ctx, w, lease, time.Duration(p.WaitMs)*time.Millisecond, p.Jobs)
	return api.Extended{States: states}, err
}

// FinishWork ends attempts of a worker.
func (c Caller) FinishWork(ctx context.Context, p api.FinishParams) (api.Finished, error) {
	w, err := c.worker(ctx, domain.VerbFinish, p.WorkerParams)
	if err != nil {
		return api.Finished{}, err
	}
	done, errs, err := c.api.parts.Jobs.FinishFor(ctx, w, p.Jobs)
	if err != nil {
		return api.Finished{}, err
	}
	out := api.Finished{Jobs: make([]api.FinishedJob, len(done))}
	for i := range done {
		out.Jobs[i].AttemptEnded = done[i]
		if errs[i] != nil {
			problem := c.api.itemProblem(ctx, errs[i])
			out.Jobs[i] = api.FinishedJob{Problem: &problem}
		}
	}
	return out, nil
}

// StepWork answers what a worker's job remembers.
func (c Caller) StepWork(ctx context.Context, p api.WorkerStepParams) (domain.WorkerStepAnswer, error) {
	w, err := c.worker(ctx, domain.VerbExtend, p.WorkerParams)
	if err != nil {
		return domain.WorkerStepAnswer{}, err
	}
	// What its jobs make is as if it had submitted that: it needs the right to.
	_, w.MayMake = c.may(ctx, domain.VerbCreate, p.Context, "jobs")
	return c.api.parts.Jobs.StepFor(ctx, w, p.WorkerStep)
}

// LogWork adds to the log of a worker's job.
func (c Caller) LogWork(ctx context.Context, p api.WorkerLogParams) (struct{}, error) {
	w, err := c.worker(ctx, domain.VerbAppendLog, p.WorkerParams)
	if err == nil {
		err = c.api.parts.Jobs.LogFor(ctx, w, p.HeldAttempt, p.Lines)
	}
	return struct{}{}, err
}

// LeaveWork takes a worker that stops off the list of runners.
func (c Caller) LeaveWork(ctx context.Context, p api.WorkerParams) (struct{}, error) {
	w, err := c.worker(ctx, domain.VerbClaim, p)
	if err == nil {
		err = c.api.parts.Jobs.Leave(ctx, w)
	}
	return struct{}{}, err
}

// RegisterWork has jobs of a context be of types that workers serve.
func (c Caller) RegisterWork(ctx context.Context, p api.RegisterParams) (api.RegisterParams, error) {
	t, err := c.may(ctx, domain.VerbCreate, p.Context, "jobs")
	if err != nil {
		return api.RegisterParams{}, err
	}
	if len(p.Types) > domain.MaxWorkerTypes {
		return api.RegisterParams{}, domain.Limitf("types: %d of them, the limit is %d", len(p.Types), domain.MaxWorkerTypes)
	}
	if identity.RoleIn(t, c.who.Actor) == domain.Executor {
		return p, c.api.parts.Jobs.NameTypes(ctx, p.Context, p.Types)
	}
	return p, c.api.parts.Jobs.RegisterTypes(ctx, p.Context, p.Types)
}
