package service_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// The actors of the tests; context 7 has three of them, the operator is in no
// list.
const (
	operator = servicetest.Operator
	admin    = servicetest.Admin
	executor = servicetest.Executor
	reader   = servicetest.Reader
	stranger = servicetest.Stranger
	house    = servicetest.House
)

// rig is an API on a memory board, with nobody to run jobs.
type rig struct {
	*testing.T
	api      *service.Service
	board    *memboard.Board
	registry *identity.Registry
	engine   *work.Engine
	bulks    *bulk.Engine
	access   service.Access
	audit    *identity.AuditLog
	archive  archive.Archive // nil: none
	asking   sync.Mutex
	asked    []identity.Ask // what the API asked access
	answered func()         // is called once, after the next answer of access
	// noGateway says that the node takes nothing in.
	noGateway bool
}

func newRig(t *testing.T) *rig { return newRigOf(t, work.Config{}) }

// newRigOf is a rig whose engine of jobs is one of cfg.
func newRigOf(t *testing.T, cfg work.Config) *rig {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	r := &rig{T: t, board: b, registry: identity.NewRegistry(precondition.Over(b)), engine: work.New(b, cfg)}
	if _, err := servicetest.People(t.Context(), r.registry); err != nil {
		t.Fatal(err)
	}
	parts := servicetest.Parts(b, r.registry, r.engine)
	r.access, parts.Access = parts.Access, r
	r.audit = parts.Audit.(*identity.AuditLog)
	parts.Schedules = clockwork.NewSchedules(precondition.Over(b), noFlows{b}, nil)
	parts.Writable = r.writable
	r.bulks = parts.Bulks.(*bulk.Engine)
	r.api = service.New(parts)
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
	r.asking.Lock()
	r.asked = append(r.asked, ask)
	then := r.answered
	r.answered = nil
	r.asking.Unlock()
	t, err := r.access.CheckIn(ctx, ask)
	if then != nil {
		then()
	}
	return t, err
}

func (r *rig) Named(ctx context.Context, who identity.Proof, name string) (domain.TenantID, error) {
	return r.access.Named(ctx, who, name)
}

func (r *rig) Sees(ctx context.Context, who identity.Proof, tenant domain.TenantID) (bool, error) {
	return r.access.Sees(ctx, who, tenant)
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
