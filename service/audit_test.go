package service_test

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// call calls an operation by name, as doors do.
func (r *rig) call(actor domain.ActorID, name string, params any) error {
	r.Helper()
	_, err := service.Named(name).Call(r.Context(), r.api.As(actor), params)
	return err
}

// flush lets the audit log write what waits.
func (r *rig) flush() {
	r.Helper()
	if err := r.audit.Flush(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// lines are those of a context's log, oldest first.
func (r *rig) lines(tenant domain.TenantID) (lines []string) {
	r.Helper()
	r.flush()
	entries, _, err := r.audit.Entries(r.Context(), tenant, identity.AuditFilter{Most: 1000})
	if err != nil {
		r.Fatal(err)
	}
	for _, e := range entries {
		if e.Actor == 0 || e.AtMs == 0 {
			r.Errorf("got %+v", e)
		}
		lines = append([]string{strings.TrimSpace(string(e.Outcome) + " " + e.Verb + " " + e.Object + " " + e.Detail)}, lines...)
	}
	return lines
}

func TestWhatIsDoneByHandIsInTheAuditLog(t *testing.T) {
	r := newRig(t)
	r.submit(1, map[string]string{"TOKEN": "hush"})
	do := func(name string, params any, want error) {
		t.Helper()
		if err := r.call(admin, name, params); !errors.Is(err, want) {
			t.Fatalf("%s: got %v, want %v", name, err, want)
		}
		r.flush()
	}
	job := &api.JobParams{Context: house, Caller: admin, ID: 1}
	do("job.cancel", job, nil)
	do("job.cancel", &api.JobParams{Context: house, Caller: admin, ID: 2}, domain.ErrNotFound) // came to nothing
	do("job.show", job, nil)                                                                   // no act
	ban := &api.BanParams{In: house, BanInput: api.BanInput{BanScope: domain.BanScope{Kind: domain.BanContext}, Level: domain.BanPick, Reason: "disk is full"}}
	do("ban.set", ban, nil)
	do("ban.lift", &api.LiftParams{In: house, BanScope: domain.BanScope{Kind: domain.BanContext}}, nil)
	do("context.grant", &api.GrantParams{Context: house, Actor: stranger, Role: domain.Reader}, nil)
	do("context.revoke", &api.GrantParams{Context: house, Actor: stranger}, nil)
	do("prerequisite.meet", &api.MeetParams{Context: house, Prerequisite: api.Prerequisite{Name: "coffee"}}, nil)
	want := []string{"done cancel job:10:1", "done set ban:7:context pick: disk is full", "done lift ban:7:context", "done grant actor:40 reader",
		"done revoke actor:40 reader", "done meet prerequisite:coffee"}
	if diff := cmp.Diff(want, r.lines(house)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.lines(0); len(got) != 0 {
		t.Errorf("the node's log has %q", got)
	}
}

// One act has one word, whether it was done or denied: those who look for who
// cancelled something, or tried to, look once.
func TestWhatIsDoneAndWhatIsDeniedHaveOneWord(t *testing.T) {
	r := newRig(t)
	for i := range service.Operations {
		o := &service.Operations[i]
		if o.Right.Reads() {
			continue
		}
		_, want, _ := strings.Cut(o.Name, ".")
		for how, deny := range map[string]func() error{
			"before its body is read": func() error { return r.api.As(stranger).Admit(r.Context(), o, house) },
			"when it is called": func() error {
				params := o.NewParams()
				servicetest.Fill(params, house)
				_, err := o.Call(r.Context(), r.api.As(stranger), params)
				return err
			},
		} {
			r.asked = nil
			if err := deny(); !o.Right.OnNode() && !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("%s %s: got %v", o.Name, how, err)
			}
			if len(r.asked) == 0 || r.asked[0].Act != want {
				t.Errorf("%s %s: asked as %+v, want %q", o.Name, how, r.asked, want)
			}
		}
	}
	job := &api.JobParams{Context: house, Caller: admin, ID: 1}
	r.submit(1, nil)
	if err := r.call(stranger, "job.cancel", job); !errors.Is(err, domain.ErrForbidden) {
		t.Fatal(err)
	}
	if err := r.call(admin, "job.cancel", job); err != nil {
		t.Fatal(err)
	}
	got := r.lines(house)
	for _, want := range []string{"denied cancel job:10:1", "done cancel job:10:1"} {
		if !slices.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}

func TestTheAuditLogIsForAdmins(t *testing.T) {
	r := newRig(t)
	if err := r.call(stranger, "job.cancel", &api.JobParams{Context: house, Caller: admin, ID: 1}); !errors.Is(err, domain.ErrForbidden) {
		t.Fatal(err)
	}
	r.flush()
	got, err := r.api.As(admin).AuditLog(t.Context(), api.AuditLogParams{Context: house})
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Actor != stranger || got.Entries[0].Object != "job:10:1" || got.Next != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, f := range map[string]api.AuditLogFilter{"outcome": {Outcome: "x"}, "cursor": {Cursor: "x"}, "limit": {Limit: 1001},
		"a limit below zero": {Limit: -1}} {
		if _, err := r.api.As(admin).AuditLog(t.Context(), api.AuditLogParams{Context: house, AuditLogFilter: f}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// Who may not read it is in it, too.
	if _, err := r.api.As(reader).AuditLog(t.Context(), api.AuditLogParams{Context: house}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("a reader: got %v", err)
	}
	r.flush()
	page, err := r.api.As(admin).AuditLog(t.Context(),
		api.AuditLogParams{Context: house, AuditLogFilter: api.AuditLogFilter{Outcome: domain.AuditDenied, Actor: reader}})
	if err != nil || len(page.Entries) != 1 || page.Entries[0].Verb != "review" {
		t.Errorf("got %+v, %v", page, err)
	}
	if done, err := r.api.As(admin).AuditLog(t.Context(), api.AuditLogParams{Context: house,
		AuditLogFilter: api.AuditLogFilter{Outcome: domain.AuditDone}}); err != nil || len(done.Entries) != 0 {
		t.Errorf("got %+v, %v", done, err)
	}
}

// TestTheAuditLogIsReadOnANodeThatTakesNothingIn: looking is no work.
func TestTheAuditLogIsReadOnANodeThatTakesNothingIn(t *testing.T) {
	r := newRig(t)
	r.noGateway = true
	if _, err := r.api.As(admin).AuditLog(t.Context(), api.AuditLogParams{Context: house}); err != nil {
		t.Error(err)
	}
	if _, err := r.api.As(operator).NodeAuditLog(t.Context(), api.NodeAuditLogParams{}); err != nil {
		t.Error(err)
	}
	if _, err := r.api.As(admin).GrantContext(t.Context(),
		api.GrantParams{Context: house, Actor: stranger, Role: domain.Reader}); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a grant: got %v", err)
	}
}

func TestGrantsThroughTheTable(t *testing.T) {
	r := newRig(t)
	made, err := r.api.As(admin).GrantContext(t.Context(), api.GrantParams{Context: house, Actor: stranger, Role: domain.Executor})
	if err != nil || !made.Changed || len(made.Executors) != 2 {
		t.Fatalf("got %+v, %v", made, err)
	}
	if err := r.call(stranger, "job.list", &api.ListJobsParams{Context: house}); err != nil {
		t.Errorf("with the right: %v", err)
	}
	// It is a right of this context only, and not to give away.
	if err := r.call(stranger, "job.list", &api.ListJobsParams{Context: servicetest.Elsewhere}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("elsewhere: got %v", err)
	}
	if err := r.call(stranger, "context.grant", &api.GrantParams{Context: house, Actor: stranger, Role: domain.Admin}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("an executor who grants: got %v", err)
	}
	if err := r.call(servicetest.Neighbour, "context.grant", &api.GrantParams{Context: house, Actor: servicetest.Neighbour,
		Role: domain.Admin}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("the admin of another context: got %v", err)
	}
	if _, err := r.api.As(admin).RevokeContext(t.Context(), api.GrantParams{Context: house, Actor: stranger}); err != nil {
		t.Fatal(err)
	}
	if err := r.call(stranger, "job.list", &api.ListJobsParams{Context: house}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("without it: got %v", err)
	}
	yes := true
	if _, err := r.api.As(admin).UpdateContext(t.Context(),
		api.UpdateContextParams{Context: house, TenantChange: domain.TenantChange{ExecutorsMaySubmit: &yes}}); err != nil {
		t.Fatal(err)
	}
	if err := r.call(executor, "job.cancel", &api.JobParams{Context: house, Caller: admin, ID: 9}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an executor who may submit now: got %v", err)
	}
}

func field(name, value string) board.Field { return board.Field{Name: name, Value: value} }

func TestNodesAndRunnersAreShown(t *testing.T) {
	r := newRig(t)
	put := func(key string, fields ...board.Field) {
		var b board.Batch
		if err := r.board.Commit(t.Context(), *b.Set(key, fields...)); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().UnixMilli()
	put(layout.Node("b"), field("id", "x"), field("seen_ms", "0"), field("version", "v1"), field("runner_id", "4"))
	put(layout.Node("a"), field("id", "y"), field("seen_ms", strconv.FormatInt(now, 10)), field("off", `[{"role":"runner","rule":1,"why":"old"}]`),
		field("labels", `{"zone":"eu"}`))
	put(layout.Node("c"), field("runner_id", "many")) // somebody spoiled it
	put(layout.Runner(4), field("id", "4"), field("node", "b"))
	// Lists where a node and a runner would be hide no other.
	if err := r.board.Commit(t.Context(), *new(board.Batch).PushLeft(layout.Node("strange"), "x").PushLeft(layout.Runner(9), "x")); err != nil {
		t.Fatal(err)
	}
	if got, err := r.api.As(operator).ListRunners(t.Context(), api.ListRunnersParams{}); err != nil || len(got.Runners) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	list, err := r.api.As(operator).ListNodes(t.Context(), api.ListNodesParams{})
	if err != nil || len(list.Nodes) != 3 || list.Nodes[0].Name != "a" || !list.Nodes[0].Alive || list.Nodes[1].Alive || list.Nodes[1].Version != "v1" {
		t.Errorf("got %+v, %v", list, err)
	}
	n, err := r.api.As(operator).ShowNode(t.Context(), api.NodeParams{Name: "a"})
	if err != nil || !n.Alive || n.Labels["zone"] != "eu" || len(n.Off) != 1 || n.Off[0].Role != domain.RoleRunner {
		t.Errorf("got %+v, %v", n, err)
	}
	for _, name := range []string{"d", strings.Repeat("x", 300)} {
		if _, err := r.api.As(operator).ShowNode(t.Context(), api.NodeParams{Name: name}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a node that is not there: got %v", err)
		}
	}
	if got, err := r.api.As(operator).ShowRunner(t.Context(), api.RunnerParams{Runner: 4}); err != nil || got.Node != "b" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := r.api.As(operator).ShowRunner(t.Context(), api.RunnerParams{Runner: 5}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a runner that is not there: got %v", err)
	}
	if _, err := r.api.As(stranger).ShowRunner(t.Context(), api.RunnerParams{Runner: 4, Context: house}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("a context's runner: got %v", err)
	}
	if _, err := r.api.As(reader).ShowRunner(t.Context(), api.RunnerParams{Runner: 4, Context: house}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a node's runner in a context: got %v", err)
	}
}

// To ask what would be done is no act: forms do it with each letter that somebody types.
func TestToLookIsNotInTheAuditLog(t *testing.T) {
	looking := 0
	for _, o := range service.Operations {
		dry := reflect.ValueOf(o.NewParams()).Elem().FieldByName("DryRun")
		if !o.ByHand || !dry.IsValid() {
			continue
		}
		looking++
		params := o.NewParams()
		reflect.ValueOf(params).Elem().FieldByName("DryRun").SetBool(true)
		if l, ok := params.(interface{ LooksOnly() bool }); !ok || !l.LooksOnly() {
			t.Errorf("%s: its dry run is noted as done: want LooksOnly of %T", o.Name, params)
		}
	}
	if looking == 0 {
		t.Error("no operation that is noted has a dry run")
	}
	r := newRig(t)
	made := &api.ApplyBlueprintParams{Context: house, Text: "name: hello\nsteps:\n- {name: a, script: 'true', script_type: shell}\n"}
	if err := r.call(admin, "blueprint.apply", made); err != nil {
		t.Fatal(err)
	}
	nightly := domain.Schedule{Name: "nightly", Blueprint: "hello", Cron: "0 2 * * *"}
	if err := r.call(admin, "schedule.apply", &api.ScheduleApplyParams{Context: house, Schedule: api.Schedule{Schedule: nightly}}); err != nil {
		t.Fatal(err)
	}
	for _, look := range []bool{true, false} {
		p := api.ScheduleBackfillParams{ScheduleParams: api.ScheduleParams{Context: house, Name: "nightly"},
			From: 1_767_225_600_000, To: 1_767_484_800_000, DryRun: look}
		before := r.lines(house)
		if err := r.call(admin, "schedule.backfill", &p); err != nil {
			t.Fatal(err)
		}
		if after := r.lines(house); (len(after) == len(before)) != look {
			t.Errorf("dry run %v: got %q", look, after)
		}
	}
}
