package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file has the verbs for secrets of a context.

func (a *app) secretCommand() *cobra.Command {
	c := noun("secret", "Give jobs of a context passwords that stand on no record", a.secretSet(), a.secretList(), a.secretDelete())
	c.Long = `Give jobs of a context passwords that stand on no record. A job, a step or a blueprint names them under secrets, as in
secrets: {DB_URL: warehouse}; its script finds them as environment variables while it runs. Nobody reads one back.`
	return c
}

func (a *app) secretSet() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "set NAME [--from-file FILE]", Short: "Set a secret to what is piped in, or to what a file has", Args: cobra.ExactArgs(1),
		Example: "  printf %s \"$PASSWORD\" | ramet secret set warehouse --context 7\n  ramet secret set deploy_key --from-file deploy.pem --context 7",
		RunE: func(c *cobra.Command, args []string) error {
			if err := domain.ValidateName("secret", args[0]); err != nil {
				return err
			}
			text, err := a.readInput(file, domain.MaxSecretBytes+2)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				s, err := n.SetSecret(c.Context(), a.tenant(), args[0], domain.SecretText(string(text)))
				if err != nil {
					return err
				}
				return a.print(s, func(t *table) { t.row(s.Name + " is set") })
			})
		},
	}
	c.Long = c.Short + `. It lies sealed on the board; the next job that names it
finds the new value. A value is never an argument: others on the machine see those. A single line is taken without its end.`
	c.Flags().StringVar(&file, "from-file", "-", "the `file`; - is what is piped in")
	return c
}

func (a *app) secretList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the secrets of a context by name, and where each comes from", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Secrets(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(api.Secrets{Secrets: list}, func(t *table) {
					t.row("NAME", "SOURCE", "SET", "BY")
					for _, s := range list {
						by := ""
						if s.By != 0 {
							by = fmt.Sprint(s.By)
						}
						source := s.Source
						if s.Locked != "" {
							source += ", not to be opened here"
						}
						t.row(s.Name, source, clock(s.SetMs), by)
					}
				})
			})
		},
	}
}

func (a *app) secretDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Take a secret off the board", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := domain.ValidateName("secret", args[0]); err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				if err := n.DeleteSecret(c.Context(), a.tenant(), args[0]); err != nil {
					return err
				}
				return a.print(api.SecretDeleted{Name: args[0]}, func(t *table) { t.row(args[0] + " is deleted") })
			})
		},
	}
}
