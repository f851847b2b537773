package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
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
				card, err := n.Card(c.Context(), name, a.tenant())
				if err != nil {
					return err
				}
				if a.output == outTable { // it is for a file
					return writeJSON(bare(a.std.Out), card)
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
		Example: "  ramet peer add acme.json",
		RunE: func(c *cobra.Command, args []string) error {
			text, err := a.readInput(args[0], maxCard)
			if err != nil {
				return err
			}
			var p domain.Peer
			if err := intake.Decode(text, &p, intake.Limits{Bytes: maxCard}); err != nil {
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
func (a *app) findPeer(ctx context.Context, n *client.Client, name string) (api.PeerView, error) {
	peers, err := n.Peers(ctx, a.tenant())
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
		t.field("link key", cmp.Or(n.LinkKey, noLinkKey))
		for _, ad := range n.Addresses {
			t.field("address", string(ad))
		}
	}
	t.field("operator", operatorOf(p))
	t.field("note", p.Note)
	t.field("made", clock(int64(p.CreatedAt)*1000))
}

// noLinkKey stands where a card has none.
const noLinkKey = "none: its card is of an earlier version, and NATS links from it are refused; have `ramet peer card` run there, and add it anew"

// peerNote is what a list says of a peer: what stops it, then what was noted.
func peerNote(p api.PeerView) string {
	nodes := doctor.Unlinked(p)
	if len(nodes) == 0 {
		return p.Note
	}
	keys := make([]string, len(nodes))
	for i, n := range nodes {
		keys[i] = short(n.Pubkey)
	}
	note := "old card, without link key: NATS links of " + strings.Join(keys, ", ") + " are refused; see `ramet doctor`"
	if p.Note != "" {
		note += "; " + p.Note
	}
	return note
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
				peers, err := n.Peers(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(api.PeerPage{Peers: peers}, func(t *table) { peerRows(t, peers) })
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
		t.row(p.Name, operator, strings.Join(keys, " "), strings.Join(at, " "), peerNote(p))
	}
}

func (a *app) peerNATSConfig() *cobra.Command {
	o := NATSOptions{}
	c := &cobra.Command{
		Use: "nats-config [PUBKEY:LINKKEY]...", Short: "Write what a nats-server of one's own must be told: who may do what",
		ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Write accounts, users and permissions for the configuration of a nats-server that is not in a node. For parcels: the nodes of
this site and of its peers, each of which logs in with its link key, keeps its own mailbox, and reaches the others' only by
sending. Other nodes are named by their public key and their link key, as their cards have them.

With --streams also for the streams of sagas: the nodes of this site, each with what it needs of JetStream and no more, and
with --producer programs that publish events of one context, by their nkeys. Nodes log in with --stream nats://host?login=link.`,
		Example: "  ramet peer nats-config > ramet.conf   # then, in nats-server.conf: include ramet.conf\n" +
			"  ramet peer nats-config --streams --producer 7:UAXV… > ramet.conf",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case a.hooks.NATSConfig == nil:
				return domain.Invalidf("this program knows no NATS")
			case o.Replicas < 1 || o.Replicas > 5:
				return domain.Invalidf("--replicas %d: want 1 to 5", o.Replicas)
			case len(o.Producers) > 0 && !o.Streams:
				return domain.Invalidf("--producer: it publishes to streams; want --streams, too")
			}
			named, err := namedNodes(args)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				here, err := n.OwnCard(c.Context())
				if err != nil {
					return err
				}
				peers, err := n.Peers(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				o.Sites = []domain.Peer{here, {Nodes: named}}
				for _, p := range peers {
					o.Sites = append(o.Sites, p.Peer)
				}
				text, err := a.hooks.NATSConfig(o)
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(a.std.Out, text)
				return err
			})
		},
	}
	c.Flags().IntVar(&o.Replicas, "replicas", 1, "of each mailbox in a cluster: 1, 3 or 5")
	c.Flags().BoolVar(&o.Streams, "streams", false, "also for the streams of sagas")
	c.Flags().StringArrayVar(&o.Producers, "producer", nil,
		"a program that publishes events: `context:nkey`, as 7:UAXV…; '*:U…' for all contexts; may be given again")
	return c
}

// namedNodes reads "<public key>:<link key>".
//
// Errors: [domain.ErrInvalid].
func namedNodes(args []string) (list []domain.PeerNode, err error) {
	for _, text := range args {
		key, link, _ := strings.Cut(text, ":")
		for _, k := range []string{key, link} {
			if domain.ValidatePubkey(k) != nil {
				return nil, domain.Invalidf("node %q: want its public key and its link key, as <64 hex digits>:<64 hex digits>; its card has both", text)
			}
		}
		list = append(list, domain.PeerNode{Pubkey: key, LinkKey: link})
	}
	return list, nil
}

func (a *app) peerRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a site: nothing of it is taken in any more", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error { return n.RemovePeer(c.Context(), args[0]) })
		},
	}
}
