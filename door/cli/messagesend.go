package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// messageFlags are those by which a message is made.
type messageFlags struct {
	to        uint32
	toKey     string
	peer      string
	there     uint32
	kind      string
	format    string
	topic     string
	job, flow string
	timeout   time.Duration
	ack       time.Duration
	result    time.Duration
	sign      bool
	wait      bool
	jobs      jobFlags
}

func (a *app) messageSend() *cobra.Command {
	var f messageFlags
	c := &cobra.Command{
		Use: "send [TEXT|-]", Short: "Send a message to an actor, or jobs to another context, here or at a peer", Args: cobra.MaximumNArgs(1),
		Long: `Send a message to an actor, or jobs or a flow to another context, on this board or at a peer, and return once it is safe.

The node signs it if it has the sender's key; with --sign this command does, by --key, which then never leaves this machine.`,
		Example: `  ramet message send "good morning" --to 12
  ramet message send --job report.py --peer acme --dst-context 7 --wait
  ramet message send --flow nightly.yaml --peer acme --dst-context 7`,
		RunE: func(c *cobra.Command, args []string) error {
			m, err := a.messageOf(c, &f, args)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.sendMessage(c.Context(), n, m, &f) })
		},
	}
	fl := c.Flags()
	fl.Uint32Var(&f.to, "to", 0, "the addressee: an `actor` by its number here")
	fl.StringVar(&f.toKey, "to-key", "", "the addressee by its `pubkey`")
	fl.StringVar(&f.peer, "peer", "", "the `name` of the site it goes to (default: where the addressee is, else this one)")
	fl.Uint32Var(&f.there, "dst-context", 0, "the context's `number` there (default: the same number)")
	fl.StringVar(&f.kind, "kind", string(domain.MessageChat), "chat, mail or result: who works on a job tells of it")
	fl.StringVar(&f.format, "format", string(domain.FormatText), "how the text is written: text, md or html")
	fl.StringVar(&f.topic, "topic", "", "the `runner` that is to have the jobs, as runner20")
	fl.StringVar(&f.job, "job", "", "a script, or a `file` of jobs, to be run there")
	fl.StringVar(&f.flow, "flow", "", "the `file` of a blueprint, or the name of one there, to be run there")
	fl.DurationVar(&f.timeout, "within", 0, "how long a bus may take to take it (default 24h)")
	fl.DurationVar(&f.ack, "ack-within", 0, "how long the other side may take to acknowledge it (default 24h)")
	fl.DurationVar(&f.result, "result-within", 0, "how long the result may take (default 24h)")
	fl.BoolVar(&f.sign, "sign", false, "sign it here, with --key")
	fl.BoolVar(&f.wait, "wait", false, "wait until it has been processed, and show the result")
	f.jobs.add(c)
	return c
}

// messageOf is the message that the flags and arguments say.
func (a *app) messageOf(c *cobra.Command, f *messageFlags, args []string) (domain.Message, error) {
	m := domain.Message{DstActor: domain.ActorID(f.to), DstPubkey: f.toKey, DstContext: domain.TenantID(f.there), Topic: f.topic,
		MessageType: domain.MessageType(f.kind), MessageFormatType: domain.MessageFormatType(f.format)}
	for name, d := range map[string]struct {
		given time.Duration
		to    *uint32
	}{"within": {f.timeout, &m.Timeout}, "ack-within": {f.ack, &m.TimeoutAck}, "result-within": {f.result, &m.TimeoutResult}} {
		if d.given < 0 || d.given%time.Second != 0 || d.given > domain.MaxMessageTimeout*time.Second {
			return m, domain.Invalidf("--%s %v: want whole seconds up to 30 days, for example 90s", name, d.given)
		}
		*d.to = uint32(d.given / time.Second)
	}
	if len(args) > 0 {
		text := args[0]
		if text == "-" {
			all, err := a.readInput("-", domain.MaxMessageText)
			if err != nil {
				return m, err
			}
			text = string(all)
		}
		m.Message = text
	}
	switch {
	case f.job != "" && f.flow != "":
		return m, domain.Invalidf("--job and --flow: want one of them")
	case f.job != "":
		m.MessageType = domain.MessageJob
		jobs, err := a.jobs(c, f.job, &f.jobs)
		if err != nil {
			return m, err
		}
		for i, j := range jobs {
			if len(j.Dependends) == 0 {
				j.Dependends = j.Depends
			}
			if j.ID == 0 && len(jobs) > 1 {
				j.ID = domain.JobID(i + 1)
			}
			m.Job = append(m.Job, j.Job)
		}
	case f.flow != "":
		m.MessageType = domain.MessageJob
		return m, a.messageFlow(&m, f.flow)
	case len(args) == 0:
		return m, domain.Invalidf("what is to be sent is missing: want a text, --job or --flow")
	case f.to == 0 && f.toKey == "":
		return m, domain.Invalidf("--to is missing: want the actor who is to have it")
	}
	return m, nil
}

// messageFlow puts a flow into a message: a blueprint's file, or its name there.
func (a *app) messageFlow(m *domain.Message, arg string) error {
	order := map[string]any{"blueprint": arg}
	if strings.ContainsAny(arg, "./") {
		b, err := a.readBlueprint(arg)
		if err != nil {
			return err
		}
		order = map[string]any{"plan": b}
	}
	text, err := json.Marshal(order)
	m.Flow = string(text)
	return err
}

func (a *app) sendMessage(ctx context.Context, n *client.Client, m domain.Message, f *messageFlags) error {
	if f.sign {
		if err := a.signMessage(ctx, n, &m, f.peer); err != nil {
			return err
		}
		f.peer = ""
	}
	send := n.SendMessage
	if len(m.Job) > 0 && !f.sign {
		// Their ids only say which depends on which: each is given a free one.
		send = func(ctx context.Context, tenant domain.TenantID, m domain.Message, peer string) (api.MessageSent, error) {
			return client.Call(ctx, n, api.MessageSend, api.SendParams{Context: tenant, Message: m, Peer: peer, NumberJobs: true})
		}
	}
	sent, err := send(ctx, a.tenant(), m, f.peer)
	if err != nil {
		return err
	}
	if !f.wait {
		return a.print(sent, func(t *table) { t.row(sent.Key().String()) })
	}
	return a.awaitMessage(ctx, n, sent.Key())
}

// signMessage completes a message as its node would, and signs it with the key
// file: what is signed cannot be completed later.
func (a *app) signMessage(ctx context.Context, n *client.Client, m *domain.Message, peer string) error {
	if a.hooks.SignMessage == nil || a.key == "" {
		return domain.Invalidf("--sign wants --key: the key file of the actor who sends it")
	}
	now := time.Now()
	var id [4]byte
	rand.Read(id[:])
	m.ID = domain.MessageID(binary.BigEndian.Uint32(id[:]) | 1)
	// What is signed is numbered before: far from what nodes draw.
	if err := domain.NumberJobs(m.Job, domain.JobID(m.ID>>1|1<<30)); err != nil {
		return err
	}
	m.SrcContext, m.ContextID = a.tenant(), a.tenant()
	if m.DstContext == 0 {
		m.DstContext = a.tenant()
	}
	if m.DstActor != 0 && m.DstPubkey == "" {
		actor, err := n.Actor(ctx, m.DstActor, a.tenant())
		if err != nil {
			return err
		}
		m.DstPubkey = actor.Pubkey
		for _, ad := range actor.Address {
			if m.DstNode == "" {
				m.DstNode = ad.Node()
			}
		}
	}
	if peer != "" {
		p, err := a.findPeer(ctx, n, peer)
		if err != nil {
			return err
		}
		m.DstNode = p.Nodes[0].Pubkey
	}
	if m.DstNode == "" { // so that it cannot be carried to another site
		here, err := n.Card(ctx, "here", a.tenant())
		if err != nil {
			return err
		}
		m.DstNode = here.Nodes[0].Pubkey
	}
	m.CreatedAt = domain.At(now)
	m.ExpiresAt = domain.At(now.Add(m.TimeoutOf(domain.StageDelivery) + m.TimeoutOf(domain.StageAck)))
	for i := range m.Job {
		j := &m.Job[i]
		j.ContextID, j.Status, j.CreatedAt, j.UpdatedAt = m.DstContext, domain.JobDispatched, m.CreatedAt, m.CreatedAt
	}
	return a.hooks.SignMessage(a.key, m)
}
