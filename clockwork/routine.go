package clockwork

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/room"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/work"
)

// routineTries is how often a change of a routine is tried while others change
// it, too.
const routineTries = 8

// MaxRoutines bounds the routines of a context.
const MaxRoutines = 1000

// Jobs submits jobs.
type Jobs interface {
	Submit(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job) ([]work.Receipt, error)
	// Room returns an error while a context may have no new jobs.
	//
	// Errors: [domain.ErrExhausted], and those of the board.
	Room(ctx context.Context, tenant domain.TenantID) error
}

// Routines keeps the routines of all contexts and makes the jobs of their
// rounds. It has nothing in memory. It is safe for concurrent use.
//
//	ramet:routine:<name>                    what a person wrote
//	ramet:routine:<name>:<scale>.<index>    where an instance stands, its checkpoint
//	alarm routine:<name>:<scale>.<index>    the instance's next step; the end of
//	                                        its job sets it, too
type Routines struct {
	board board.Board
	jobs  Jobs
	bans  *ban.Cache
	rooms *room.Room
}

// NewRoutines returns the routines of a board. bans may be nil.
func NewRoutines(b board.Board, jobs Jobs, bans *ban.Cache) *Routines {
	return &Routines{b, jobs, bans, room.New(b, "routine")}
}

// Apply makes a routine, or changes the one of that name, in the name of by. A
// round under way ends as it began. One that is paused stays so.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] while others change it;
// [domain.ErrLimit].
func (u *Routines) Apply(ctx context.Context, tenant domain.TenantID, def domain.Routine, by domain.ActorID) (*domain.Routine, error) {
	def.CallerID, def.CreatedAt, def.UpdatedAt, def.Instances = by, 0, 0, nil
	if err := def.Validate(); err != nil {
		return nil, err
	}
	return u.change(ctx, tenant, def.Name, func(old *domain.Routine) (*domain.Routine, error) {
		now := domain.At(u.board.Now())
		is := def
		is.CreatedAt, is.UpdatedAt = now, now
		if old == nil {
			return &is, nil
		}
		is.CreatedAt, is.Paused = old.CreatedAt, is.Paused || old.Paused
		same := is
		same.UpdatedAt = old.UpdatedAt
		if reflect.DeepEqual(&same, old) {
			return old, nil
		}
		return &is, nil
	})
}

// room returns an error where the context has no room for another routine.
func (u *Routines) room(ctx context.Context, tenant domain.TenantID) error {
	n, err := listing.Count(ctx, u.board, layout.SpaceOf(tenant), layout.RoutinePrefix, MaxRoutines, isRoutine)
	if err == nil && n >= MaxRoutines {
		err = domain.Limitf("context %d has %d routines, which is the limit", tenant, n)
	}
	return err
}

// change writes what to makes of a routine, and sets the alarms of instances
// that have none.
func (u *Routines) change(ctx context.Context, tenant domain.TenantID, name string,
	to func(old *domain.Routine) (*domain.Routine, error)) (*domain.Routine, error) {
	space, key := layout.SpaceOf(tenant), layout.Routine(name)
	for range routineTries {
		old, revision, err := u.read(ctx, space, name)
		if err != nil {
			return nil, err
		}
		is, err := to(old)
		if err != nil {
			return nil, err
		}
		b := board.Batch{Space: space}
		b.Equal(key, layout.RoutineRevision, revision)
		b.Set(key, layout.EncodeRoutine(is, nextRevision(revision))...)
		if !is.Paused {
			if err := u.start(ctx, &b, is); err != nil {
				return nil, err
			}
		}
		if old == nil {
			err = u.rooms.Make(ctx, b, func(ctx context.Context) error { return u.room(ctx, tenant) })
		} else {
			err = u.board.Commit(ctx, b)
		}
		if err == nil {
			return u.Show(ctx, tenant, name)
		}
		if !errors.Is(err, domain.ErrConflict) {
			return nil, err
		}
	}
	return nil, domain.Conflictf("routine %q is being changed by others; try again", name)
}

func nextRevision(text string) string {
	n, _ := strconv.ParseInt(text, 10, 64)
	return strconv.FormatInt(n+1, 10)
}

// start sets the alarms of those instances that have none.
func (u *Routines) start(ctx context.Context, b *board.Batch, r *domain.Routine) error {
	for _, p := range parts(r) {
		name := instanceAlarm(r.Name, p)
		at, set, err := u.board.AlarmOf(ctx, b.Space, name)
		if err != nil {
			return err
		}
		if set {
			b.AlarmAt(name, at) // or it is being cleared, by who saw the routine paused
		} else {
			b.SetAlarm(name, u.board.Now())
		}
	}
	return nil
}

// parts are a routine's instances at its scale.
func parts(r *domain.Routine) []domain.RoutinePart {
	list := make([]domain.RoutinePart, r.ScaleOr())
	for i := range list {
		list[i] = domain.RoutinePart{Scale: r.ScaleOr(), Index: i}
	}
	return list
}

func instanceAlarm(name string, p domain.RoutinePart) string {
	return layout.RoutineAlarm(name + ":" + p.String())
}

// read reads a definition; nil where there is none.
func (u *Routines) read(ctx context.Context, space board.Space, name string) (*domain.Routine, string, error) {
	key := layout.Routine(name)
	recs, err := u.board.Get(ctx, space, key)
	if err != nil || recs[0] == nil {
		return nil, "", err
	}
	r, err := layout.DecodeRoutine(key, recs[0])
	return r, recs[0].Get(layout.RoutineRevision), err
}

// Show is one routine with its instances.
//
// Errors: [domain.ErrNotFound].
func (u *Routines) Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	space := layout.SpaceOf(tenant)
	r, _, err := u.read(ctx, space, name)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, noRoutine(tenant, name)
	}
	keys := make([]string, 0, r.ScaleOr())
	for _, p := range parts(r) {
		keys = append(keys, layout.RoutineInstance(name, p))
	}
	recs, err := u.board.Get(ctx, space, keys...)
	if err != nil {
		return nil, err
	}
	for i, p := range parts(r) {
		state := layout.DecodeInstance(recs[i])
		state.Name = domain.InstanceName(name, p)
		if held := u.held(tenant, r, p); held != "" && state.Job == "" { // the record has it once the next round is due
			state.Held = held
		}
		r.Instances = append(r.Instances, state)
	}
	return r, u.underWay(ctx, tenant, r)
}

// underWay says of rounds whose jobs are submitted and have not begun that they have not, and which ban holds them.
func (u *Routines) underWay(ctx context.Context, tenant domain.TenantID, r *domain.Routine) error {
	var at []*domain.RoutineInstance
	var keys []domain.JobKey
	var names []string
	for i := range r.Instances {
		if key, err := domain.ParseJobKey(r.Instances[i].Job); err == nil {
			at, keys, names = append(at, &r.Instances[i]), append(keys, key), append(names, key.String())
		}
	}
	if len(at) == 0 {
		return nil
	}
	recs, err := u.board.GetFields(ctx, layout.SpaceOf(tenant), layout.JobLine, names...)
	if err != nil {
		return err
	}
	for i, rec := range recs {
		job, err := layout.DecodeJob(keys[i], rec)
		if rec == nil || err != nil || job.StartedMs != 0 || job.Final() { // of one that has left the board nothing is known
			continue
		}
		at[i].BeganMs = 0
		if by, yes, _ := u.bans.Pick(job, func() (string, error) { return "", nil }); yes { // it is of no blueprint
			at[i].Held = by.Text()
		}
	}
	return nil
}

func noRoutine(tenant domain.TenantID, name string) error {
	return domain.NotFoundf("routine %q does not exist in context %d; see `ramet routine list`", name, tenant)
}

// List returns the routines of a context by name, without scripts, params, env
// and checkpoints.
func (u *Routines) List(ctx context.Context, tenant domain.TenantID) ([]*domain.Routine, error) {
	names, err := u.names(ctx, tenant)
	if err != nil {
		return nil, err
	}
	list := make([]*domain.Routine, 0, len(names))
	for _, name := range names {
		r, err := u.Show(ctx, tenant, name)
		if errors.Is(err, domain.ErrNotFound) {
			continue // deleted since
		} else if errors.Is(err, domain.ErrInvalid) {
			r = &domain.Routine{Name: name} // Show says what is wrong with it
		} else if err != nil {
			return nil, err
		}
		r.Script, r.Params, r.Env = "", nil, nil
		for i := range r.Instances {
			r.Instances[i].Checkpoint = ""
		}
		list = append(list, r)
	}
	return list, nil
}

// isRoutine reports whether a key is a routine's own, not an instance's.
func isRoutine(key string) bool {
	return !strings.Contains(strings.TrimPrefix(key, layout.RoutinePrefix), ":")
}

// names are those of a context's routines, in order.
func (u *Routines) names(ctx context.Context, tenant domain.TenantID) ([]string, error) {
	var names []string
	for cursor := ""; ; {
		keys, next, err := u.board.Keys(ctx, layout.SpaceOf(tenant), layout.RoutinePrefix, cursor, schedulePage)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if isRoutine(key) {
				names = append(names, strings.TrimPrefix(key, layout.RoutinePrefix))
			}
		}
		if cursor = next; next == "" {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
}

// Pause lets no more rounds begin; one under way goes on.
//
// Errors: [domain.ErrNotFound].
func (u *Routines) Pause(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return u.setPaused(ctx, tenant, name, true)
}

// Resume lets a paused routine go on.
//
// Errors: [domain.ErrNotFound].
func (u *Routines) Resume(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	return u.setPaused(ctx, tenant, name, false)
}

func (u *Routines) setPaused(ctx context.Context, tenant domain.TenantID, name string, paused bool) (*domain.Routine, error) {
	return u.change(ctx, tenant, name, func(old *domain.Routine) (*domain.Routine, error) {
		if old == nil {
			return nil, noRoutine(tenant, name)
		}
		old.Paused, old.UpdatedAt = paused, domain.At(u.board.Now())
		return old, nil
	})
}

// Run lets the next round of each instance begin now, instead of at its time.
// A round under way is let end.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] for one that is paused.
func (u *Routines) Run(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	r, err := u.Show(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	if r.Paused {
		return nil, domain.Conflictf("routine %q is paused; `ramet routine resume %s` lets it go on", name, name)
	}
	for i, p := range parts(r) {
		if err := u.hurry(ctx, layout.SpaceOf(tenant), name, p, r.Instances[i]); err != nil {
			return nil, err
		}
	}
	return u.Show(ctx, tenant, name)
}

// hurry lets an instance that rests begin its next round now.
func (u *Routines) hurry(ctx context.Context, space board.Space, name string, p domain.RoutinePart, i domain.RoutineInstance) error {
	if i.Job != "" {
		return nil
	}
	key := layout.RoutineInstance(name, p)
	b := board.Batch{Space: space}
	b.Equal(key, layout.InstanceJob, "").Equal(key, layout.InstanceRound, roundText(i.Round))
	i.NextMs = 0
	b.Set(key, layout.EncodeInstance(i)...).SetAlarm(instanceAlarm(name, p), u.board.Now())
	return unlessChanged(u.board.Commit(ctx, b)) // it has just begun
}

// roundText is a round's number as the record has it: "" before it is written.
func roundText(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Delete takes a routine away with its checkpoints, and returns what it was. A
// round under way is let end.
//
// Errors: [domain.ErrNotFound].
func (u *Routines) Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Routine, error) {
	space := layout.SpaceOf(tenant)
	r, err := u.Show(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	if err := u.forgetOthers(ctx, space, r); err != nil {
		return nil, err
	}
	b := board.Batch{Space: space}
	b.Delete(layout.Routine(name))
	now := u.board.Now()
	for _, p := range parts(r) {
		// The alarm sees that the routine is gone, and clears up.
		b.SetAlarm(instanceAlarm(name, p), now)
	}
	return r, u.board.Commit(ctx, b)
}

// forgetOthers removes the instances that a routine had at other scales. There
// may be more of them than one commit could remove.
func (u *Routines) forgetOthers(ctx context.Context, space board.Space, r *domain.Routine) error {
	for cursor := ""; ; {
		keys, next, err := u.board.Keys(ctx, space, layout.Routine(r.Name)+":", cursor, schedulePage)
		if err != nil {
			return err
		}
		b := board.Batch{Space: space}
		for _, key := range keys {
			name := layout.RoutineAlarm(strings.TrimPrefix(key, layout.RoutinePrefix))
			if _, p, ok := layout.ParseRoutineAlarm(name); !ok || p.Scale != r.ScaleOr() {
				b.Delete(key).ClearAlarm(name)
			}
		}
		if len(b.Ops) > 0 {
			if err := u.board.Commit(ctx, b); err != nil {
				return err
			}
		}
		if cursor = next; next == "" {
			return nil
		}
	}
}

// Maintenance lists what the nodes do for the whole board, by name.
func (u *Routines) Maintenance(ctx context.Context) ([]domain.MaintenanceService, error) {
	var list []domain.MaintenanceService
	for cursor := ""; ; {
		keys, next, err := u.board.Keys(ctx, 0, layout.RoutinePrefix, cursor, schedulePage)
		if err != nil {
			return nil, err
		}
		recs, err := board.Readable(u.board.Get(ctx, 0, keys...))
		if err != nil {
			return nil, err
		}
		for i, rec := range recs {
			s := domain.MaintenanceService{Name: strings.TrimPrefix(keys[i], layout.RoutinePrefix), Holder: rec.Get(board.FieldOwner)}
			s.EveryMs, _ = strconv.ParseInt(rec.Get(layout.MaintenanceEveryMs), 10, 64)
			if s.Holder != "" {
				s.SinceMs, _ = strconv.ParseInt(rec.Get(layout.MaintenanceSinceMs), 10, 64)
			}
			if by, held := u.bans.Routine(domain.BanExec, 0, s.Name); held {
				s.Held = by.Text()
			}
			list = append(list, s)
		}
		if cursor = next; next == "" {
			slices.SortFunc(list, func(a, b domain.MaintenanceService) int { return cmp.Compare(a.Name, b.Name) })
			return list, nil
		}
	}
}
