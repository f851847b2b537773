package identity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/faultboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// auditRig is an audit log that runs, on a board with context 7.
type auditRig struct {
	*testing.T
	board    *memboard.Board
	faults   *faultboard.Board
	registry *identity.Registry
	log      *identity.AuditLog
	access   *identity.Access
	stop     func()
}

func auditBubble(t *testing.T, test func(r *auditRig)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &auditRig{T: t, board: b, faults: faultboard.New(b, faultboard.Config{})}
		r.registry = identity.NewRegistry(r.faults)
		r.registry.SetNode("n1", nodeKey)
		r.log = identity.NewAuditLog(r.registry, nil)
		r.access = identity.NewAccess(r.registry, r.log)
		put(t, b, house)
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		run.Go(func() { _ = r.log.Run(ctx) })
		r.stop = func() { cancel(); run.Wait() }
		defer r.stop()
		test(r)
	})
}

func (r *auditRig) ask(actor domain.ActorID, tenant domain.TenantID, object string) {
	r.Helper()
	if err := r.access.Check(r.Context(),
		identity.Ask{Actor: actor, Verb: domain.VerbCancel, Tenant: tenant, Object: object}); !errors.Is(err, domain.ErrForbidden) {
		r.Fatalf("got %v, want a denial", err)
	}
}

func (r *auditRig) entries(tenant domain.TenantID, f identity.AuditFilter) []domain.AuditEntry {
	r.Helper()
	if f.Most == 0 {
		f.Most = 1_000_000
	}
	list, _, err := r.log.Entries(r.Context(), tenant, f)
	if err != nil {
		r.Fatal(err)
	}
	return list
}

func TestDenialsComeToTheLogOfTheirContext(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		at := time.Now().UnixMilli()
		r.ask(stranger, 7, "job:1:2")
		r.ask(stranger, 9, "job:1:2") // there is no such context
		if err := r.access.Check(r.Context(), identity.Ask{Actor: stranger, Verb: domain.VerbAdministrate, Object: "actors"}); err == nil {
			r.Fatal("a stranger may administrate")
		}
		if got := r.entries(7, identity.AuditFilter{}); len(got) != 0 {
			r.Errorf("a denial waited for the board: %+v", got)
		}
		time.Sleep(time.Second)
		want := domain.AuditEntry{AtMs: at, Actor: stranger, Verb: "cancel", Object: "job:1:2", Context: 7, Outcome: domain.AuditDenied, Node: "n1", Seq: 1}
		if diff := cmp.Diff([]domain.AuditEntry{want}, r.entries(7, identity.AuditFilter{})); diff != "" {
			r.Errorf("context 7 (-want +got):\n%s", diff)
		}
		elsewhere := want
		elsewhere.Context = 9
		node := domain.AuditEntry{AtMs: at, Actor: stranger, Verb: "administrate", Object: "actors", Outcome: domain.AuditDenied, Node: "n1", Seq: 2}
		if diff := cmp.Diff([]domain.AuditEntry{node, elsewhere}, r.entries(0, identity.AuditFilter{})); diff != "" {
			r.Errorf("the node (-want +got):\n%s", diff)
		}
		// Nothing was made in a space that no context has.
		if keys, _, err := r.board.Keys(r.Context(), 9, "", "", 10); err != nil || len(keys) != 0 {
			r.Errorf("space 9 has %q, %v", keys, err)
		}
	})
}

func TestEqualDenialsAreOneLineWithTheirNumber(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		for range 1000 {
			r.ask(stranger, 7, "job:1:2")
		}
		time.Sleep(time.Second)
		if got := r.entries(7, identity.AuditFilter{}); len(got) != 1 || got[0].Count != 0 {
			r.Fatalf("at once: got %+v, want one line", got)
		}
		r.ask(stranger, 7, "job:1:2")
		last := time.Now().UnixMilli()
		time.Sleep(time.Minute)
		got := r.entries(7, identity.AuditFilter{})
		if len(got) != 2 || got[0].Count != 1000 || got[0].AtMs != last {
			r.Errorf("after a minute: got %+v, want the first and one for the other 1000", got)
		}
		// Then it begins anew.
		time.Sleep(time.Minute)
		r.ask(stranger, 7, "job:1:2")
		time.Sleep(time.Second)
		if got := r.entries(7, identity.AuditFilter{}); len(got) != 3 || got[0].Count != 0 {
			r.Errorf("later: got %+v", got)
		}
		if n := r.access.Denials(); n != 1002 {
			r.Errorf("%d denials were counted, want 1002", n)
		}
	})
}

// TestAStrangerWhoTriesEverythingCostsFewLines and takes no room from others.
func TestAStrangerWhoTriesEverythingCostsFewLines(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		const tries = 20_000
		for i := range tries {
			r.ask(stranger, domain.TenantID(7+i%500), fmt.Sprintf("job:1:%d", i))
		}
		r.ask(reader, 7, "job:1:1")
		time.Sleep(2 * time.Minute)
		lines, told := 0, 0
		for _, tenant := range []domain.TenantID{0, 7} {
			for _, e := range r.entries(tenant, identity.AuditFilter{Actor: stranger}) {
				lines++
				told += max(e.Count, 1)
			}
		}
		if lines > 50 || told != tries {
			r.Errorf("got %d lines for %d of %d denials", lines, told, tries)
		}
		if got := r.entries(7, identity.AuditFilter{Actor: reader}); len(got) != 1 {
			r.Errorf("another's denial is lost: %+v", got)
		}
		if n := r.log.Dropped(); n != 0 {
			r.Errorf("%d lines were dropped", n)
		}
	})
}

func TestDenialsDoNotPushOutWhatWasDone(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		r.log.Record(domain.AuditEntry{Actor: admin, Verb: "cancel", Object: "job:1:1", Context: 7, Outcome: domain.AuditDone})
		time.Sleep(time.Second)
		var flood board.Batch
		flood.Space = 7
		for range 2 { // as many actors make in a long time
			lines := make([]string, layout.AuditMost)
			for i := range lines {
				lines[i] = layout.EncodeAuditLine(layout.AuditLine{AuditEntry: domain.AuditEntry{AtMs: time.Now().UnixMilli(), Actor: stranger,
					Outcome: domain.AuditDenied}})
			}
			flood.Append(layout.AuditDenials, layout.AuditMost, lines...)
		}
		if err := r.board.Commit(r.Context(), flood); err != nil {
			r.Fatal(err)
		}
		r.ask(stranger, 7, "x")
		time.Sleep(time.Second)
		if got := r.entries(7, identity.AuditFilter{Outcome: domain.AuditDone}); len(got) != 1 {
			r.Errorf("got %+v", got)
		}
		if got := r.entries(7, identity.AuditFilter{Outcome: domain.AuditDenied}); len(got) != layout.AuditMost+1 { // a few more may be there before old ones are cut
			r.Errorf("got %d denials, want %d", len(got), layout.AuditMost+1)
		}
	})
}

func TestWhatTheBoardCannotTakeWaitsInARoomOfLimitedSize(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		r.faults.Cut()
		const many = 5000
		for i := range many {
			r.log.Record(domain.AuditEntry{Actor: admin, Verb: "cancel", Object: fmt.Sprint("job:1:", i), Outcome: domain.AuditDone})
		}
		time.Sleep(10 * time.Second)
		r.faults.Heal()
		time.Sleep(10 * time.Second)
		got := r.entries(0, identity.AuditFilter{})
		if dropped := int(r.log.Dropped()); dropped == 0 || len(got)+dropped != many {
			r.Errorf("%d of %d are there, %d were dropped", len(got), many, dropped)
		}
	})
}

func TestTheLastLinesAreWrittenAtTheEnd(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		r.ask(stranger, 7, "job:1:2")
		r.ask(stranger, 7, "job:1:2")
		r.stop()
		if got := r.entries(7, identity.AuditFilter{}); len(got) != 2 || got[0].Count+got[1].Count != 1 {
			r.Errorf("got %+v", got)
		}
	})
}

func TestAListThatAForeignProgramSpoiledStopsNoOther(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		spoiled := board.Batch{Space: 7}
		if err := r.board.Commit(r.Context(), *spoiled.Set(layout.AuditDenials, board.Field{Name: "a", Value: "b"})); err != nil {
			r.Fatal(err)
		}
		r.ask(stranger, 7, "job:1:2")
		r.ask(stranger, 9, "job:1:2")
		time.Sleep(time.Second)
		if got := r.entries(0, identity.AuditFilter{}); len(got) != 1 {
			r.Errorf("got %+v", got)
		}
		if n := r.log.Dropped(); n != 1 {
			r.Errorf("%d lines were dropped, want the one that has no place", n)
		}
	})
}

func TestEntriesArePaged(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		for i := range 10 {
			// Two in each millisecond, of which no page may show only one.
			r.log.Record(domain.AuditEntry{AtMs: int64(1000 + i/2), Actor: admin, Verb: "cancel", Object: fmt.Sprint(i), Outcome: domain.AuditDone})
		}
		junk := board.Batch{}
		if err := r.board.Commit(r.Context(), *junk.Append(layout.AuditLog, 100, "no JSON")); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Second)
		seen := map[string]bool{}
		f := identity.AuditFilter{Most: 3}
		pages := 0
		for more := true; more; pages++ {
			var list []domain.AuditEntry
			var err error
			if list, more, err = r.log.Entries(r.Context(), 0, f); err != nil {
				r.Fatal(err)
			}
			for _, e := range list {
				if seen[e.Object] {
					r.Errorf("%s came twice", e.Object)
				}
				seen[e.Object] = true
			}
			f.BeforeMs = list[len(list)-1].AtMs
		}
		if len(seen) != 10 || pages != 3 {
			r.Errorf("got %d entries on %d pages", len(seen), pages)
		}
	})
}

func TestTextsOfStrangersAreCutAndPlain(t *testing.T) {
	auditBubble(t, func(r *auditRig) {
		r.log.Record(domain.AuditEntry{Verb: "authenticate", Outcome: domain.AuditRefused,
			Object: strings.Repeat("ä", 300), Detail: "\x1b[31m\n" + strings.Repeat("x", 2000) + "\xff"})
		time.Sleep(time.Second)
		got := r.entries(0, identity.AuditFilter{})
		if len(got) != 1 || len(got[0].Object) > domain.MaxAuditObject || len(got[0].Detail) > domain.MaxAuditDetail {
			r.Fatalf("got %+v", got)
		}
		if !strings.HasPrefix(got[0].Detail, "?[31m?xxx") || strings.Trim(got[0].Object, "ä") != "" {
			r.Errorf("got %q %q", got[0].Object, got[0].Detail)
		}
	})
}

// TestWhoChangesRightsIsInTheLogOfTheSameCommit looks at the board without any
// audit log running.
func TestWhoChangesRightsIsInTheLogOfTheSameCommit(t *testing.T) {
	b := newBoard(t)
	r := newHouse(t, b)
	r.SetNode("n1", nodeKey)
	by := r.As(1)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := by.Grant(t.Context(), 7, 2, domain.Executor)
	do(err)
	_, _, err = by.Grant(t.Context(), 7, 2, domain.Executor) // nothing new
	do(err)
	_, _, err = by.Revoke(t.Context(), 7, 2, "")
	do(err)
	_, err = by.UpdateTenant(t.Context(), 7, domain.TenantChange{Weight: ptr(2)})
	do(err)
	_, err = by.UpdateTenant(t.Context(), 7, domain.TenantChange{Weight: ptr(2)}) // nothing new
	do(err)
	if _, _, err = by.Revoke(t.Context(), 7, 1, ""); err == nil {
		t.Fatal("the last admin is gone")
	}
	key := pubkey(t)
	_, _, err = by.CreateActor(t.Context(), domain.Actor{ID: 50, Pubkey: key})
	do(err)
	_, _, err = by.CreateActor(t.Context(), domain.Actor{ID: 50, Pubkey: key}) // is there
	do(err)
	_, err = by.UpdateActor(t.Context(), 50, domain.ActorChange{Address: &domain.List[domain.Address]{"x"}})
	do(err)
	_, _, err = by.CreateTenant(t.Context(), domain.Tenant{ID: 8, Admins: []domain.ActorID{2}})
	do(err)
	for tenant, want := range map[domain.TenantID][]string{
		7: {"grant actor:2 executor", "revoke actor:2 executor", "update context:7 executors_may_submit false, weight 2, max_running 0"},
		0: {"create actor:50 key " + key, "update actor:50 address [] to [x]", "create context:8 admins [2], executors [], readers []"},
		8: {"create context:8 admins [2], executors [], readers []"},
	} {
		lines, err := b.List(t.Context(), layout.SpaceOf(tenant), layout.AuditLog, 0, 100)
		do(err)
		var got []string
		for _, line := range lines {
			e, ok := layout.DecodeAuditEntry(line)
			if !ok || e.Actor != 1 || e.Outcome != domain.AuditDone || e.Node != "n1" || e.AtMs == 0 {
				t.Errorf("got %s", line)
			}
			got = append(got, e.Verb+" "+e.Object+" "+e.Detail)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("context %d (-want +got):\n%s", tenant, diff)
		}
	}
}
