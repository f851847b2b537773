package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) actorCommand() *cobra.Command {
	return noun("actor", "Make and show actors: who asks for work", a.actorNew(), a.actorAdd(), a.actorShow(), a.actorList(), a.actorUpdate())
}

// newActor is what `actor new` answers: the record, and where the key lies.
type newActor struct {
	domain.Actor
	onMycelium
	KeyFile string `json:"key_file"`
}

func (a *app) actorNew() *cobra.Command {
	var file string
	var number uint32
	var bare bool
	c := &cobra.Command{
		Use: "new", Short: "Make a key, and an actor with it", Args: cobra.NoArgs,
		Example: "  ramet actor new --file alice.key",
		Long: `Make an Ed25519 key and make it known to the node as a new actor. The key is a file that never leaves this machine;
give it to other commands with --key.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if a.hooks.NewKey == nil {
				return domain.Invalidf("this program cannot make keys")
			}
			path, err := filepath.Abs(file)
			if err != nil {
				return fileError(err)
			}
			actor := domain.Actor{ID: domain.ActorID(number)}
			if bare {
				if number == 0 {
					return domain.Invalidf("--no-register wants --id: the key file names the actor it belongs to")
				}
				return a.newKey(path, func(pubkey string) (domain.Actor, error) {
					actor.Pubkey = pubkey
					return actor, nil
				})
			}
			return a.with(c.Context(), func(n *client.Client) error {
				return a.newKey(path, func(pubkey string) (domain.Actor, error) {
					actor.Pubkey = pubkey
					// Where an answer was lost, the next call has the same key.
					return n.CreateActor(client.Once(c.Context(), "actor new "+pubkey), actor)
				})
			})
		},
	}
	c.Flags().StringVar(&file, "file", "ramet.key", "where to write the key `file`; it must not be there yet")
	c.Flags().Uint32Var(&number, "id", 0, "the actor's `number`; 0 is the next free one")
	c.Flags().BoolVar(&bare, "no-register", false, "only make the key; the actor is made known elsewhere")
	return c
}

func (a *app) actorAdd() *cobra.Command {
	var number uint32
	var peer string
	var given []string
	c := &cobra.Command{
		Use: "add PUBKEY", Short: "Make somebody an actor whose key was made elsewhere", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: `Make somebody an actor whose key was made elsewhere, by the public half of it: a person of another site, for one, so
that a context can give them rights and their messages can be checked.`,
		Example: "  ramet actor add 7ac9…9b03 --peer acme",
		RunE: func(c *cobra.Command, args []string) error {
			actor := domain.Actor{ID: domain.ActorID(number), Pubkey: args[0]}
			for _, ad := range given {
				actor.Address = append(actor.Address, domain.Address(ad))
			}
			return a.with(c.Context(), func(n *client.Client) error {
				if peer != "" {
					p, err := a.findPeer(c.Context(), n, peer)
					if err != nil {
						return err
					}
					for _, node := range p.Nodes {
						actor.Address = append(actor.Address, domain.NodeAddress(node.Pubkey))
					}
				}
				made, err := n.CreateActor(c.Context(), actor)
				if err != nil {
					return err
				}
				return a.print(shown(made), func(t *table) { actorTable(t, made) })
			})
		},
	}
	c.Flags().Uint32Var(&number, "id", 0, "the actor's `number`; 0 is the next free one")
	c.Flags().StringVar(&peer, "peer", "", "the `name` of the site whose nodes they are at")
	c.Flags().StringArrayVar(&given, "address", nil, "an `address` where they can be reached; may be repeated")
	return c
}

// newKey makes a key for the actor that register gives its public half to.
func (a *app) newKey(path string, register func(pubkey string) (domain.Actor, error)) error {
	made := newActor{KeyFile: path}
	_, mycelium, err := a.hooks.NewKey(path, func(pubkey string) (domain.ActorID, error) {
		var err error
		made.Actor, err = register(pubkey)
		return made.ID, err
	})
	if err != nil {
		return err
	}
	made.onMycelium = onMyceliumAs(mycelium)
	return a.print(made, func(t *table) {
		t.field("actor", made.ID)
		t.field("pubkey", made.Pubkey)
		made.onMycelium.fields(t)
		t.field("key file", made.KeyFile)
	})
}

func (a *app) actorShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show an actor", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseNumber("actor", args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				actor, err := n.Actor(c.Context(), domain.ActorID(id), a.tenant())
				if err != nil {
					return err
				}
				return a.print(shown(actor), func(t *table) { actorTable(t, actor) })
			})
		},
	}
}

func actorTable(t *table, actor domain.Actor) {
	t.field("actor", actor.ID)
	t.field("pubkey", actor.Pubkey)
	shown(actor).fields(t)
	t.field("address", addresses(actor))
	t.field("made", clock(int64(actor.CreatedAt)*1000))
}

func (a *app) actorUpdate() *cobra.Command {
	var pubkey string
	var given []string
	c := &cobra.Command{
		Use: "update ID", Short: "Give an actor another key, or other addresses", Args: cobra.ExactArgs(1),
		Long: `Give an actor another key, or other addresses, as the node's operator. What the old key signed, tokens too, is refused
within a second. An address says where the actor can be reached; node:KEY names a node by its public key.`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := parseNumber("actor", args[0])
			if err != nil {
				return err
			}
			change := domain.ActorChange{Pubkey: pubkey}
			if c.Flags().Changed("address") {
				list := domain.List[domain.Address]{}
				for _, ad := range given {
					if ad != "" {
						list = append(list, domain.Address(ad))
					}
				}
				change.Address = &list
			}
			if change == (domain.ActorChange{}) {
				return domain.Invalidf("nothing is to be changed: want --pubkey or --address")
			}
			return a.with(c.Context(), func(n *client.Client) error {
				actor, err := n.UpdateActor(c.Context(), domain.ActorID(id), change)
				if err != nil {
					return err
				}
				return a.print(actor, func(t *table) { actorTable(t, actor) })
			})
		},
	}
	c.Flags().StringVar(&pubkey, "pubkey", "", "the new public `key`: 64 hex digits")
	c.Flags().StringArrayVar(&given, "address", nil, "the new `addresses` in place of the old ones; may be repeated; '' takes all away")
	return c
}

func (a *app) actorList() *cobra.Command {
	return listing[api.ListActorsParams, api.ActorPage, domain.Actor]{
		op:   api.ActorList,
		page: func(p *api.ActorPage) paged[domain.Actor] { return paged[domain.Actor]{list: &p.Actors, next: &p.Next} },
		rows: func(t *table, list []domain.Actor) {
			t.row("ACTOR", "PUBKEY", "ADDRESS")
			for _, actor := range list {
				// The key is whole: it is what people copy from here.
				t.wide(actor.ID, actor.Pubkey, addresses(actor))
			}
		},
	}.into(a, &cobra.Command{Use: "list", Short: "List actors", Args: cobra.NoArgs})
}

func addresses(a domain.Actor) string {
	var words []string
	for _, ad := range a.Address {
		words = append(words, string(ad))
	}
	return strings.Join(words, ", ")
}
