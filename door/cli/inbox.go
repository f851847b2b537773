package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
)

func (a *app) inboxCommand() *cobra.Command {
	var take bool
	var limit, from int
	c := &cobra.Command{
		Use: "inbox", Short: "Read one's own inbox, oldest first", Args: cobra.NoArgs, Annotations: map[string]string{takesArgs: "1"},
		Example: "  ramet inbox\n  ramet inbox --take",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Inbox(c.Context(), a.tenant(), from, limit)
				if err != nil {
					return err
				}
				if take {
					for _, m := range list {
						if _, err := n.TakeMessage(c.Context(), a.tenant(), m.Key()); err != nil {
							return err
						}
					}
				}
				return a.print(api.MessagePage{Messages: list}, func(t *table) { inboxRows(t, list) })
			})
		},
	}
	c.Flags().BoolVar(&take, "take", false, "take what is shown out of it")
	c.Flags().IntVar(&limit, "limit", 50, "how many at the most, up to 200")
	c.Flags().IntVar(&from, "from", 0, "how many of the oldest to pass over")
	return c
}

func inboxRows(t *table, list []*api.MessageView) {
	t.row("MESSAGE", "KIND", "FROM", "MADE", "TEXT")
	for _, m := range list {
		t.row(m.Key(), m.MessageType, sender(m), clock(int64(m.CreatedAt)*1000), m.Message.Message)
	}
}

// sender is who wrote a message; answers are written by nodes.
func sender(m *api.MessageView) string {
	switch {
	case !m.Answers() && m.Peer != "":
		return fmt.Sprintf("actor %d at %s", m.CallerID, m.Peer)
	case !m.Answers():
		return fmt.Sprintf("actor %d", m.CallerID)
	}
	return cmp.Or(m.Peer, "this site")
}
