package api

import "github.com/ramet-run/ramet/domain"

// The operations on messages.
var (
	MessageSend = op[MessageSent](Operation{
		Name: "message.send", Method: "POST", Path: "/v1/contexts/{context}/messages", Right: domain.VerbCreate,
		Summary: "Send a message to an actor, or jobs or a flow to another context, here or at a peer.",
	}, SendParams{Context: 7, Message: domain.Message{DstActor: 20, MessageType: domain.MessageChat, Message: "hello"}})
	MessageList = op[MessagePage](Operation{
		Name: "message.list", Method: "GET", Path: "/v1/contexts/{context}/messages", Right: domain.VerbRead, Much: true,
		Summary: "List messages page by page, without texts, jobs and logs.",
	}, ListMessagesParams{Context: 7, Box: "sent"})
	MessageShow = op[MessageView](Operation{
		Name: "message.show", Method: "GET", Path: "/v1/contexts/{context}/messages/{caller}/{id}", Right: domain.VerbRead,
		Summary: "Show a message, with what its jobs have said so far.",
	}, MessageParams{Context: 7, Caller: 12, ID: 2001})
	MessageWait = op[MessageView](Operation{
		Name: "message.wait", Method: "GET", Path: "/v1/contexts/{context}/messages/{caller}/{id}/wait", Right: domain.VerbRead, Waits: true,
		Summary: "Wait until a message has been processed, or ended in error.",
	}, WaitMessageParams{MessageParams: MessageParams{Context: 7, Caller: 12, ID: 2001}, TimeoutMs: 30_000})
	MessageExplain = op[domain.MessageExplanation](Operation{
		Name: "message.explain", Method: "GET", Path: "/v1/contexts/{context}/messages/{caller}/{id}/explain", Right: domain.VerbRead,
		Summary: "Say where a message is, and what moves it on.",
	}, MessageParams{Context: 7, Caller: 12, ID: 2001})
)

// The operations on one's inbox.
var (
	InboxList = op[MessagePage](Operation{
		Name: "inbox.list", Method: "GET", Path: "/v1/contexts/{context}/inbox", Right: domain.VerbRead, Much: true,
		Summary: "Read one's own inbox, oldest first.",
	}, InboxParams{Context: 7})
	InboxTake = op[MessageView](Operation{
		Name: "inbox.take", Method: "POST", Path: "/v1/contexts/{context}/inbox/take", Right: domain.VerbTake,
		Summary: "Take a message out of one's own inbox.",
	}, TakeParams{Context: 7, Key: "message:12:101"})
)

// SendParams are the parameters of message.send: the fields of a message, signed or not.
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

// WaitMessageParams are the parameters of message.wait.
type WaitMessageParams struct {
	MessageParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// ListMessagesParams are the parameters of message.list. Empty filters do not filter.
type ListMessagesParams struct {
	Context domain.TenantID      `json:"-" path:"context"`
	Status  domain.MessageStatus `json:"-" query:"status"`
	Type    domain.MessageType   `json:"-" query:"type"`
	Caller  domain.ActorID       `json:"-" query:"caller"`
	// Box is "sent" or "received".
	Box string `json:"-" query:"box"`
	// Where is a Rhai expression over `message`, such as message.dst_actor == 20.
	Where string `json:"-" query:"where"`
	Narrowing
	// Count counts what the filter fits, and lists nothing.
	Count bool `json:"-" query:"count"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most. 0: as many as the board gives at once,
	// about 500.
	Limit int `json:"-" query:"limit"`
}

// MessagePage is a page of messages, without their texts, jobs and logs.
type MessagePage struct {
	Messages []*MessageView `json:"messages"`
	Next     string         `json:"next,omitzero"`
	// Looked is how many messages were looked at for this page.
	Looked int `json:"looked,omitzero"`
	// Count is there where it was asked for.
	Count *Counted `json:"count,omitzero"`
}

// InboxParams are the parameters of inbox.list.
type InboxParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// From is how many of the oldest to pass over, Limit how many to return at
	// the most, up to 200.
	From  int `json:"-" query:"from"`
	Limit int `json:"-" query:"limit"`
}

// TakeParams are the parameters of inbox.take.
type TakeParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Key is the message's: "message:12:101".
	Key string `json:"key"`
}
