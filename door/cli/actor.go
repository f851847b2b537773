package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) actorCommand() *cobra.Command {
	return noun("actor", "Make and show actors: who asks for work", a.actorNew(), a.actorShow(), a.actorList())
}

// newActor is what `actor new` answers: the record, and where the key lies.
type newActor struct {
	domain.Actor
	KeyFile  string `json:"key_file"`
	Mycelium string `json:"mycelium,omitzero"`
}

func (a *app) actorNew() *cobra.Command {
	var file string
	var number uint32
	var bare bool
	c := &cobra.Command{
		Use: "new", Short: "Make a key, and an actor with it", Args: cobra.NoArgs,
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
					return n.CreateActor(c.Context(), actor)
				})
			})
		},
	}
	c.Flags().StringVar(&file, "file", "ramet.key", "where to write the key `file`; it must not be there yet")
	c.Flags().Uint32Var(&number, "id", 0, "the actor's `number`; 0 is the next free one")
	c.Flags().BoolVar(&bare, "no-register", false, "only make the key; the actor is made known elsewhere")
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
	made.Mycelium = mycelium
	return a.print(made, func(t *table) {
		t.field("actor", made.ID)
		t.field("pubkey", made.Pubkey)
		t.field("mycelium", made.Mycelium)
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
				actor, err := n.Actor(c.Context(), domain.ActorID(id))
				if err != nil {
					return err
				}
				return a.print(actor, func(t *table) {
					t.field("actor", actor.ID)
					t.field("pubkey", actor.Pubkey)
					t.field("address", addresses(actor))
					t.field("made", clock(int64(actor.CreatedAt)*1000))
				})
			})
		},
	}
}

func (a *app) actorList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List actors", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Actors(c.Context())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("ACTOR", "PUBKEY", "ADDRESS")
					for _, actor := range list.Actors {
						// The key is whole: it is what people copy from here.
						t.wide(actor.ID, actor.Pubkey, addresses(actor))
					}
				})
			})
		},
	}
}

func addresses(a domain.Actor) string {
	var words []string
	for _, ad := range a.Address {
		words = append(words, string(ad))
	}
	return strings.Join(words, ", ")
}
