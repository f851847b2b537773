package domain_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
)

func TestNoListIsAnEmptyListInJSON(t *testing.T) {
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"of a context", domain.Tenant{ID: 7},
			`{"id":7,"admins":[],"readers":[],"executors":[],"created_at":0,"updated_at":0}`},
		{"of an actor", domain.Actor{ID: 2}, `{"id":2,"pubkey":"","address":[],"created_at":0,"updated_at":0}`},
		{"of what embeds an actor, with its own fields", struct {
			domain.Actor
			Existing bool `json:"existing"`
		}{domain.Actor{ID: 2}, true}, `{"id":2,"pubkey":"","address":[],"created_at":0,"updated_at":0,"existing":true}`},
		{"but not of one with items", domain.Tenant{Admins: []domain.ActorID{1, 2}},
			`{"id":0,"admins":[1,2],"readers":[],"executors":[],"created_at":0,"updated_at":0}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListsHoldEachOnce(t *testing.T) {
	two := domain.List[domain.ActorID]{2, 3, 2, 2}
	got := domain.Tenant{Admins: two, Readers: two, Executors: two}.Once()
	want := domain.List[domain.ActorID]{2, 3}
	if !slices.Equal(got.Admins, want) || !slices.Equal(got.Readers, want) || !slices.Equal(got.Executors, want) || len(two) != 4 {
		t.Errorf("got %+v", got)
	}
	a, err := domain.Actor{Pubkey: strings.Repeat("ab", 32), Address: domain.List[domain.Address]{"x", "y", "x"}}.With(domain.ActorChange{})
	if err != nil || !slices.Equal(a.Address, domain.List[domain.Address]{"x", "y"}) {
		t.Errorf("got %+v, %v", a, err)
	}
	p := domain.Peer{Nodes: domain.List[domain.PeerNode]{{Addresses: domain.List[domain.Address]{"x", "x"}}}}
	if got := p.Once(); len(got.Nodes[0].Addresses) != 1 || len(p.Nodes[0].Addresses) != 2 {
		t.Errorf("got %+v of %+v", got, p)
	}
}
