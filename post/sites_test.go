package post_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

func newKey(t *testing.T) string {
	t.Helper()
	k, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k.Pubkey()
}

func TestACardCannotTakeOverAnActorThatIsElsewhere(t *testing.T) {
	s := newSite(t, "alpha")
	node := newKey(t)
	card := func(name, node, operator string) domain.Peer {
		return domain.Peer{Name: name, Nodes: domain.List[domain.PeerNode]{{Pubkey: node}}, Operator: operator}
	}
	theirs := newKey(t)
	if _, err := s.post.AddPeer(t.Context(), card("beta", node, theirs)); err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]string{"our own operator": s.opKey.Pubkey(), "another peer's": theirs} {
		if _, err := s.post.AddPeer(t.Context(), card("eve", newKey(t), key)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%s: got %v, want a conflict", name, err)
		}
		a, err := s.registry.ActorByKey(t.Context(), key)
		if err != nil || key == theirs && !a.At(node) || key != theirs && len(a.Address) > 0 {
			t.Errorf("%s: got actor %+v, %v", name, a, err)
		}
	}
	// The same peer with another node takes its own operator along.
	next := newKey(t)
	if _, err := s.post.AddPeer(t.Context(), card("beta", next, theirs)); err != nil {
		t.Fatal(err)
	}
	if a, err := s.registry.ActorByKey(t.Context(), theirs); err != nil || !a.At(next) || a.At(node) {
		t.Errorf("got %+v, %v", a, err)
	}
}

// TestARefusedCardLeavesNothingBehind adds cards that are wrong at their end,
// after nodes that would be right.
func TestARefusedCardLeavesNothingBehind(t *testing.T) {
	s := newSite(t, "alpha")
	weak := "0100000000000000000000000000000000000000000000000000000000000000"
	for name, keys := range map[string][2]string{
		"an operator of ours": {newKey(t), s.opKey.Pubkey()}, "a node of a weak key": {weak, newKey(t)}, "an operator of a weak key": {newKey(t), weak},
		"an operator that is no key": {newKey(t), "x"},
	} {
		fresh := newKey(t)
		card := domain.Peer{Name: "eve", Nodes: domain.List[domain.PeerNode]{{Pubkey: fresh}, {Pubkey: keys[0]}}, Operator: keys[1]}
		if _, err := s.post.AddPeer(t.Context(), card); err == nil {
			t.Errorf("%s: got no error", name)
		}
		for _, key := range []string{fresh, keys[0]} {
			if a, err := s.registry.ActorByKey(t.Context(), key); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: got actor %+v, %v", name, a, err)
			}
		}
	}
	if peers, err := s.post.Peers(t.Context()); err != nil || len(peers) > 0 {
		t.Errorf("got %v, %v", peers, err)
	}
}
