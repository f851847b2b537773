package service_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service/servicetest"
)

func TestContextsAreListedToThoseInThem(t *testing.T) {
	r := newRig(t)
	made, err := r.api.As(operator).CreateContext(t.Context(), api.CreateContextParams{Tenant: domain.Tenant{Admins: []domain.ActorID{stranger}}})
	if err != nil || made.ID == 0 || made.Existing {
		t.Fatalf("got %+v, %v", made, err)
	}
	for actor, want := range map[domain.ActorID][]domain.TenantID{operator: {made.ID, house, servicetest.Open, servicetest.Elsewhere},
		reader: {house, servicetest.Open}, stranger: {made.ID}} {
		list, err := r.api.As(actor).ListContexts(t.Context(), api.ListContextsParams{})
		if err != nil || len(list.Contexts) != len(want) {
			t.Errorf("actor %d: got %+v, %v, want %v", actor, list, err, want)
		}
		if list.Next != "" {
			t.Errorf("actor %d: got next %q behind the last page", actor, list.Next)
		}
	}
	if _, err := r.api.As(reader).ListContexts(t.Context(), api.ListContextsParams{Cursor: "x"}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a bad cursor: got %v", err)
	}
}

func TestRunnersOfNodesAndOfAContext(t *testing.T) {
	r := newRig(t)
	for _, at := range []struct {
		space board.Space
		id    domain.RunnerID
	}{{0, 2}, {0, 10}, {board.Space(house), 5}} {
		b := board.Batch{Space: at.space}
		if err := r.board.Commit(t.Context(), *b.Set(layout.Runner(at.id), layout.EncodeRunner(domain.Runner{ID: at.id})...)); err != nil {
			t.Fatal(err)
		}
	}
	for tenant, want := range map[domain.TenantID][]domain.RunnerID{0: {2, 10}, house: {2, 10, 5}} {
		who := operator
		if tenant != 0 {
			who = reader
		}
		list, err := r.api.As(who).ListRunners(t.Context(), api.ListRunnersParams{Context: tenant})
		if err != nil || len(list.Runners) != len(want) {
			t.Fatalf("got %+v, %v", list, err)
		}
		for i, id := range want {
			if list.Runners[i].ID != id {
				t.Errorf("got runner %d at %d, want %d", list.Runners[i].ID, i, id)
			}
		}
	}
	for limit := 1; limit <= 4; limit++ {
		var got []domain.RunnerID
		p := api.ListRunnersParams{Context: house, Limit: limit}
		for pages := 0; pages == 0 || p.Cursor != ""; pages++ {
			list, err := r.api.As(reader).ListRunners(t.Context(), p)
			if err != nil || len(list.Runners) > limit || pages > 4 {
				t.Fatalf("page %d of %d runners: got %+v, %v", pages, limit, list, err)
			}
			for _, one := range list.Runners {
				got = append(got, one.ID)
			}
			p.Cursor = list.Next
		}
		if slices.Sort(got); !slices.Equal(got, []domain.RunnerID{2, 5, 10}) {
			t.Errorf("pages of %d runners have %v", limit, got)
		}
	}
	for _, p := range []api.ListRunnersParams{{Cursor: "context:"}, {Cursor: "x"}, {Limit: -1}, {Limit: 501}} {
		if list, err := r.api.As(operator).ListRunners(t.Context(), p); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %+v, %v", p, list, err)
		}
	}
	for who, want := range map[domain.ActorID]string{reader: "[mail ours]", operator: "[mail ours theirs]"} {
		about := domain.Runner{ID: 2, Serves: []domain.Service{{ScriptType: domain.ScriptEffect, Served: true,
			Offers:   map[string][]string{"effect": {"mail", "ours", "theirs"}},
			Reserved: map[string][]domain.TenantID{"effect=ours": {house, 90}, "effect=theirs": {90}}},
			{ScriptType: "sal", Unasked: true, Why: "it is off"}}}
		b := board.Batch{}
		if err := r.board.Commit(t.Context(), *b.Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
			t.Fatal(err)
		}
		from := house
		if who == operator {
			from = 0
		}
		list, err := r.api.As(who).ListRunners(t.Context(), api.ListRunnersParams{Context: from})
		if err != nil {
			t.Fatal(err)
		}
		s := list.Runners[0].Serves[0]
		if got := fmt.Sprint(s.Offers["effect"]); got != want || who == reader && s.Reserved != nil {
			t.Errorf("actor %d is shown the effects %s, reserved %v, want %s", who, got, s.Reserved, want)
		}
		// The doctor says of a type that nobody has asked for that all is well: to both.
		if off := list.Runners[0].Serves[1]; !off.Unasked || who == reader && off.Why != "" {
			t.Errorf("actor %d is shown %+v of what nobody has asked for", who, off)
		}
	}
	if _, err := r.api.As(reader).ListRunners(t.Context(), api.ListRunnersParams{}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("a reader, of the nodes alone: got %v", err)
	}
	if _, err := r.api.As(stranger).ListRunners(t.Context(), api.ListRunnersParams{Context: house}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("a stranger: got %v", err)
	}
}
