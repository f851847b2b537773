package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) messageCommand() *cobra.Command {
	c := noun("message", "Send messages and work to others, and see what became of them", a.messageSend(), a.messageList(), a.messageShow(),
		a.messageWait(), a.messageExplain())
	c.Long = "Send messages and work to others, and see what became of them. A message's KEY is message:<caller>:<id>, <caller>:<id>, or <id> for a " +
		"message of caller 1."
	return c
}

func (a *app) messageList() *cobra.Command {
	return listing[api.ListMessagesParams, api.MessagePage, *api.MessageView]{
		op: api.MessageList, of: messages,
		page: func(p *api.MessagePage) paged[*api.MessageView] {
			return paged[*api.MessageView]{&p.Messages, &p.Next, &p.Looked, p.Count}
		},
		arrange: func(list []*api.MessageView) {
			slices.SortStableFunc(list, func(x, y *api.MessageView) int {
				return cmp.Or(cmp.Compare(x.CreatedAt, y.CreatedAt), cmp.Compare(x.CallerID, y.CallerID), cmp.Compare(x.ID, y.ID))
			})
		},
		rows: messageRows,
	}.into(a, &cobra.Command{Use: "list", Short: "List the messages of a context", Args: cobra.NoArgs})
}

func messageRows(t *table, list []*api.MessageView) {
	t.row("MESSAGE", "KIND", "STATUS", "FROM OR TO", "MADE", "ERROR")
	for _, m := range list {
		t.row(m.Key(), m.MessageType, m.Status, way(m), clock(int64(m.CreatedAt)*1000), m.Error)
	}
}

// way is where a message came from, or goes to.
func way(m *api.MessageView) string {
	if m.Origin != "" {
		return "from context " + place(m.SrcContext, m)
	}
	return "to context " + place(m.DstContext, m)
}

// place is a context at the other side of a message.
func place(tenant domain.TenantID, m *api.MessageView) string {
	return domain.Place{Tenant: tenant, Peer: m.Peer}.String()
}

// short is a public key as lists have it.
func short(pubkey string) string { return pubkey[:min(len(pubkey), 12)] }

// onMessage is a verb about one message.
func (a *app) onMessage(use, text string, do func(ctx context.Context, n *client.Client, key domain.MessageKey) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " KEY", Short: text, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			key, err := parseMessageKey(args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error { return do(c.Context(), n, key) })
		},
	}
}

// parseMessageKey reads a key as people type it.
func parseMessageKey(s string) (domain.MessageKey, error) {
	if !strings.Contains(s, ":") {
		s = "1:" + s
	}
	return domain.ParseMessageKey(s)
}

func (a *app) messageShow() *cobra.Command {
	return a.onMessage("show", "Show a message, with what its jobs have said so far", func(ctx context.Context, n *client.Client, key domain.MessageKey) error {
		m, err := n.Message(ctx, a.tenant(), key)
		if err != nil {
			return err
		}
		return a.print(m, func(t *table) { messageTable(t, &m) })
	})
}

func (a *app) messageWait() *cobra.Command {
	c := a.onMessage("wait", "Wait until a message has been processed, and show it", a.awaitMessage)
	c.Long = c.Short + ". Exit code: 0 it was processed and its jobs finished, 1 it or one of them failed."
	return c
}

// awaitMessage waits for a message's end and shows it.
func (a *app) awaitMessage(ctx context.Context, n *client.Client, key domain.MessageKey) error {
	a.noteIdle()
	m, err := n.WaitMessage(ctx, a.tenant(), key)
	if err != nil {
		return err
	}
	if err := a.printEnd(m, func(t *table) { messageTable(t, &m) }); err != nil {
		return err
	}
	for i := range m.Results {
		if j := &m.Results[i]; j.Status != domain.JobFinished {
			return &exitError{code: exitFailed, text: fmt.Sprintf("%s: its %s %s", m.Key(), nameOf(j), ending(j))}
		}
	}
	if m.Status == domain.MessageError {
		return &exitError{code: exitFailed, text: m.Key().String() + ": " + m.Error}
	}
	return nil
}

func (a *app) messageExplain() *cobra.Command {
	return a.onMessage("explain", "Say where a message is, and what moves it on", func(ctx context.Context, n *client.Client, key domain.MessageKey) error {
		x, err := n.ExplainMessage(ctx, a.tenant(), key)
		if err != nil {
			return err
		}
		return a.print(x, func(t *table) {
			t.field("message", x.Key)
			t.field("status", x.Status)
			t.wide(x.Text)
			t.field("held by", x.Holder)
			t.field("pushed again", clock(x.PushMs))
			t.field("given up", clock(x.LateMs))
		})
	})
}

func messageTable(t *table, m *api.MessageView) {
	t.field("message", m.Key().String())
	t.field("context", m.ContextID)
	t.field("kind", m.MessageType)
	t.field("status", m.Status)
	t.field("stage", m.Stage)
	t.field("error", m.Error)
	if m.Origin != "" {
		t.field("from", place(m.SrcContext, m)+", where it is "+m.Origin)
	} else {
		t.field("to", place(m.DstContext, m))
	}
	t.field("to actor", m.DstActor)
	t.field("topic", m.Topic)
	t.field("answers", m.ReplyTo)
	t.field("answer", m.Answer)
	t.field("made", clock(int64(m.CreatedAt)*1000))
	t.field("sent", clock(m.SentMs))
	t.field("acknowledged", clock(m.AckedMs))
	t.field("ended", clock(m.EndedMs))
	if m.Receipt != "" {
		t.field("receipt", fmt.Sprintf("the refusal, signed by the other side, %d bytes: -o json has it", len(m.Receipt)/2))
	}
	t.field("text", m.Message.Message)
	for _, l := range m.Logs {
		t.field("log of "+nameOf(&domain.Job{ID: l.Job}), l.Line)
	}
	for _, made := range m.Made {
		t.field("its "+nameOf(&domain.Job{ID: made.ID}), cmp.Or(made.Key, "refused: "+made.Error))
	}
	for i := range m.Results {
		j := &m.Results[i]
		t.field(nameOf(j), ending(j))
		resultFields(t, j.Result)
	}
}

// nameOf is what people call a job of a message; a flow has no number.
func nameOf(j *domain.Job) string {
	if j.ID == 0 {
		return "flow"
	}
	return fmt.Sprintf("job %d", j.ID)
}
