package service

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/layout"
)

// Routines is what the operations need of those who keep routines.
type Routines interface {
	Apply(ctx context.Context, tenant domain.TenantID, def domain.Routine, by domain.ActorID) (*domain.Routine, error)
	Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error)
	List(ctx context.Context, tenant domain.TenantID) ([]*domain.Routine, error)
	Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error)
	Pause(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error)
	Resume(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error)
	Run(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error)
	Maintenance(ctx context.Context) ([]domain.MaintenanceService, error)
}

// ListRoutines lists routines.
func (c Caller) ListRoutines(ctx context.Context, p api.ListRoutinesParams) (list api.RoutinePage, err error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "routines"); err != nil {
		return list, err
	}
	if list.Routines, err = c.api.parts.Routines.List(ctx, p.Context); err != nil {
		return list, err
	}
	if err = c.untaken(ctx, p.Context, list.Routines...); err != nil {
		return list, err
	}
	if c.who.Operates(domain.VerbInspect, c.group) {
		list.System, err = c.api.parts.Routines.Maintenance(ctx)
	}
	return list, err
}

// hideEnv takes the values of environment variables from a routine that the
// caller may not read.
func (c Caller) hideEnv(t domain.Tenant, r *domain.Routine) {
	if c.who.Permits(t, domain.VerbReadEnv, false, c.group) {
		return
	}
	redact(r.Env)
}

// untaken says of instances whose round has not failed yet that no job of theirs is made, as nobody knows the
// type of their script: a round that begins has the number of a job before that is refused.
func (c Caller) untaken(ctx context.Context, tenant domain.TenantID, list ...*domain.Routine) error {
	if len(list) == 0 {
		return nil
	}
	lacks, err := c.api.parts.Jobs.Lacks(ctx, tenant)
	if err != nil {
		return err
	}
	for _, r := range list {
		why, refused := lacks(&domain.Job{ContextID: tenant, ScriptType: r.ScriptType, Affinity: r.Affinity})
		for i := range r.Instances {
			if at := &r.Instances[i]; refused && !r.Paused && at.Held == "" && at.Error == "" {
				at.Job, at.BeganMs, at.Held = "", 0, why
			}
		}
	}
	return nil
}

// ApplyRoutine makes a routine in the caller's name, or changes it.
func (c Caller) ApplyRoutine(ctx context.Context, p api.RoutineApplyParams) (*domain.Routine, error) {
	t, err := c.may(ctx, domain.VerbCreate, p.Context, "routine:"+p.Name)
	if err != nil {
		return nil, err
	}
	if err := hide.Refuse(p.Env); err != nil {
		return nil, err
	}
	r, err := makes(ctx, c, thingOf(p.Context, layout.Routine(p.Name), ""), func(ctx context.Context) (*domain.Routine, error) {
		return c.api.parts.Routines.Apply(ctx, p.Context, p.Routine, c.who.Actor)
	}, func(ctx context.Context, _ made) (*domain.Routine, error) {
		return c.api.parts.Routines.Show(ctx, p.Context, p.Name)
	})
	if err == nil { // where the request is a repeated one, others may have changed it since
		c.hideEnv(t, r)
		err = c.untaken(ctx, p.Context, r)
	}
	return r, err
}

// ShowRoutine shows a routine and where its instances stand.
func (c Caller) ShowRoutine(ctx context.Context, p api.RoutineParams) (*domain.Routine, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, "routine:"+p.Name)
	if err != nil {
		return nil, err
	}
	r, err := c.api.parts.Routines.Show(ctx, p.Context, p.Name)
	if err == nil {
		c.hideEnv(t, r)
		err = c.untaken(ctx, p.Context, r)
	}
	return r, err
}

// onRoutine does something to a routine that the verb allows.
func (c Caller) onRoutine(ctx context.Context, verb domain.Verb, p api.RoutineParams,
	do func(context.Context, domain.TenantID, string) (*domain.Routine, error)) (*domain.Routine, error) {
	t, err := c.may(ctx, verb, p.Context, "routine:"+p.Name)
	if err != nil {
		return nil, err
	}
	r, err := do(ctx, p.Context, p.Name)
	if err == nil {
		c.hideEnv(t, r)
		err = c.untaken(ctx, p.Context, r)
	}
	return r, err
}

// DeleteRoutine takes a routine away; a round under way is let end.
func (c Caller) DeleteRoutine(ctx context.Context, p api.RoutineParams) (*domain.Routine, error) {
	return c.onRoutine(ctx, domain.VerbDelete, p, c.api.parts.Routines.Delete)
}

// PauseRoutine lets no more rounds begin.
func (c Caller) PauseRoutine(ctx context.Context, p api.RoutineParams) (*domain.Routine, error) {
	return c.onRoutine(ctx, domain.VerbStart, p, c.api.parts.Routines.Pause)
}

// ResumeRoutine lets a paused routine go on.
func (c Caller) ResumeRoutine(ctx context.Context, p api.RoutineParams) (*domain.Routine, error) {
	return c.onRoutine(ctx, domain.VerbStart, p, c.api.parts.Routines.Resume)
}

// RunRoutine lets the next rounds begin now.
func (c Caller) RunRoutine(ctx context.Context, p api.RoutineParams) (*domain.Routine, error) {
	return c.onRoutine(ctx, domain.VerbStart, p, c.api.parts.Routines.Run)
}
