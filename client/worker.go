package client

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// workerParams name a worker.
func workerParams(w domain.Worker) api.WorkerParams {
	return api.WorkerParams{Context: w.Context, Worker: w.Name}
}

// ClaimWork takes jobs for a worker of one's own; package worker does it by itself. The
// worker's actor is who is logged in.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden], [domain.ErrUnavailable].
func (c *Client) ClaimWork(ctx context.Context, w domain.Worker, ask domain.WorkerAsk) ([]domain.Assignment, error) {
	out, err := Call(ctx, c, api.WorkerClaim, api.ClaimParams{WorkerParams: workerParams(w), WorkerAsk: ask})
	return out.Jobs, err
}

// ExtendWork renews leases of a worker's jobs, and says of each whether it goes on; it waits, 30 s at most, until one of the worker's jobs is to stop.
//
// Errors: as those of ClaimWork.
func (c *Client) ExtendWork(ctx context.Context, w domain.Worker, lease, wait time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error) {
	out, err := Call(ctx, c, api.WorkerExtend,
		api.ExtendParams{WorkerParams: workerParams(w), LeaseMs: lease.Milliseconds(), WaitMs: wait.Milliseconds(), Jobs: held})
	return out.States, err
}

// FinishWork ends attempts of a worker, each judged alone.
//
// Errors: as those of ClaimWork; of one also [domain.ErrNotFound], and
// [domain.ErrConflict] when the worker does not have the job any more.
func (c *Client) FinishWork(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) (done []domain.AttemptEnded, errs []error, err error) {
	out, err := Call(ctx, c, api.WorkerFinish, api.FinishParams{WorkerParams: workerParams(w), Jobs: ends})
	if err != nil {
		return nil, nil, err
	}
	done, errs = make([]domain.AttemptEnded, len(ends)), make([]error, len(ends))
	for i := range out.Jobs[:min(len(out.Jobs), len(ends))] {
		if done[i] = out.Jobs[i].AttemptEnded; out.Jobs[i].Problem != nil {
			errs[i] = &Error{Problem: *out.Jobs[i].Problem}
		}
	}
	return done, errs, nil
}

// LogWork adds lines to the log of a worker's job.
//
// Errors: as those of FinishWork.
func (c *Client) LogWork(ctx context.Context, w domain.Worker, held domain.HeldAttempt, lines []domain.LogLine) error {
	_, err := Call(ctx, c, api.WorkerLog, api.WorkerLogParams{WorkerParams: workerParams(w), HeldAttempt: held, Lines: lines})
	return err
}

// StepWork asks what a worker's job remembers; package worker does it by itself.
//
// Errors: as those of FinishWork.
func (c *Client) StepWork(ctx context.Context, w domain.Worker, ask domain.WorkerStep) (domain.WorkerStepAnswer, error) {
	return Call(ctx, c, api.WorkerStep, api.WorkerStepParams{WorkerParams: workerParams(w), WorkerStep: ask})
}

// LeaveWork says that a worker stops: it is listed no more. Errors: as those of ClaimWork.
func (c *Client) LeaveWork(ctx context.Context, w domain.Worker) error {
	_, err := Call(ctx, c, api.WorkerLeave, workerParams(w))
	return err
}

// RegisterWork has jobs of a context be of types that its workers serve, before the first
// of these has asked for one.
//
// Errors: as those of ClaimWork.
func (c *Client) RegisterWork(ctx context.Context, tenant domain.TenantID, types ...domain.ScriptType) error {
	_, err := Call(ctx, c, api.WorkerRegister, api.RegisterParams{Context: tenant, Types: types})
	return err
}
