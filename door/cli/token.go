package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/client/failover"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// maxTokenTTL keeps tokens from becoming keys.
const maxTokenTTL = 24 * time.Hour

// tokenFlags are what a token is to be.
type tokenFlags struct {
	audience string
	life     time.Duration
	contexts []uint
	readOnly bool
	groups   []string
	name     string
}

func (a *app) tokenCommand() *cobra.Command {
	f := tokenFlags{life: time.Hour}
	c := &cobra.Command{
		Use: "token --key FILE --audience NODE", Short: "Sign a token, for programs that talk to a node themselves", Args: cobra.NoArgs,
		DisableFlagsInUseLine: true,
		Example: `  ramet token --key alice.key --audience nina --for 10m
  ramet token --key alice.key --audience nina --context 7 --read-only --group jobs --for 12h --name dashboard
  ramet token list --key alice.key --node https://host:7480#nina
  ramet token revoke jx2ehoe3vqm3dkwe --key alice.key --node https://host:7480#nina`,
		RunE: func(c *cobra.Command, _ []string) error {
			token, err := a.makeToken(&f)
			if err != nil {
				return err
			}
			if f.name != "" {
				a.noteToken(c.Context(), f.audience, token)
			}
			if a.output == outTable {
				_, err := fmt.Fprintln(a.std.Out, token) // whole, to be used in $(...)
				return err
			}
			return a.print(map[string]string{"token": token}, nil)
		},
	}
	c.Long = c.Short +
		`. It is good for whoever has it, for all that its actor may, or for less: --context, --read-only and --group narrow it, and nothing makes it wider again.
A narrowed token grants nothing to others, administrates nothing and looks after no tokens.`
	c.Flags().StringVar(&f.audience, "audience", "", "the `name` of the node it is for")
	c.Flags().DurationVar(&f.life, "for", f.life, "how long it is good, up to 24h")
	numbersVar(c.Flags(), &f.contexts, "context", "only for these contexts, by their `numbers`")
	c.Flags().BoolVar(&f.readOnly, "read-only", false, "only to read")
	c.Flags().StringSliceVar(&f.groups, "group", nil, "only for operations of these `nouns`, as jobs or flows; metrics is for /metrics")
	c.Flags().StringVar(&f.name, "name", "", "what it is for: a `name` by which the list of tokens shows it, where the node can be reached")
	c.AddCommand(a.tokenList(), a.tokenRevoke())
	return c
}

// makeToken signs what the flags say.
//
// Errors: [domain.ErrInvalid]; those of the hook.
func (a *app) makeToken(f *tokenFlags) (string, error) {
	claims := identity.Claims{Name: f.name}
	claims.ReadOnly = f.readOnly
	var err error
	if claims.Groups, err = groupsOf(f.groups); err != nil {
		return "", err
	}
	for _, n := range f.contexts {
		if n == 0 || n >= 1<<32 {
			return "", domain.Invalidf("--context %d: want numbers from 1 to 4294967295", n)
		}
		claims.Contexts = append(claims.Contexts, domain.TenantID(n))
	}
	switch {
	case a.hooks.Token == nil:
		return "", domain.Invalidf("this program cannot make tokens")
	case a.key == "":
		return "", domain.Invalidf("--key is missing: want the key file of the actor to be")
	case f.audience == "":
		return "", domain.Invalidf("--audience is missing: want the node's name, as `ramet info` shows it")
	case f.life < time.Second || f.life > maxTokenTTL:
		return "", domain.Invalidf("--for %v: want 1s to %v", f.life, maxTokenTTL)
	}
	return a.hooks.Token(a.key, f.audience, f.life, claims)
}

// groupsOf are the groups of operations that a person names, as job or jobs.
//
// Errors: [domain.ErrInvalid].
func groupsOf(names []string) (groups []string, err error) {
	known := api.Groups()
	for _, name := range names {
		if !slices.Contains(known, name) {
			name = strings.TrimSuffix(name, "s")
		}
		if !slices.Contains(known, name) {
			return nil, domain.Invalidf("--group %q: want one or more of %s", name, strings.Join(known, ", "))
		}
		groups = append(groups, name)
	}
	return groups, nil
}

// noteToken makes a token known where its node can be reached. That it could not
// be is said and no error: the token is good all the same.
func (a *app) noteToken(ctx context.Context, audience, token string) {
	err := a.withNode(ctx, audience, func(n *client.Client) error {
		_, err := n.NoteToken(ctx, token)
		return err
	})
	if err != nil {
		a.complain("the token is good, but `ramet token list` will not show its name: " + err.Error())
	}
}

// withNode is [app.with] for a node that must be there, and have a name.
func (a *app) withNode(ctx context.Context, name string, do func(n *client.Client) error) error {
	cfg, expect := client.Config{Socket: SocketPath(a.data)}, ""
	if a.node != "" {
		list := failover.Addresses(a.node)
		at := max(0, slices.IndexFunc(list, func(n failover.Address) bool { return n.Name == name }))
		cfg.Socket, cfg.URL, expect = "", list[at].URL, list[at].Name
	} else if there, err := listens(ctx, cfg.Socket); err != nil || !there {
		return domain.Unavailablef("no node answers on %s; name one with --node", a.data)
	}
	n, err := a.dial(ctx, cfg, expect)
	if err != nil {
		return err
	}
	defer n.Close()
	info, err := n.Info(ctx)
	if err != nil {
		return err
	}
	if info.Name != name {
		return domain.Invalidf("the node that answers is %.64q", info.Name)
	}
	return do(n)
}

func (a *app) tokenList() *cobra.Command {
	var actor uint32
	c := &cobra.Command{
		Use: "list", Short: "List tokens that are known: made with a name, used at this node, or revoked", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Tokens(c.Context(), domain.ActorID(actor))
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("TOKEN", "ACTOR", "STATE", "UNTIL", "USED", "NAME", "FOR")
					for _, k := range list.Tokens {
						t.row(k.ID, k.Actor, tokenState(k, time.Now()), clock(int64(k.ExpiresAt)*1000), clock(k.SeenMs), k.Name, k.Scope.String())
					}
				})
			})
		},
	}
	c.Flags().Uint32Var(&actor, "actor", 0, "those of another `actor`; for the operator")
	return c
}

func tokenState(t domain.Token, now time.Time) string {
	switch {
	case t.Revoked:
		return "revoked"
	case now.After(t.ExpiresAt.Time()): // nodes take it for a minute more, as clocks may differ
		return "over"
	}
	return "good"
}

func (a *app) tokenRevoke() *cobra.Command {
	var actor uint32
	all := false
	c := &cobra.Command{
		Use: "revoke [ID]", Short: "End a token, or all tokens of an actor that were issued before now", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id := strings.Join(args, "")
			if (id == "") == !all {
				return domain.Invalidf("which tokens? want the ID of one, as `ramet token list` shows it, or --all")
			}
			return a.with(c.Context(), func(n *client.Client) error {
				done, err := n.RevokeToken(c.Context(), api.RevokeTokenParams{Actor: domain.ActorID(actor), ID: id, All: all})
				if err != nil {
					return err
				}
				return a.print(done, func(t *table) {
					what := "token " + done.ID
					if done.All {
						what = "all tokens issued before now"
					}
					t.row(fmt.Sprintf("%s of actor %d: revoked", what, done.Actor))
				})
			})
		},
	}
	c.Long = c.Short + `. Every node acts by it within a second; calls, streams and connections that are open end, too.
After --all the tokens of the next minute are refused as well: by so much clocks may differ.`
	c.Flags().Uint32Var(&actor, "actor", 0, "those of another `actor`; for the operator")
	c.Flags().BoolVar(&all, "all", false, "all that were issued before now")
	return c
}
