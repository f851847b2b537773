package post_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// FuzzCard adds cards that strangers made, beside a peer that is known. One that is
// refused leaves nothing behind. One that is taken makes its site known as it says,
// and takes from nobody: our own nodes and operator, and the other peer with its
// keys, are who and where they were. In a card, @0 to @9 stand for keys: our node's,
// operator's and link's, the known peer's, and new ones.
func FuzzCard(f *testing.F) {
	var fixed []string
	for i := range 7 {
		fixed = append(fixed, fuzzKey(f, fmt.Sprint("card", i)).Pubkey())
	}
	known := domain.Peer{Name: "beta", Nodes: domain.List[domain.PeerNode]{{Pubkey: fixed[0], LinkKey: fixed[1],
		Addresses: domain.List[domain.Address]{"nats:x"}}}, Operator: fixed[2]}
	for _, s := range []string{
		`{"name":"acme","nodes":[{"pubkey":"@6","link_key":"@7","addresses":["nats:x","nats:x"]}],"operator":"@8","note":"n"}`,
		`{"name":"acme","nodes":[{"pubkey":"@6","stream_key":"@7","name":"a\u001b[2J"},{"pubkey":"@8","link_key":"@9"}]}`,
		`{"name":"beta","nodes":[{"pubkey":"@6"}],"operator":"@7"}`, `{"name":"beta","nodes":[{"pubkey":"@3","link_key":"@9"}],"operator":"@5"}`,
		`{"name":"acme","nodes":[{"pubkey":"@0"}]}`, `{"name":"acme","nodes":[{"pubkey":"@6"}],"operator":"@1"}`,
		`{"name":"acme","nodes":[{"pubkey":"@6","link_key":"@2"}]}`, `{"name":"acme","nodes":[{"pubkey":"@3"}]}`,
		`{"name":"acme","nodes":[{"pubkey":"@6"}],"operator":"@5"}`, `{"name":"acme","nodes":[{"pubkey":"@6","link_key":"@4"}]}`,
		`{"name":"acme","nodes":[{"pubkey":"@4"}]}`,
		`{"name":"acme","nodes":[{"pubkey":"@6","link_key":"@3"}]}`, `{"name":"acme","nodes":[{"pubkey":"@6","link_key":"@1"}]}`,
		`{"name":"acme","nodes":[{"pubkey":"@6","link_key":"@6"}]}`, `{"name":"acme","nodes":[{"pubkey":"@6"}],"operator":"@6"}`,
		`{"name":"acme","nodes":[{"pubkey":"@2"}]}`, `{"name":"acme","nodes":[{"pubkey":"@6"}],"operator":"@2"}`,
		`{"name":"acme","nodes":[{"pubkey":"@6"}],"operator":"@4"}`, `{"name":"acme","nodes":[{"pubkey":"@6"}],"operator":"@3"}`,
		`{"name":"acme","nodes":[{"pubkey":"@5"}]}`,
		`{"name":"acme","nodes":[{"pubkey":"@6","addresses":["node:@0"]}]}`, `{"name":"acme","nodes":[]}`, `{"name":"a b","nodes":[{"pubkey":"@6"}]}`,
		`{"name":"acme","nodes":[{"pubkey":"@6","addresses":[""]}],"created_at":7}`,
	} {
		f.Add(s)
	}
	dir := f.TempDir() // of all runs: to make keys and files takes much longer than to add a card
	f.Fuzz(func(t *testing.T, text string) {
		s := newSiteIn(t, "alpha", dir, memboard.Open())
		if _, err := s.post.AddPeer(t.Context(), known); err != nil {
			t.Fatal(err)
		}
		ours := []string{s.keys.Node.Pubkey(), s.opKey.Pubkey(), s.keys.Bus.Pubkey()}
		for i, key := range slices.Concat(ours, fixed) {
			text = strings.ReplaceAll(text, fmt.Sprint("@", i), key)
		}
		var card domain.Peer
		if intake.Decode([]byte(text), &card, intake.Limits{Bytes: 64 << 10}) != nil {
			return
		}
		whoIs := func(key string) string {
			a, err := s.registry.ActorByKey(t.Context(), key)
			return fmt.Sprint(a.ID, a.Pubkey, a.Address, err)
		}
		settled := slices.Concat(ours, fixed[:3])
		var before []string
		for _, key := range settled {
			before = append(before, whoIs(key))
		}
		all := lies(t, s.board)
		_, err := s.post.AddPeer(t.Context(), card)
		if err != nil {
			if now := lies(t, s.board); now != all {
				t.Errorf("%s is refused (%v), and leaves\n%s\nwas\n%s", text, err, now, all)
			}
			return
		}
		peers, err := s.post.Peers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := card.Once()
		for i := range want.Nodes {
			want.Nodes[i].StreamKey = ""
		}
		found := 0
		for _, p := range peers {
			p.CreatedAt, want.CreatedAt = 0, 0
			switch got, said := asJSON(t, p), asJSON(t, want); {
			case p.Name == card.Name && got == said:
				found++
			case p.Name == card.Name:
				t.Errorf("%s is known as %s", text, got)
			case p.Name != "beta" || got != asJSON(t, known):
				t.Errorf("%s makes %s of another peer", text, got)
			}
		}
		if found != 1 {
			t.Errorf("%s is taken, and known %d times", text, found)
		}
		for i, key := range settled {
			if theirs := i >= len(ours) && card.Name == "beta"; whoIs(key) != before[i] && !theirs {
				t.Errorf("%s makes %s of %s", text, whoIs(key), before[i])
			}
		}
		for _, n := range want.Nodes {
			if len(n.Name) > 255 || domain.PlainText(n.Name, 255) != n.Name {
				t.Errorf("a node is called %q", n.Name)
			}
		}
	})
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lies is all that lies on space 0 of a board.
func lies(t *testing.T, b board.Board) string {
	t.Helper()
	keys, _, err := b.Keys(t.Context(), 0, "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, key := range keys {
		recs, _ := b.Get(t.Context(), 0, key)
		members, _ := b.Members(t.Context(), 0, key, "", 1000)
		fmt.Fprintf(&all, "%s: %v %v\n", key, recs, members)
	}
	return all.String()
}
