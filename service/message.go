package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/post"
)

// Post is what the operations need of the engine of messages.
type Post interface {
	NumberJobs(ctx context.Context, tenant domain.TenantID, m *domain.Message) error
	SendOnce(ctx context.Context, tenant domain.TenantID, m *domain.Message, ticket string) (existing bool, err error)
	Show(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (*domain.Message, error)
	List(ctx context.Context, tenant domain.TenantID, f post.Filter, cursor string) ([]*domain.Message, listing.At, error)
	Await(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) error
	Explain(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (domain.MessageExplanation, error)
	Made(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) ([]layout.Made, error)
	Inbox(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, from, n int) ([]*domain.Message, error)
	Take(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, key domain.MessageKey) (*domain.Message, error)
	AddPeer(ctx context.Context, p domain.Peer) (domain.Peer, error)
	RemovePeer(ctx context.Context, name string) error
	Peers(ctx context.Context) ([]domain.Peer, error)
	SiteNames(ctx context.Context) (map[string]string, error)
	Card(ctx context.Context, name string) (domain.Peer, error)
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error)
}

// post is the engine of messages.
//
// Errors: [domain.ErrUnavailable] where the node has none.
func (c Caller) post() (Post, error) {
	if c.api.parts.Post == nil {
		return nil, domain.Unavailablef("this node sends no messages")
	}
	return c.api.parts.Post, nil
}

// SendMessage sends a message in the caller's own name. What becomes of it, and
// where it came from, is not taken over from the request.
func (c Caller) SendMessage(ctx context.Context, p api.SendParams) (api.MessageSent, error) {
	t, err := c.may(ctx, domain.VerbCreate, p.Context, "message")
	if err != nil {
		return api.MessageSent{}, err
	}
	engine, err := c.post()
	if err != nil {
		return api.MessageSent{}, err
	}
	m := p.Message.Signed()
	m.DstActor = p.DstActor
	if hide.In(m.Flow, false) {
		return api.MessageSent{}, domain.Invalidf("flow: an environment in it: %s", hide.WhyNot)
	}
	for i := range m.Job {
		if err := hide.Refuse(m.Job[i].EnvVars); err != nil {
			return api.MessageSent{}, err
		}
	}
	switch {
	case m.CallerID != 0 && m.CallerID != c.who.Actor:
		return api.MessageSent{}, domain.Forbiddenf("caller_id %d is not you: messages are sent in one's own name; leave it out, or write %d", m.CallerID,
			c.who.Actor)
	case p.Peer != "" && m.DstNode != "":
		return api.MessageSent{}, domain.Invalidf("peer and dst_node: want one of them")
	case p.Peer != "" && m.Signature != "":
		return api.MessageSent{}, domain.Invalidf("peer: a signed message says where it goes by dst_node")
	case p.NumberJobs && m.Signature != "":
		return api.MessageSent{}, domain.Invalidf("number_jobs: a signed message has its ids; number them before it is signed")
	case p.Peer != "":
		if m.DstNode, err = c.nodeOf(ctx, engine, p.Peer); err != nil {
			return api.MessageSent{}, err
		}
	}
	if !c.reachesAll() && (m.DstNode != "" || m.DstContext != 0 && !c.who.Reaches(m.DstContext)) {
		return api.MessageSent{}, c.tooNarrow("another context")
	}
	m.CallerID = c.who.Actor
	if p.NumberJobs && len(m.Job) > 0 {
		if err := engine.NumberJobs(ctx, p.Context, &m); err != nil {
			return api.MessageSent{}, err
		}
	}
	if c.once != nil && m.ID == 0 && m.Signature == "" {
		before, err := c.once.numberedBefore()
		if err != nil {
			return api.MessageSent{}, err
		}
		m.ID = domain.MessageID(before)
	}
	existing, err := engine.SendOnce(ctx, p.Context, &m, c.once.name(0))
	if err != nil {
		return api.MessageSent{}, err
	}
	return api.MessageSent{Message: c.messageView(t, &m, nil).Message, Existing: existing, Durability: c.api.parts.Durability()}, nil
}

// nodeOf is a node of a peer.
func (c Caller) nodeOf(ctx context.Context, engine Post, name string) (string, error) {
	peers, err := engine.Peers(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, p := range peers {
		if p.Name == name {
			return p.Nodes[0].Pubkey, nil
		}
		names = append(names, p.Name)
	}
	near := domain.Nearest(name, names)
	if near != "" {
		return "", domain.Invalidf("peer: there is no peer %q; did you mean %q?", name, near)
	}
	return "", domain.Invalidf("peer: there is no peer %q; `ramet peer add` makes one known", name)
}

// madeView is what was made of m.
func (c Caller) madeView(ctx context.Context, engine Post, m *domain.Message) ([]api.MadeView, error) {
	if m.Origin == "" || m.MessageType != domain.MessageJob {
		return nil, nil
	}
	there, err := domain.ParseMessageKey(m.Origin)
	if err != nil {
		return nil, nil // another program wrote it
	}
	made, err := engine.Made(ctx, m.ContextID, m.Key())
	if err != nil {
		return nil, err
	}
	var list []api.MadeView
	for _, d := range made {
		if d == (layout.Made{}) {
			continue // a flow that is being made
		}
		v := api.MadeView{ID: d.Theirs, Error: d.Error}
		if d.Theirs != 0 {
			v.Origin = domain.JobKey{Caller: there.Caller, ID: d.Theirs}.String()
		}
		switch {
		case d.Flow != 0:
			v.Key = domain.FlowKey(d.Flow)
		case d.Ours != 0:
			v.Key = domain.JobKey{Caller: m.CallerID, ID: d.Ours}.String()
		}
		list = append(list, v)
	}
	return list, nil
}

// messageView is the message as the caller may see it. sites are the names of
// other sites, by node.
func (c Caller) messageView(t domain.Tenant, m *domain.Message, sites map[string]string) *api.MessageView {
	seen := api.MessageView{Message: *m, Peer: siteOf(sites, m.DstNode)}
	if m.Origin != "" {
		seen.Peer = siteOf(sites, m.Node)
	}
	seen.Job = slices.Clone(m.Job)
	for i := range seen.Job {
		seen.Job[i] = *c.view(t, &seen.Job[i])
	}
	if seen.Flow != "" && !c.who.Permits(t, domain.VerbReadEnv, false, c.group) {
		seen.Flow = api.Redacted // it may bring an environment
	}
	return &seen
}

// siteOf is the name of a node's site, "" for this one. One that is of no peer,
// or no longer, is called by the beginning of its key.
func siteOf(sites map[string]string, node string) string {
	name, known := sites[node]
	if !known {
		return node[:min(len(node), 12)]
	}
	return name
}

// wholeView is the view of a message with the results of its jobs.
func (c Caller) wholeView(ctx context.Context, engine Post, t domain.Tenant, m *domain.Message) (api.MessageView, error) {
	sites, err := engine.SiteNames(ctx)
	if err != nil {
		return api.MessageView{}, err
	}
	seen := c.messageView(t, m, sites)
	if seen.Made, err = c.madeView(ctx, engine, m); err != nil {
		return api.MessageView{}, err
	}
	answer := m
	if m.MessageType == domain.MessageJob {
		key, err := domain.ParseMessageKey(m.Answer)
		if err != nil {
			return *seen, nil // none yet
		}
		if answer, err = c.message(ctx, engine, t.ID, key); errors.Is(err, domain.ErrNotFound) {
			return *seen, nil // it has been cleared away
		} else if err != nil {
			return api.MessageView{}, err
		}
	}
	if answer.Answers() {
		seen.Results = c.messageView(t, answer, nil).Job
	}
	return *seen, nil
}

// mayMessage asks for the right to read a message.
func (c Caller) mayMessage(ctx context.Context, p api.MessageParams) (domain.Tenant, Post, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, p.Key().String())
	if err != nil {
		return t, nil, err
	}
	engine, err := c.post()
	return t, engine, err
}

// message reads a message: from the archive, once the board has let it go.
func (c Caller) message(ctx context.Context, engine Post, tenant domain.TenantID, key domain.MessageKey) (*domain.Message, error) {
	m, err := engine.Show(ctx, tenant, key)
	if err != nil {
		m, err = c.archivedMessage(ctx, tenant, key, err)
	}
	return m, err
}

// ShowMessage reads one message: from the archive, once the board has let it go.
func (c Caller) ShowMessage(ctx context.Context, p api.MessageParams) (api.MessageView, error) {
	t, engine, err := c.mayMessage(ctx, p)
	if err != nil {
		return api.MessageView{}, err
	}
	m, err := c.message(ctx, engine, p.Context, p.Key())
	if err != nil {
		return api.MessageView{}, err
	}
	return c.wholeView(ctx, engine, t, m)
}

// ExplainMessage says where a message is and what moves it on.
func (c Caller) ExplainMessage(ctx context.Context, p api.MessageParams) (domain.MessageExplanation, error) {
	_, engine, err := c.mayMessage(ctx, p)
	if err != nil {
		return domain.MessageExplanation{}, err
	}
	x, err := engine.Explain(ctx, p.Context, p.Key())
	if err == nil {
		return x, nil
	}
	m, err := c.archivedMessage(ctx, p.Context, p.Key(), err)
	if err != nil {
		return domain.MessageExplanation{}, err
	}
	return domain.MessageExplanation{Key: m.Key().String(), Status: m.Status, Text: "it has ended: " + string(m.Status) + "; only the archive still has it"}, nil
}

// WaitMessage waits for a message's end for a while, and returns it as it
// stands then.
func (c Caller) WaitMessage(ctx context.Context, p api.WaitMessageParams) (api.MessageView, error) {
	_, engine, err := c.mayMessage(ctx, p.MessageParams)
	if err != nil {
		return api.MessageView{}, err
	}
	most := cmp.Or(time.Duration(p.TimeoutMs)*time.Millisecond, waitMost)
	if most < 0 || most > waitMost {
		return api.MessageView{}, domain.Invalidf("timeout_ms %d: want 0 to %d", p.TimeoutMs, waitMost.Milliseconds())
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err = engine.Await(waiting, p.Context, p.Key())
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	if err != nil && !errors.Is(err, domain.ErrNotFound) { // it may have ended long ago
		return api.MessageView{}, err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return api.MessageView{}, err
	}
	return c.ShowMessage(ctx, p.MessageParams) // asks again: the right may be gone
}

// ListMessages lists a page, the newest of the context's members first. It looks on
// where nothing matches, but not for ever.
func (c Caller) ListMessages(ctx context.Context, p api.ListMessagesParams) (api.MessagePage, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, "messages")
	if err != nil {
		return api.MessagePage{}, err
	}
	engine, err := c.post()
	if err != nil {
		return api.MessagePage{}, err
	}
	switch {
	case p.Box != "" && p.Box != "sent" && p.Box != "received":
		return api.MessagePage{}, domain.Invalidf("box %q: want sent or received", p.Box)
	case p.Status != "" && !p.Status.Known():
		return api.MessagePage{}, domain.Invalidf("status %q: want dispatched, acknowledged, processed or error", p.Status)
	case p.Type != "" && !slices.Contains(domain.MessageTypes, p.Type):
		return api.MessagePage{}, domain.Invalidf("type %q: want job, chat, mail or result", p.Type)
	}
	filter := post.Filter{Status: p.Status, Type: p.Type, Caller: p.Caller, Callers: membersOf(t), Sent: p.Box == "sent", Received: p.Box == "received"}
	if p.Status == "" && p.Type == "" && p.Box == "" && p.Where == "" && p.Narrowing == (api.Narrowing{}) && !p.Count {
		filter.Look = p.Limit // all that is looked at is listed
	}
	f, err := find(ctx, c, wanted[*domain.Message]{tenant: p.Context,
		list:   listName("messages", p.Status, p.Type, p.Caller, p.Box, p.Where, p.Narrowing),
		cursor: p.Cursor, limit: p.Limit, count: p.Count, where: p.Where, name: "message", narrow: p.Narrowing,
		made: func(m *domain.Message) int64 { return m.CreatedAt.Time().UnixMilli() }, grain: aSecond,
		page: func(cursor string) ([]*domain.Message, listing.At, error) {
			return engine.List(ctx, p.Context, filter, cursor)
		},
		key:   func(m *domain.Message) string { return m.Key().String() },
		isKey: func(key string) bool { _, err := domain.ParseMessageKey(key); return err == nil }})
	if err != nil {
		return api.MessagePage{}, err
	}
	list, err := c.messageList(ctx, engine, t, f.list, f.next)
	list.Looked, list.Count = f.looked, f.count
	return list, err
}

func (c Caller) messageList(ctx context.Context, engine Post, t domain.Tenant, list []*domain.Message, next string) (api.MessagePage, error) {
	sites, err := engine.SiteNames(ctx)
	out := api.MessagePage{Messages: make([]*api.MessageView, len(list)), Next: next}
	for i, m := range list {
		out.Messages[i] = c.messageView(t, m, sites)
	}
	return out, err
}

// ListInbox reads the caller's own inbox, oldest first.
func (c Caller) ListInbox(ctx context.Context, p api.InboxParams) (api.MessagePage, error) {
	t, err := c.may(ctx, domain.VerbRead, p.Context, "inbox")
	if err != nil {
		return api.MessagePage{}, err
	}
	engine, err := c.post()
	if err != nil {
		return api.MessagePage{}, err
	}
	list, err := engine.Inbox(ctx, p.Context, c.who.Actor, p.From, p.Limit)
	if err != nil {
		return api.MessagePage{}, err
	}
	return c.messageList(ctx, engine, t, list, "")
}

// TakeMessage takes a message out of the caller's own inbox.
func (c Caller) TakeMessage(ctx context.Context, p api.TakeParams) (api.MessageView, error) {
	t, err := c.may(ctx, domain.VerbTake, p.Context, "inbox")
	if err != nil {
		return api.MessageView{}, err
	}
	engine, err := c.post()
	if err != nil {
		return api.MessageView{}, err
	}
	key, err := domain.ParseMessageKey(p.Key)
	if err != nil {
		return api.MessageView{}, err
	}
	m, err := engine.Take(ctx, p.Context, c.who.Actor, key)
	if err != nil {
		return api.MessageView{}, err
	}
	return c.wholeView(ctx, engine, t, m)
}
