package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/work"
)

// Post is what the operations need of the engine of messages.
type Post interface {
	NumberJobs(ctx context.Context, tenant domain.TenantID, m *domain.Message) error
	Send(ctx context.Context, tenant domain.TenantID, m *domain.Message) (existing bool, err error)
	Show(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (*domain.Message, error)
	List(ctx context.Context, tenant domain.TenantID, f post.Filter, cursor string) ([]*domain.Message, string, error)
	Await(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) error
	Explain(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (post.Explanation, error)
	Made(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) ([]layout.Made, error)
	Inbox(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, from, n int) ([]*domain.Message, error)
	Take(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, key domain.MessageKey) (*domain.Message, error)
	AddPeer(ctx context.Context, p domain.Peer) (domain.Peer, error)
	RemovePeer(ctx context.Context, name string) error
	Peers(ctx context.Context) ([]domain.Peer, error)
	SiteNames(ctx context.Context) (map[string]string, error)
	Card(ctx context.Context, name string) (domain.Peer, error)
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (work.Audit, error)
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

// SendParams are those of message.send: the fields of a message, signed or not.
type SendParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	domain.Message
	// Peer is the name of the site it goes to, instead of dst_node.
	Peer string `json:"peer,omitzero"`
	// NumberJobs draws ids for the jobs: those they have only say which depends on
	// which, as in a file that is sent more than once.
	NumberJobs bool `json:"number_jobs,omitzero"`
}

// MessageSent is the answer to message.send.
type MessageSent struct {
	domain.Message
	// Existing is true when the same message was sent before: nothing was done.
	Existing bool `json:"existing,omitzero"`
	// Durability is what the acknowledged message survives.
	Durability string `json:"durability,omitzero"`
}

// SendMessage sends a message in the caller's own name. What becomes of it, and
// where it came from, is not taken over from the request.
func (c Caller) SendMessage(ctx context.Context, p SendParams) (MessageSent, error) {
	t, err := c.may(ctx, identity.Create, p.Context, "message")
	if err != nil {
		return MessageSent{}, err
	}
	engine, err := c.post()
	if err != nil {
		return MessageSent{}, err
	}
	m := p.Message.Letter()
	m.DstActor = p.DstActor
	switch {
	case m.CallerID != 0 && m.CallerID != c.who.Actor:
		return MessageSent{}, domain.Forbiddenf("caller_id %d is not you: messages are sent in one's own name; leave it out, or write %d", m.CallerID, c.who.Actor)
	case p.Peer != "" && m.DstNode != "":
		return MessageSent{}, domain.Invalidf("peer and dst_node: want one of them")
	case p.Peer != "" && m.Signature != "":
		return MessageSent{}, domain.Invalidf("peer: a signed message says where it goes by dst_node")
	case p.NumberJobs && m.Signature != "":
		return MessageSent{}, domain.Invalidf("number_jobs: a signed message has its ids; number them before it is signed")
	case p.Peer != "":
		if m.DstNode, err = c.nodeOf(ctx, engine, p.Peer); err != nil {
			return MessageSent{}, err
		}
	}
	if !c.reachesAll() && (m.DstNode != "" || m.DstContext != 0 && !c.who.Reaches(m.DstContext)) {
		return MessageSent{}, c.tooNarrow("another context")
	}
	m.CallerID = c.who.Actor
	if p.NumberJobs && len(m.Job) > 0 {
		if err := engine.NumberJobs(ctx, p.Context, &m); err != nil {
			return MessageSent{}, err
		}
	}
	if c.once != nil && m.ID == 0 && m.Signature == "" {
		first, err := c.once.numbers(ctx, layout.Seq("message", c.who.Actor), 1)
		if err != nil {
			return MessageSent{}, err
		}
		m.ID = domain.MessageID(first)
	}
	existing, err := engine.Send(ctx, p.Context, &m)
	if err != nil {
		return MessageSent{}, err
	}
	return MessageSent{c.messageView(t, &m, nil).Message, existing, c.api.parts.Info().Durability}, nil
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

// MessageView is a message as a caller may see it.
type MessageView struct {
	domain.Message
	// Peer is the name of the other site, "" where that is this one.
	Peer string `json:"peer,omitzero"`
	// Results is how its jobs ended, once that is known. A flow counts as one
	// job without an id.
	Results []domain.Job `json:"results,omitzero"`
	// Made says what was made here of a message that came from elsewhere.
	Made []MadeView `json:"made,omitzero"`
}

// MadeView is a job, or a flow, that was made of a message from elsewhere.
type MadeView struct {
	// ID is the job's number where the message comes from, Origin its whole key
	// there; none of a flow.
	ID     domain.JobID `json:"id,omitzero"`
	Origin string       `json:"origin,omitzero"`
	// Key is where it is found here; "" where it was refused, with the reason.
	Key   string `json:"key,omitzero"`
	Error string `json:"error,omitzero"`
}

// madeView is what was made of m.
func (c Caller) madeView(ctx context.Context, engine Post, m *domain.Message) ([]MadeView, error) {
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
	var list []MadeView
	for _, d := range made {
		if d == (layout.Made{}) {
			continue // a flow that is being made
		}
		v := MadeView{ID: d.Theirs, Error: d.Error}
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
func (c Caller) messageView(t domain.Tenant, m *domain.Message, sites map[string]string) *MessageView {
	seen := MessageView{Message: *m, Peer: siteOf(sites, m.DstNode)}
	if m.Origin != "" {
		seen.Peer = siteOf(sites, m.Node)
	}
	seen.Job = slices.Clone(m.Job)
	for i := range seen.Job {
		seen.Job[i] = *c.view(t, &seen.Job[i])
	}
	if seen.Flow != "" && !c.who.Permits(t, identity.ReadEnv, false, c.group) {
		seen.Flow = Redacted // it may bring an environment
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
func (c Caller) wholeView(ctx context.Context, engine Post, t domain.Tenant, m *domain.Message) (MessageView, error) {
	sites, err := engine.SiteNames(ctx)
	if err != nil {
		return MessageView{}, err
	}
	seen := c.messageView(t, m, sites)
	if seen.Made, err = c.madeView(ctx, engine, m); err != nil {
		return MessageView{}, err
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
			return MessageView{}, err
		}
	}
	if answer.MessageType == domain.MessageResult {
		seen.Results = c.messageView(t, answer, nil).Job
	}
	return *seen, nil
}

// MessageParams name a message.
type MessageParams struct {
	Context domain.TenantID  `json:"-" path:"context"`
	Caller  domain.ActorID   `json:"-" path:"caller"`
	ID      domain.MessageID `json:"-" path:"id"`
}

// Key names the message within its context.
func (p MessageParams) Key() domain.MessageKey {
	return domain.MessageKey{Caller: p.Caller, ID: p.ID}
}

// mayMessage asks for the right to read a message.
func (c Caller) mayMessage(ctx context.Context, p MessageParams) (domain.Tenant, Post, error) {
	t, err := c.may(ctx, identity.Read, p.Context, p.Key().String())
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
func (c Caller) ShowMessage(ctx context.Context, p MessageParams) (MessageView, error) {
	t, engine, err := c.mayMessage(ctx, p)
	if err != nil {
		return MessageView{}, err
	}
	m, err := c.message(ctx, engine, p.Context, p.Key())
	if err != nil {
		return MessageView{}, err
	}
	return c.wholeView(ctx, engine, t, m)
}

// ExplainMessage says where a message is and what moves it on.
func (c Caller) ExplainMessage(ctx context.Context, p MessageParams) (post.Explanation, error) {
	_, engine, err := c.mayMessage(ctx, p)
	if err != nil {
		return post.Explanation{}, err
	}
	x, err := engine.Explain(ctx, p.Context, p.Key())
	if err == nil {
		return x, nil
	}
	m, err := c.archivedMessage(ctx, p.Context, p.Key(), err)
	if err != nil {
		return post.Explanation{}, err
	}
	return post.Explanation{Key: m.Key().String(), Status: m.Status, Text: "it has ended: " + string(m.Status) + "; only the archive still has it"}, nil
}

// WaitMessageParams are those of message.wait.
type WaitMessageParams struct {
	MessageParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// WaitMessage waits for a message's end for a while, and returns it as it
// stands then.
func (c Caller) WaitMessage(ctx context.Context, p WaitMessageParams) (MessageView, error) {
	_, engine, err := c.mayMessage(ctx, p.MessageParams)
	if err != nil {
		return MessageView{}, err
	}
	most := cmp.Or(time.Duration(p.TimeoutMs)*time.Millisecond, waitMost)
	if most < 0 || most > waitMost {
		return MessageView{}, domain.Invalidf("timeout_ms %d: want 0 to %d", p.TimeoutMs, waitMost.Milliseconds())
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err = engine.Await(waiting, p.Context, p.Key())
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	if err != nil && !errors.Is(err, domain.ErrNotFound) { // it may have ended long ago
		return MessageView{}, err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return MessageView{}, err
	}
	return c.ShowMessage(ctx, p.MessageParams) // asks again: the right may be gone
}

// ListMessagesParams are those of message.list. Empty filters do not filter.
type ListMessagesParams struct {
	Context domain.TenantID      `json:"-" path:"context"`
	Status  domain.MessageStatus `json:"-" query:"status"`
	Type    domain.MessageType   `json:"-" query:"type"`
	Caller  domain.ActorID       `json:"-" query:"caller"`
	// Box is "sent" or "received".
	Box string `json:"-" query:"box"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
}

// MessageList is a page of messages, without their texts, jobs and logs.
type MessageList struct {
	Messages []*MessageView `json:"messages"`
	Next     string         `json:"next,omitzero"`
}

// ListMessages lists a page.
func (c Caller) ListMessages(ctx context.Context, p ListMessagesParams) (MessageList, error) {
	t, err := c.may(ctx, identity.Read, p.Context, "messages")
	if err != nil {
		return MessageList{}, err
	}
	engine, err := c.post()
	if err != nil {
		return MessageList{}, err
	}
	switch {
	case p.Box != "" && p.Box != "sent" && p.Box != "received":
		return MessageList{}, domain.Invalidf("box %q: want sent or received", p.Box)
	case p.Status != "" && !p.Status.Known():
		return MessageList{}, domain.Invalidf("status %q: want dispatched, acknowledged, processed or error", p.Status)
	case p.Type != "" && !slices.Contains(domain.MessageTypes, p.Type):
		return MessageList{}, domain.Invalidf("type %q: want job, chat, mail or result", p.Type)
	}
	filter := post.Filter{Status: p.Status, Type: p.Type, Caller: p.Caller, Sent: p.Box == "sent", Received: p.Box == "received"}
	for range listRounds {
		list, next, err := engine.List(ctx, p.Context, filter, p.Cursor)
		if err != nil {
			return MessageList{}, err
		}
		if next == "" || len(list) > 0 {
			return c.messageList(ctx, engine, t, list, next)
		}
		p.Cursor = next
	}
	return MessageList{[]*MessageView{}, p.Cursor}, nil
}

func (c Caller) messageList(ctx context.Context, engine Post, t domain.Tenant, list []*domain.Message, next string) (MessageList, error) {
	sites, err := engine.SiteNames(ctx)
	out := MessageList{make([]*MessageView, len(list)), next}
	for i, m := range list {
		out.Messages[i] = c.messageView(t, m, sites)
	}
	return out, err
}

// InboxParams are those of inbox.list.
type InboxParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// From is how many of the oldest to pass over, Limit how many to return at
	// the most, up to 200.
	From  int `json:"-" query:"from"`
	Limit int `json:"-" query:"limit"`
}

// ListInbox reads the caller's own inbox, oldest first.
func (c Caller) ListInbox(ctx context.Context, p InboxParams) (MessageList, error) {
	t, err := c.may(ctx, identity.Read, p.Context, "inbox")
	if err != nil {
		return MessageList{}, err
	}
	engine, err := c.post()
	if err != nil {
		return MessageList{}, err
	}
	list, err := engine.Inbox(ctx, p.Context, c.who.Actor, p.From, p.Limit)
	if err != nil {
		return MessageList{}, err
	}
	return c.messageList(ctx, engine, t, list, "")
}

// TakeParams are those of inbox.take.
type TakeParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Key is the message's: "message:12:101".
	Key string `json:"key"`
}

// TakeMessage takes a message out of the caller's own inbox.
func (c Caller) TakeMessage(ctx context.Context, p TakeParams) (MessageView, error) {
	t, err := c.may(ctx, identity.Take, p.Context, "inbox")
	if err != nil {
		return MessageView{}, err
	}
	engine, err := c.post()
	if err != nil {
		return MessageView{}, err
	}
	key, err := domain.ParseMessageKey(p.Key)
	if err != nil {
		return MessageView{}, err
	}
	m, err := engine.Take(ctx, p.Context, c.who.Actor, key)
	if err != nil {
		return MessageView{}, err
	}
	return c.wholeView(ctx, engine, t, m)
}
