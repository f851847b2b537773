package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// maxCard bounds the file of a card, in bytes.
const maxCard = 64 << 10

func (a *app) peerCommand() *cobra.Command {
	c := noun("peer", "Make other sites known, to exchange messages with them", a.peerCard(), a.peerAdd(), a.peerList(), a.peerRemove(), a.peerNATSConfig())
	c.Long = `Make other sites known, to exchange messages with them.

Each side prints its card, gives it to the other by a way that both trust, and adds the other's. From then on their
nodes take parcels from each other; who may do what is still decided by the lists of each context.`
	return c
}

func (a *app) peerCard() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "card", Short: "Print what another site must know of this one", Args: cobra.NoArgs,
		Example: "  ramet peer card --name acme > acme.json",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				card, err := n.Card(c.Context(), name)
				if err != nil {
					return err
				}
				if a.output == outTable { // it is for a file
					return writeJSON(a.std.Out, card)
				}
				return a.print(card, nil)
			})
		},
	}
	c.Flags().StringVar(&name, "name", "", "what they are to call this site (default: the node's name)")
	return c
}

func (a *app) peerAdd() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use: "add FILE|-", Short: "Make a site known by its card, or change what is known of it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := a.readInput(args[0], maxCard)
			if err != nil {
				return err
			}
			var p domain.Peer
			d := json.NewDecoder(strings.NewReader(string(text)))
			d.DisallowUnknownFields()
			if err := d.Decode(&p); err != nil {
				return domain.Invalidf("%s is no card: %v; `ramet peer card` prints one", args[0], err)
			}
			if name != "" {
				p.Name = name
			}
			return a.with(c.Context(), func(n *client.Client) error {
				made, err := n.AddPeer(c.Context(), p)
				if err != nil {
					return err
				}
				return a.print(made, func(t *table) { peerTable(t, made) })
			})
		},
	}
	c.Flags().StringVar(&name, "name", "", "what to call it here (default: as the card says)")
	return c
}

// findPeer finds a site by its name.
//
// Errors: [domain.ErrInvalid].
func findPeer(ctx context.Context, n *client.Client, name string) (api.PeerView, error) {
	peers, err := n.Peers(ctx)
	if err != nil {
		return api.PeerView{}, err
	}
	var names []string
	for _, p := range peers {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if near := domain.Nearest(name, names); near != "" {
		return api.PeerView{}, domain.Invalidf("--peer: there is no peer %q; did you mean %q?", name, near)
	}
	return api.PeerView{}, domain.Invalidf("--peer: there is no peer %q; `ramet peer add` makes one known", name)
}

func peerTable(t *table, p api.PeerView) {
	t.field("peer", p.Name)
	for _, n := range p.Nodes {
		t.field("node", n.Pubkey)
		for _, ad := range n.Addresses {
			t.field("address", string(ad))
		}
	}
	t.field("operator", operatorOf(p))
	t.field("note", p.Note)
	t.field("made", clock(int64(p.CreatedAt)*1000))
}

// operatorOf is who runs a peer, as one gives rights to: by the number here.
func operatorOf(p api.PeerView) string {
	if p.OperatorID == 0 {
		return p.Operator
	}
	return fmt.Sprintf("actor %d here, %s", p.OperatorID, p.Operator)
}

func (a *app) peerList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sites that are known", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				peers, err := n.Peers(c.Context())
				if err != nil {
					return err
				}
				return a.print(api.PeerList{Peers: peers}, func(t *table) { peerRows(t, peers) })
			})
		},
	}
}

func peerRows(t *table, peers []api.PeerView) {
	t.row("PEER", "OPERATOR", "NODES", "ADDRESSES", "NOTE")
	for _, p := range peers {
		var keys, at []string
		for _, n := range p.Nodes {
			keys = append(keys, short(n.Pubkey))
			for _, ad := range n.Addresses {
				at = append(at, ad.Scheme()+":"+short(strings.TrimPrefix(string(ad), ad.Scheme()+":")))
			}
		}
		operator := ""
		if p.OperatorID != 0 {
			operator = fmt.Sprintf("actor %d", p.OperatorID)
		}
		t.row(p.Name, operator, strings.Join(keys, " "), strings.Join(at, " "), p.Note)
	}
}

func (a *app) peerNATSConfig() *cobra.Command {
	var replicas int
	c := &cobra.Command{
		Use: "nats-config [PUBKEY]...", Short: "Write what a nats-server of one's own must be told of the nodes", ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Write the accounts of the nodes of this site and of its peers, for the configuration of a nats-server that is not in a
node: each logs in with its own key, keeps its own mailbox, and reaches the others' only by sending. Other nodes are named
by their public keys.`,
		Example: "  ramet peer nats-config > ramet.conf   # then, in nats-server.conf: include ramet.conf",
		RunE: func(c *cobra.Command, args []string) error {
			if a.hooks.NATSConfig == nil {
				return domain.Invalidf("this program knows no NATS")
			}
			if replicas < 1 || replicas > 5 {
				return domain.Invalidf("--replicas %d: want 1 to 5", replicas)
			}
			return a.with(c.Context(), func(n *client.Client) error {
				here, err := n.Card(c.Context(), "here")
				if err != nil {
					return err
				}
				peers, err := n.Peers(c.Context())
				if err != nil {
					return err
				}
				keys := append([]string{}, args...)
				for _, p := range append(peers, api.PeerView{Peer: here}) {
					for _, node := range p.Nodes {
						keys = append(keys, node.Pubkey)
					}
				}
				text, err := a.hooks.NATSConfig(keys, replicas)
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.std.Out, text)
				return err
			})
		},
	}
	c.Flags().IntVar(&replicas, "replicas", 1, "of each mailbox in a cluster: 1, 3 or 5")
	return c
}

func (a *app) peerRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a site: nothing of it is taken in any more", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error { return n.RemovePeer(c.Context(), args[0]) })
		},
	}
}
