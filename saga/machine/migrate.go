package machine

import (
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Migrate is an instance under this version of its definition. Its state must
// be there too; the program's migrate(state, from) may change its data, where
// from is the version that it comes from. Steps, deferred events and timers
// stay; the time-out is the state's, as it is here.
//
// Errors: *[ProgramError]: it cannot be.
func (m *Machine) Migrate(in *domain.SagaInstance, hash string, nowMs int64) (Transition, error) {
	switch s := m.states[in.State]; {
	case in.Saga != m.def.Name:
		return Transition{}, failf("the instance is one of saga %q, not %q", in.Saga, m.def.Name)
	case in.Status == domain.SagaEnded:
		return Transition{}, failf("the instance has ended")
	case s == nil:
		return Transition{}, failf("the instance is in state %q, which version %d does not have%s", in.State, m.def.Version, m.meant(in.State))
	case s.Final:
		return Transition{}, failf("the instance is in state %q, which is final in version %d", in.State, m.def.Version)
	case in.Status == domain.SagaCompensating && m.def.Compensation == nil:
		return Transition{}, failf("the instance is being compensated, and version %d has no compensation", m.def.Version)
	}
	for i := range in.Timers {
		if x := &in.Timers[i]; x.State == "" && x.Event != resumeEvent && !m.timers[x.Event] {
			return Transition{}, failf("its timer %q is none of version %d's%s", x.Event, m.def.Version, nearest(x.Event, m.def.Timers))
		}
	}
	t, err := m.turn(in, nowMs)
	if err != nil {
		return Transition{}, err
	}
	t.changed = true
	t.out.Definition, t.out.Hash = m.def.Version, hash
	if err := t.migrateData(in.Definition); err != nil {
		return Transition{}, err
	}
	if err := t.migrateTimeout(); err != nil {
		return Transition{}, err
	}
	t.note("migrated")
	t.entry(&domain.Event{}, "", in.State, 0)
	t.drain()
	return t.end(), nil
}

// migrateData asks the program, if it has something to say.
func (t *turn) migrateData(from int) error {
	r := t.m.program.migrate
	if r == nil {
		return nil
	}
	data, err := t.dataValue()
	if err != nil {
		return err
	}
	v, err := r.call(data, value.Int(int64(from)))
	switch {
	case err != nil:
		return err
	case v.IsUnit():
		return nil
	case !v.Is(value.MapKind):
		return failf("migrate gave a %s, want the instance's data, or ()", v.TypeName())
	}
	text, err := canonical(v, domain.MaxSagaData)
	if err != nil {
		return failf("what migrate gave: %v", err)
	}
	t.out.Data, t.data = text, value.Value{}
	return nil
}

// migrateTimeout gives the instance the time-out that its state has now. One
// for the same event stays as it is: the time that has passed counts.
func (t *turn) migrateTimeout() error {
	s := t.m.states[t.out.State]
	i := slices.IndexFunc(t.out.Timers, func(x domain.SagaTimer) bool { return x.State != "" })
	switch {
	case t.out.Status == domain.SagaCompensating:
		return nil
	case s.Timeout != nil && i >= 0 && t.out.Timers[i].Event == s.Timeout.Event:
		return nil
	}
	t.leave()
	if s.Timeout == nil {
		return nil
	}
	return t.set(domain.SagaTimer{Event: s.Timeout.Event, DueMs: t.now + s.Timeout.After.Time().Milliseconds(), State: s.Name})
}
