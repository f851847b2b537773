package api_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/work"
)

// The actors of the tests; context 7 has three of them, the operator is in no
// list.
const (
	operator = domain.Operator
	admin    = domain.ActorID(10)
	executor = domain.ActorID(20)
	reader   = domain.ActorID(30)
	stranger = domain.ActorID(40)
	house    = domain.TenantID(7)
)

// rig is an API on a memory board, with nobody to run jobs.
type rig struct {
	*testing.T
	api      *api.API
	board    *memboard.Board
	registry *identity.Registry
	engine   *work.Engine
	access   *identity.Access
	asked    []identity.Ask // what the API asked access
	// noGateway says that the node takes nothing in.
	noGateway bool
}

func newRig(t *testing.T) *rig {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	r := &rig{T: t, board: b, registry: identity.NewRegistry(b), engine: work.New(b, work.Config{})}
	r.access = identity.NewAccess(r.registry, nil)
	for _, id := range []domain.ActorID{operator, admin, executor, reader, stranger} {
		key, err := identity.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.registry.CreateActor(t.Context(), domain.Actor{ID: id, Pubkey: key.Pubkey()}); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: house, Admins: []domain.ActorID{admin},
		Executors: []domain.ActorID{executor}, Readers: []domain.ActorID{reader}})
	if err != nil {
		t.Fatal(err)
	}
	r.api = api.New(api.Parts{Jobs: r.engine, Flows: flow.New(b, r.engine, flow.Config{}), Directory: r.registry, Access: r, Records: b, Schedules: clockwork.NewSchedules(b, noFlows{b}, nil), Bans: ban.New(b), Blueprints: blueprint.NewStore(b), Duties: clockwork.DutyRulesOn(b), Writable: r.writable, Routines: clockwork.NewUserRoutines(b, r.engine, nil), Logger: slog.New(slog.DiscardHandler),
		Info: func() api.Info { return api.Info{Name: "n1", Durability: "memory", Ready: true} }})
	return r
}

func (r *rig) writable() error {
	if r.noGateway {
		return domain.Unavailablef("no gateway")
	}
	return nil
}

// CheckIn and Sees pass on to the real access, and remember.
func (r *rig) CheckIn(ctx context.Context, ask identity.Ask) (domain.Tenant, error) {
	r.asked = append(r.asked, ask)
	return r.access.CheckIn(ctx, ask)
}

func (r *rig) Sees(ctx context.Context, actor domain.ActorID, tenant domain.TenantID) (bool, error) {
	return r.access.Sees(ctx, actor, tenant)
}

// submit submits one job as the admin.
func (r *rig) submit(id domain.JobID, env map[string]string) {
	r.Helper()
	var p api.SubmitParams
	p.Context = house
	p.Job = domain.Job{ID: id, Script: "x", ScriptType: "shell", EnvVars: env}
	if _, err := r.api.As(admin).SubmitJobs(r.Context(), p); err != nil {
		r.Fatal(err)
	}
}

// hold leases the next queued job to an owner.
func (r *rig) hold(item, owner string) {
	r.Helper()
	got, err := r.board.Claim(r.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:shell"}}}, Max: 1, Owner: owner, Lease: time.Minute})
	if err != nil || len(got) != 1 || got[0].Item != item {
		r.Fatalf("got %v, %v", got, err)
	}
}
