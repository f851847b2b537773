package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
)

// maxTokenTTL keeps tokens from becoming keys.
const maxTokenTTL = 24 * time.Hour

func (a *app) tokenCommand() *cobra.Command {
	var audience string
	ttl := time.Hour
	c := &cobra.Command{
		Use: "token --key FILE --audience NODE", Short: "Sign a token, for programs that talk to a node themselves", Args: cobra.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case a.hooks.Token == nil:
				return domain.Invalidf("this program cannot make tokens")
			case a.key == "":
				return domain.Invalidf("--key is missing: want the key file of the actor to be")
			case audience == "":
				return domain.Invalidf("--audience is missing: want the node's name, as `ramet info` shows it")
			case ttl < time.Second || ttl > maxTokenTTL:
				return domain.Invalidf("--ttl %v: want 1s to %v", ttl, maxTokenTTL)
			}
			token, err := a.hooks.Token(a.key, audience, ttl)
			if err != nil {
				return err
			}
			if a.output == outTable {
				_, err := fmt.Fprintln(a.std.Out, token) // whole, to be used in $(...)
				return err
			}
			return a.print(map[string]string{"token": token}, nil)
		},
	}
	c.Flags().StringVar(&audience, "audience", "", "the `name` of the node it is for")
	c.Flags().DurationVar(&ttl, "ttl", ttl, "how long it is good for, up to 24h")
	return c
}
