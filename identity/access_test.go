package identity_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

const (
	admin    = domain.ActorID(10)
	executor = domain.ActorID(20)
	reader   = domain.ActorID(30)
	stranger = domain.ActorID(40)
)

var house = domain.Tenant{ID: 7, Admins: []domain.ActorID{admin}, Executors: []domain.ActorID{executor}, Readers: []domain.ActorID{reader}}

// TestTableOfRights is the table once more, by hand: every verb and role.
func TestTableOfRights(t *testing.T) {
	manage := []domain.Verb{domain.VerbCreate, domain.VerbDelete, domain.VerbStart, domain.VerbCancel, domain.VerbRetry}
	run := []domain.Verb{domain.VerbClaim, domain.VerbExtend, domain.VerbFinish, domain.VerbAppendLog, domain.VerbPop, domain.VerbMeet, domain.VerbWrite}
	strict := []domain.Verb{domain.VerbGrant, domain.VerbAudit, domain.VerbBan, domain.VerbPlace}
	open := house
	open.ExecutorsMaySubmit = true
	type row struct {
		name    string
		tenant  domain.Tenant
		actor   domain.ActorID
		holds   bool
		manage  bool
		strict  bool
		read    bool
		readEnv bool
		run     bool
	}
	for _, r := range []row{
		{name: "an admin may everything", tenant: house, actor: admin, manage: true, strict: true, read: true, readEnv: true, run: true},
		{name: "an executor runs and reads", tenant: house, actor: executor, read: true, run: true},
		{name: "an executor reads the env of a job it holds", tenant: house, actor: executor, holds: true, read: true, readEnv: true, run: true},
		{name: "an executor who may submit does not grant", tenant: open, actor: executor, manage: true, read: true, run: true},
		{name: "a reader reads", tenant: house, actor: reader, read: true},
		{name: "a reader reads no env even of a job it seems to hold", tenant: house, actor: reader, holds: true, read: true},
		{name: "a reader gains nothing where executors may submit", tenant: open, actor: reader, read: true},
		{name: "a stranger may nothing", tenant: open, actor: stranger, holds: true},
		{name: "the operator is a stranger where no list names it, but may stop what runs", tenant: house, actor: domain.Operator},
		{name: "nobody may nothing", tenant: house, actor: 0},
	} {
		t.Run(r.name, func(t *testing.T) {
			check := func(want bool, verbs ...domain.Verb) {
				t.Helper()
				for _, v := range verbs {
					if got := identity.Permit(r.tenant, r.actor, v, r.holds); got != want {
						t.Errorf("%s: got %v, want %v", v, got, want)
					}
				}
			}
			check(r.manage, manage...)
			check(r.manage || r.actor == domain.Operator, domain.VerbStop)
			check(r.strict, strict...)
			check(r.read, domain.VerbRead)
			check(r.readEnv, domain.VerbReadEnv)
			check(r.run, run...)
			check(false, domain.VerbKnow, domain.VerbAdministrate, "", "unheard_of")
		})
	}
}

func TestStrongestRoleCounts(t *testing.T) {
	both := domain.Tenant{ID: 1, Admins: []domain.ActorID{5}, Readers: []domain.ActorID{5}}
	if got := identity.RoleIn(both, 5); got != domain.Admin {
		t.Errorf("got %s", got)
	}
}

func TestHolds(t *testing.T) {
	for owner, want := range map[string]bool{"actor:2": true, "actor:2/abc": true, "actor:20": false, "node1/abc": false, "": false} {
		if got := identity.Holds(2, owner); got != want {
			t.Errorf("%q: got %v", owner, got)
		}
	}
}

func newBoard(t *testing.T) *memboard.Board {
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return b
}

func put(t *testing.T, b board.Board, tenant domain.Tenant) {
	t.Helper()
	batch := board.Batch{Space: layout.SpaceOf(tenant.ID)}
	if err := b.Commit(t.Context(), *batch.Set(tenant.Key(), layout.EncodeTenant(tenant)...)); err != nil {
		t.Fatal(err)
	}
}

func TestDenialsAreCountedLoggedAndRevealNothing(t *testing.T) {
	b := newBoard(t)
	put(t, b, house)
	damaged := board.Batch{Space: 9}
	if err := b.Commit(t.Context(), *damaged.Set("context:9", board.Field{Name: "admins", Value: "all"})); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	registry := identity.NewRegistry(b)
	access := identity.NewAccess(registry, identity.NewAuditLog(registry, slog.New(slog.NewTextHandler(&log, nil))))
	texts := map[string]bool{}
	for _, id := range []domain.TenantID{7, 8, 9} { // forbidden, missing, damaged
		err := access.Check(t.Context(), identity.Ask{Actor: stranger, Verb: domain.VerbCancel, Tenant: id, Object: "job:1:2"})
		if !errors.Is(err, domain.ErrForbidden) {
			t.Fatalf("context %d: got %v", id, err)
		}
		texts[strings.ReplaceAll(err.Error(), id2(id), "N")] = true
	}
	if len(texts) != 1 {
		t.Errorf("a missing and a forbidden context read differently: %v", texts)
	}
	if n := access.Denials(); n != 3 {
		t.Errorf("got %d denials", n)
	}
	if got, want := log.String(), "msg=denied actor=40 verb=cancel object=job:1:2 context=7"; !strings.Contains(got, want) {
		t.Errorf("audit log: got %s, want %s", got, want)
	}
	if err := access.Check(t.Context(), identity.Ask{Actor: admin, Verb: domain.VerbCancel, Tenant: 7}); err != nil {
		t.Error(err)
	}
	if sees, err := access.Sees(t.Context(), identity.Proof{Actor: stranger}, 7); sees || err != nil || access.Denials() != 3 {
		t.Errorf("a look counts as a denial, or sees: %v %v", sees, err)
	}
}

// TestARefusalHasTheWordOfWhatWasAskedFor, which is that of the command, of the button and of the audit log, and
// not that of the right that it takes.
func TestARefusalHasTheWordOfWhatWasAskedFor(t *testing.T) {
	b := newBoard(t)
	put(t, b, house)
	access := identity.NewAccess(identity.NewRegistry(b), nil)
	for act, want := range map[string]string{"cancel": "actor 40 may not cancel in", "cancel_all": "may not cancel all in", "": "may not stop in"} {
		err := access.Check(t.Context(), identity.Ask{Actor: stranger, Verb: domain.VerbStop, Tenant: house.ID, Object: "job:1:2", Act: act})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", act, err, want)
		}
	}
}

func id2(id domain.TenantID) string { return string(rune('0' + id)) }

func TestNodeVerbs(t *testing.T) {
	access := identity.NewAccess(identity.NewRegistry(newBoard(t)), nil)
	for _, c := range []struct {
		actor domain.ActorID
		verb  domain.Verb
		may   bool
	}{
		{domain.Operator, domain.VerbAdministrate, true}, {domain.Operator, domain.VerbKnow, true},
		{stranger, domain.VerbAdministrate, false}, {stranger, domain.VerbKnow, true},
		{domain.Operator, domain.VerbInspect, true}, {stranger, domain.VerbInspect, false}, {stranger, domain.VerbOwn, true}, {0, domain.VerbOwn, false},
		{0, domain.VerbKnow, false}, {domain.Operator, domain.VerbCreate, false}, {domain.Operator, domain.VerbRead, false},
	} {
		err := access.Check(t.Context(), identity.Ask{Actor: c.actor, Verb: c.verb})
		if (err == nil) != c.may {
			t.Errorf("actor %d %s: got %v", c.actor, c.verb, err)
		}
	}
}

func TestARightThatIsTakenAwayEndsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		put(t, b, house)
		access := identity.NewAccess(identity.NewRegistry(b), nil)
		ask := identity.Ask{Actor: reader, Verb: domain.VerbRead, Tenant: 7}
		if err := access.Check(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		without := house
		without.Readers = nil
		put(t, b, without)
		time.Sleep(identity.CacheFor) // virtual
		if err := access.Check(t.Context(), ask); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
}
