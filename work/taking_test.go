package work_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
	"github.com/ramet-run/ramet/worker"
)

// This file has jobs of tests be taken by a node's own runner or by a worker through the
// operations, so that one suite says what holds for both.

// taking is who takes the jobs of a test.
type taking string

const (
	byRunner taking = "runner"
	byWorker taking = "worker"
)

// eachTaking runs a test in a bubble for each who may take its jobs.
func eachTaking(t *testing.T, test func(t *testing.T, by taking)) {
	for _, by := range []taking{byRunner, byWorker} {
		t.Run(string(by), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, by) }) })
	}
}

// taker takes jobs and runs them until ctx ends.
type taker interface {
	Run(ctx context.Context) error
}

// taker returns one that takes the jobs of an engine's board as a runner of that configuration
// does: a worker has no more than its slots, labels, leases and grace of it.
func (by taking) taker(t *testing.T, b board.Board, e *work.Engine, rc work.RunnerConfig) taker {
	if by == byRunner {
		return work.NewRunner(e, rc)
	}
	rt := rc.Runtimes[0]
	return newWorker(straight(worksIn(t, b, e)), worker.Config{Name: fmt.Sprint("w", rc.ID), Labels: rc.Labels, Lease: rc.Lease, Grace: rc.Grace,
		Slots: cmp.Or(rc.Slots[rt.Type()], rt.Info().Slots, 1)}, rt)
}

// workerActor is whose the workers are, and admin of [tenant] and [other].
const workerActor = domain.ActorID(7)

// worksIn returns the operations on an engine, whose actor may do all in the contexts of tests.
func worksIn(t *testing.T, b board.Board, e *work.Engine) *service.Service {
	t.Helper()
	enlist(t, b)
	return operations(b, e)
}

// enlist registers who owns the workers, if that is not done yet.
func enlist(t *testing.T, b board.Board) {
	t.Helper()
	r := identity.NewRegistry(b)
	key, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Actor(t.Context(), workerActor); err == nil {
		return
	}
	if _, _, err := r.CreateActor(t.Context(), domain.Actor{ID: workerActor, Pubkey: key.Pubkey()}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []domain.TenantID{tenant, other} {
		if _, _, err := r.CreateTenant(t.Context(), domain.Tenant{ID: id, Admins: []domain.ActorID{workerActor}}); err != nil {
			t.Fatal(err)
		}
	}
}

// operations are those of a node on a board.
func operations(b board.Board, e *work.Engine) *service.Service {
	return service.New(service.Parts{Jobs: e, Access: identity.NewAccess(identity.NewRegistry(b), nil)})
}

// newWorker returns a worker of [tenant] that runs the scripts of a runtime as its functions.
func newWorker(n worker.Node, cfg worker.Config, rt script.Runtime) *worker.Worker {
	cfg.Context, cfg.Logger = cmp.Or(cfg.Context, tenant), discard()
	w := worker.New(n, cfg)
	w.Handler(rt.Type(), func(ctx context.Context, job *worker.Job) (map[string]string, error) {
		out, err := rt.Run(ctx, script.Task{Name: job.Key().String(), Script: job.Job.Script, Env: job.Env, Context: job.Job.ContextID,
			Caller: job.Job.CallerID, Attempt: job.Attempt, TraceParent: job.TraceParent}, jobLog{job})
		switch {
		case err != nil:
			return nil, err
		case out.Verdict == script.Succeeded:
			delete(out.Result, "exit_code") // functions have none
			return out.Result, nil
		case out.Final:
			return nil, worker.Fail(errors.New(out.Error))
		}
		return nil, worker.RetryAfter(out.After, errors.New(out.Error))
	})
	return w
}

// jobLog is the log of a worker's job, for a script.
type jobLog struct{ job *worker.Job }

func (l jobLog) Log(stream string, line []byte) {
	if stream == "stderr" {
		l.job.Errorf("%s", line)
	} else {
		l.job.Logf("%s", line)
	}
}

// way is how a worker's requests come to the operations of a node.
type way func(ctx context.Context, do func(context.Context, service.Caller) error) error

var _ worker.Node = way(nil)

// straight is a way without faults.
func straight(s *service.Service) way {
	return func(ctx context.Context, do func(context.Context, service.Caller) error) error {
		return do(ctx, s.As(workerActor))
	}
}

// operate does one operation. Of one whose way back failed nothing is known.
func operate[P, R any](ctx context.Context, y way, op func(service.Caller, context.Context, P) (R, error), p P) (R, error) {
	var out R
	err := y(ctx, func(ctx context.Context, c service.Caller) (err error) {
		out, err = op(c, ctx, p)
		return err
	})
	if err != nil {
		var none R
		return none, err
	}
	return out, nil
}

func paramsOf(w domain.Worker) api.WorkerParams {
	return api.WorkerParams{Context: w.Context, Worker: w.Name}
}

func (y way) ClaimWork(ctx context.Context, w domain.Worker, ask domain.WorkerAsk) ([]domain.Assignment, error) {
	out, err := operate(ctx, y, service.Caller.ClaimWork, api.ClaimParams{WorkerParams: paramsOf(w), WorkerAsk: ask})
	return out.Jobs, err
}

func (y way) ExtendWork(ctx context.Context, w domain.Worker, lease, wait time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error) {
	out, err := operate(ctx, y, service.Caller.ExtendWork,
		api.ExtendParams{WorkerParams: paramsOf(w), LeaseMs: lease.Milliseconds(), WaitMs: wait.Milliseconds(), Jobs: held})
	return out.States, err
}

func (y way) LeaveWork(ctx context.Context, w domain.Worker) error {
	_, err := operate(ctx, y, service.Caller.LeaveWork, paramsOf(w))
	return err
}

func (y way) FinishWork(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) ([]domain.AttemptEnded, []error, error) {
	out, err := operate(ctx, y, service.Caller.FinishWork, api.FinishParams{WorkerParams: paramsOf(w), Jobs: ends})
	if err != nil {
		return nil, nil, err
	}
	done, errs := make([]domain.AttemptEnded, len(ends)), make([]error, len(ends))
	for i := range out.Jobs {
		if done[i] = out.Jobs[i].AttemptEnded; out.Jobs[i].Problem != nil {
			errs[i] = &client.Error{Problem: *out.Jobs[i].Problem}
		}
	}
	return done, errs, nil
}

func (y way) LogWork(ctx context.Context, w domain.Worker, held domain.HeldAttempt, lines []domain.LogLine) error {
	_, err := operate(ctx, y, service.Caller.LogWork, api.WorkerLogParams{WorkerParams: paramsOf(w), HeldAttempt: held, Lines: lines})
	return err
}

func (y way) StepWork(ctx context.Context, w domain.Worker, ask domain.WorkerStep) (domain.WorkerStepAnswer, error) {
	return operate(ctx, y, service.Caller.StepWork, api.WorkerStepParams{WorkerParams: paramsOf(w), WorkerStep: ask})
}
