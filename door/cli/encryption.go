package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) contextEncrypt() *cobra.Command {
	var key string
	c := a.encryptionVerb("encrypt CONTEXT --key SECRET", "Encrypt a context's scripts, variables, results, logs and checkpoints where they lie",
		func(ctx context.Context, n *client.Client, id domain.TenantID) (domain.Encryption, error) {
			if key == "" {
				return domain.Encryption{}, domain.Invalidf("--key is missing: want the name of a secret in the nodes' config files")
			}
			return n.Encrypt(ctx, id, key)
		})
	c.Flags().StringVar(&key, "key", "", "the `secret`, by its name in the nodes' config files: 32 random bytes, as openssl rand -base64 32 makes them "+
		"(required)")
	c.Long = c.Short + `.
The context gets a key of its own, which lies on the board wrapped with the secret. Nodes that do not have the
secret do not serve the context. Run it again with another secret to wrap the key with that one.
Without the secret nobody can read what is encrypted: keep a copy.`
	return c
}

func (a *app) contextRekey() *cobra.Command {
	c := a.encryptionVerb("rekey CONTEXT", "Give an encrypted context a new key",
		func(ctx context.Context, n *client.Client, id domain.TenantID) (domain.Encryption, error) {
			return n.Rekey(ctx, id)
		})
	c.Long = c.Short + `. What is written from now on has it; what lies on the board is written anew
within minutes. Older keys stay for what is in the archive.`
	return c
}

func (a *app) contextDecrypt() *cobra.Command {
	c := a.encryptionVerb("decrypt CONTEXT", "End the encryption of a context",
		func(ctx context.Context, n *client.Client, id domain.TenantID) (domain.Encryption, error) {
			return n.Decrypt(ctx, id)
		})
	c.Long = c.Short + `. What is written from now on is plain; what lies on the board is written anew
within minutes. The archive keeps what it has: the secret is needed to read that.`
	return c
}

func (a *app) encryptionVerb(use, short string, do func(context.Context, *client.Client, domain.TenantID) (domain.Encryption, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1), DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			return a.onContext(c.Context(), args[0], func(n *client.Client, id domain.TenantID) error {
				e, err := do(c.Context(), n, id)
				if err != nil {
					return err
				}
				return a.print(e, func(out *table) {
					out.field("context", id)
					encryptionTable(out, &e)
				})
			})
		},
	}
}

// encryptionTable says how a context's payloads lie on disk.
func encryptionTable(out *table, e *domain.Encryption) {
	if e == nil {
		return
	}
	state := "on"
	if !e.On {
		state = "off; what is in the archive from before is encrypted"
	}
	out.field("encryption", state)
	out.field("wrapped with", "secret "+e.Key)
	if e.Locked != "" {
		out.field("locked", "this node cannot open the keys: "+e.Locked)
	} else {
		out.field("keys", e.Keys)
	}
	switch {
	case !e.Swept:
		out.field("board", "older values are being written anew")
	case e.Left > 0:
		out.field("board", fmt.Sprintf("written anew but for %d older values, which are read all the same", e.Left))
	default:
		out.field("board", "written anew")
	}
	out.field("since", clock(e.SinceMs))
}
