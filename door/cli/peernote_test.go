package cli

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// Inside the package: an old card is made by an old version.
func TestPeerListAndDoctorSayTheSameOfOldCards(t *testing.T) {
	node := func(link string, at domain.Address) domain.PeerNode {
		return domain.PeerNode{Pubkey: strings.Repeat("ab", 32), LinkKey: link, Addresses: []domain.Address{at}}
	}
	for _, c := range []struct {
		name string
		node domain.PeerNode
		warn bool
	}{
		{"an old card with NATS", node("", "nats:x"), true},
		{"an old card without", node("", "mycelium:x"), false},
		{"a new card", node(strings.Repeat("cd", 32), "nats:x"), false},
	} {
		var p api.PeerView
		p.Name, p.Note, p.Nodes = "acme", "since May", []domain.PeerNode{c.node}
		var found doctor.Report
		found.Peers([]api.PeerView{p})
		note := peerNote(p)
		if !strings.Contains(note, "since May") || strings.Contains(note, "without link key") != c.warn || len(found.Findings) > 0 != c.warn {
			t.Errorf("%s: the list notes %q, doctor %+v, want a warning of both: %v", c.name, note, found.Findings, c.warn)
		}
	}
}
