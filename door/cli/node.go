package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has what is asked of a node as a whole.

func (a *app) nodeCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the nodes of the board, those too that are gone", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Nodes(c.Context())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("NODE", "STATE", "VERSION", "RUNNER", "DURABILITY", "OFF", "SEEN")
					for _, node := range list.Nodes {
						t.row(node.Name, nodeState(node), node.Version, node.RunnerID, node.Durability, offRoles(node.Off), clock(node.SeenMs))
					}
				})
			})
		},
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "Show a node of the board as it says of itself", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				node, err := n.Node(c.Context(), args[0])
				if err != nil {
					return err
				}
				return a.print(node, func(t *table) { nodeTable(t, node) })
			})
		},
	}
	return noun("node", "Show the nodes of the board, and tell one what to do", list, show, a.nodeDrain(), a.nodeReload(), a.nodeLogLevel(),
		a.nodeDiscard(), a.nodeRekey())
}

// rekeyed is what `ramet node rekey` has made.
type rekeyed struct {
	Link   string `json:"link_key"`
	Stream string `json:"stream_key"`
}

func (a *app) nodeRekey() *cobra.Command {
	return &cobra.Command{
		Use: "rekey --data FOLDER", Short: "Make new keys for the links of a node to NATS servers", Args: cobra.NoArgs, DisableFlagsInUseLine: true,
		Long: `Make new keys for the links of the node of a data folder: if somebody may have read them, or from time to time. The node
uses them from its next start on; who it is and what it signs stays the same. Then its peers need its new card, and a
nats-server of one's own its new configuration: until they have it, they let the node in no more, and messages wait.`,
		Example: "  ramet node rekey --data /var/lib/ramet   # then: restart the node; ramet peer card",
		RunE: func(*cobra.Command, []string) error {
			switch {
			case a.hooks.Rekey == nil:
				return domain.Invalidf("this program makes no keys")
			case a.node != "":
				return domain.Invalidf("--node: keys are made in the data folder, and go over no network: run `ramet node rekey --data FOLDER` on the machine " +
					"of the node, and restart it there")
			}
			if _, err := os.Stat(a.data); err != nil {
				return fileError(err)
			}
			link, stream, err := a.hooks.Rekey(a.data)
			if err != nil {
				return err
			}
			return a.print(rekeyed{link, stream}, func(t *table) {
				t.field("link key", link)
				t.field("stream key", stream)
				t.field("next", "restart the node; give its peers the new card (`ramet peer card`), and a nats-server of yours its new configuration (`ramet "+
					"peer nats-config`)")
			})
		},
	}
}

func (a *app) nodeDrain() *cobra.Command {
	c := &cobra.Command{
		Use: "drain", Short: "Begin the graceful end of the node that is reached", Args: cobra.NoArgs, Annotations: map[string]string{oneNode: "yes"},
		Example: "  ramet node drain --node https://host:7480#name --key operator.key",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				out, err := n.DrainNode(c.Context())
				if err != nil {
					return err
				}
				return a.print(out, func(t *table) { t.row(out.Name, "takes nothing new, ends what it has, and stops") })
			})
		},
	}
	c.Long = c.Short + `: it takes nothing new, lets what runs go on for its grace, sends what waits in outboxes, and stops. It is the operator's.`
	return c
}

func (a *app) nodeDiscard() *cobra.Command {
	return &cobra.Command{
		Use: "discard NAME", Short: "Remove a value from the board's store that cannot be read", Args: cobra.ExactArgs(1),
		Long: `Remove a value from the board's store that cannot be read: something else has written there, and it is set aside. ` + "`ramet doctor`" + ` has
the names; one in quotation marks is given with them. With the head of a list or a set go its items. It is the operator's.`,
		Example: `  ramet node discard 'ramet/k/7/job:1:12'`,
		RunE: func(c *cobra.Command, args []string) error {
			name, err := strconv.Unquote(args[0])
			if err != nil {
				name = args[0]
			}
			return a.with(c.Context(), func(n *client.Client) error {
				out, err := n.DiscardValue(c.Context(), name)
				if err != nil {
					return err
				}
				return a.print(out, func(t *table) { t.row(strconv.Quote(out.Name), "is discarded") })
			})
		},
	}
}

func (a *app) nodeLogLevel() *cobra.Command {
	c := &cobra.Command{
		Use: "log-level LEVEL", Short: "Change from which level on the node that is reached writes to its log: debug, info, warn or error", Args: cobra.ExactArgs(1),
		Annotations: map[string]string{oneNode: "yes"},
		ValidArgs:   []cobra.Completion{"debug", "info", "warn", "error"},
		Example:     "  ramet node log-level debug\n  ramet node log-level info --node https://host:7480#nina --key operator.key",
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				out, err := client.Call(c.Context(), n, api.NodeLogLevel, api.LogLevelParams{Level: args[0]})
				if err != nil {
					return err
				}
				return a.print(out, func(t *table) {
					t.field("node", out.Name)
					t.field("level", out.Level)
					t.field("before", out.Before)
				})
			})
		},
	}
	c.Long = c.Short + `. That lasts until it ends; --log-level of ` + "`ramet serve`" + ` is for longer. It is the operator's.`
	return c
}

func (a *app) nodeReload() *cobra.Command {
	c := &cobra.Command{
		Use: "reload", Short: "Have the node that is reached read its config again", Args: cobra.NoArgs, Annotations: map[string]string{oneNode: "yes"},
		Example: "  ramet node reload",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				out, err := n.ReloadNode(c.Context())
				if err != nil {
					return err
				}
				return a.print(out, func(t *table) {
					t.field("node", out.Name)
					t.field("effects", strings.Join(out.Effects, ", "))
					if len(out.Restart) > 0 {
						t.field("not taken up", strings.Join(out.Restart, ", ")+": restart the node for these")
					}
				})
			})
		},
	}
	c.Long = c.Short + `: effects, secrets, and which sagas it serves. Where the new config is wrong the old one stays. It is the operator's.`
	return c
}

func nodeTable(t *table, n domain.Node) {
	t.field("node", n.Name)
	t.field("state", nodeState(n))
	t.field("version", n.Version)
	t.field("host", n.Host)
	t.field("runner", n.RunnerID)
	t.field("durability", n.Durability)
	if len(n.Labels) > 0 {
		t.field("labels", n.Labels)
	}
	for _, c := range n.Circles {
		t.field("circle", c)
	}
	t.field("effects", strings.Join(n.Effects, ", "))
	for _, o := range n.Off {
		t.field("off: "+string(o.Role), doctor.OffText(o))
	}
	for _, u := range n.Unkept {
		t.field("artifacts not kept", fmt.Sprintf("of %s in context %d: %s", u.Job, u.Context, u.Why))
	}
	t.field("since", clock(n.StartedMs))
	t.field("seen", clock(n.SeenMs))
}

// nodeState says for people whether a node is there.
func nodeState(n domain.Node) string {
	switch {
	case n.Alive:
		return "alive"
	case n.SeenMs == 0:
		return "stopped"
	}
	return "silent"
}

// words are names of any type as texts.
func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

func offRoles(off []domain.Off) string {
	words := make([]string, len(off))
	for i, o := range off {
		words[i] = string(o.Role)
	}
	return strings.Join(words, ", ")
}

func (a *app) infoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "info", Short: "Say what node this is", Args: cobra.NoArgs,
		Example: "  ramet info -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				i, err := n.Info(c.Context())
				if err != nil {
					return err
				}
				return a.print(i, func(t *table) {
					t.field("node", i.Name)
					t.field("version", i.Version)
					t.field("runner", i.RunnerID)
					t.field("board", i.Board)
					t.field("durability", i.Durability)
					t.field("archive", i.Archive)
					t.field("archive durability", i.ArchiveDurability)
					if b := i.ArchiveBacklog; b != nil {
						t.field("archive backlog", doctor.BacklogText(*b, time.Now()))
					}
					t.field("ready", i.Ready)
					t.field("board error", i.BoardError)
					t.field("stream error", i.StreamError)
					t.field("disk error", i.DiskError)
					t.field("archive error", i.ArchiveError)
					t.field("stream", i.Stream)
					t.field("stream durability", i.StreamDurability)
					for _, s := range i.Sizes {
						t.field(s.Of+" size", sizeField(s))
					}
					t.field("roles", strings.Join(words(i.Roles), ", "))
					for _, o := range i.Off {
						t.field("off: "+string(o.Role), doctor.OffText(o))
					}
					t.field("sagas", strings.Join(i.Sagas, ", "))
					t.field("effects", strings.Join(i.Effects, ", "))
					t.field("since", clock(i.StartedMs))
				})
			})
		},
	}
}

// sizeField says how much of something is kept.
func sizeField(s api.Size) string {
	if s.Items == 0 {
		return doctor.SizeText(s.Bytes)
	}
	return fmt.Sprintf("%s, %d items", doctor.SizeText(s.Bytes), s.Items)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: cobra.NoArgs,
		Example: "  ramet version",
		RunE: func(*cobra.Command, []string) error {
			out := struct {
				Version string   `json:"version"`
				Without []string `json:"without,omitempty"`
			}{a.hooks.Version, a.hooks.Without}
			return a.print(out, func(t *table) {
				t.wide("ramet " + out.Version)
				if len(out.Without) > 0 {
					t.wide("built without: " + strings.Join(out.Without, ", "))
				}
			})
		},
	}
}
