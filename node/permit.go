package node

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/work"
)

// Permit says whether an actor may create work in a context; object is what for.
// Schedules and routines act in the name of who made them, and jobs in that of
// their callers, who may have lost the right since, or never had it.
//
// Errors: [domain.ErrForbidden].
type Permit func(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, object string) error

// mayMake is the Permit of what schedules and routines make, which also waits for room:
// they come again.
func (n *Node) mayMake(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, object string) error {
	if err := n.room(ctx, tenant); err != nil {
		return err
	}
	return n.cfg.Permit(ctx, tenant, actor, object)
}

// room returns an error while a context may have nothing new: for the disk, or for what
// of it has not ended. What waits for the archive holds up only what people submit.
//
// Errors: [domain.ErrExhausted], and those of the board.
func (n *Node) room(ctx context.Context, tenant domain.TenantID) error {
	if err := n.cfg.Disk.Intake(); err != nil {
		return err
	}
	return n.Work.Waiting(ctx, tenant)
}

// permittedJobs submits only jobs of actors who may.
type permittedJobs struct {
	jobs *work.Engine
	may  Permit
	room func(ctx context.Context, tenant domain.TenantID) error
}

func (p permittedJobs) Room(ctx context.Context, tenant domain.TenantID) error {
	return p.room(ctx, tenant)
}

func (p permittedJobs) Submit(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job) ([]work.Receipt, error) {
	for _, j := range jobs {
		if err := p.may(ctx, tenant, j.CallerID, "routine"); err != nil {
			return nil, err
		}
	}
	return p.jobs.Submit(ctx, tenant, jobs)
}

// permittedFlows submits only flows of actors who may.
type permittedFlows struct {
	flows *flow.Engine
	may   Permit
	what  string // asks
}

func (p permittedFlows) Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error) {
	for _, r := range reqs {
		if err := p.may(ctx, tenant, r.Caller, p.what); err != nil {
			return nil, err
		}
	}
	return p.flows.Submit(ctx, tenant, reqs)
}

func (p permittedFlows) Named(ctx context.Context, tenant domain.TenantID, blueprint string, triggers []string) ([]domain.FlowID, error) {
	return p.flows.Named(ctx, tenant, blueprint, triggers)
}
