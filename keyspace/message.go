package keyspace

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules for messages.

// messageState are the fields by which is known how far a message has come.
var messageState = always(layout.MessageStatus, layout.MessageOrigin, layout.MessagePushes, layout.MessageSentMs)

var (
	offerMessage = &Rule{needs: messageState, decide: decideOfferMessage}
	putMessage   = &Rule{needs: messageState, decide: decidePutMessage}
	dropMessage  = &Rule{needs: messageState, decide: decideDropMessage}
)

// messageItem is the key of the message that an item of a queue names; "" where it names none.
func messageItem(_, item string) string {
	if key, err := domain.ParseMessageKey(item); err != nil || key.String() != item {
		return ""
	}
	return item
}

// decideOfferMessage refuses the key of another's message that is not there: it would be ended
// for want of a record, and its number is its caller's, who has not used it yet.
func decideOfferMessage(q *Request, c *Change, seen Seen) (Outcome, error) {
	if seen.There {
		return Outcome{}, nil
	}
	return Outcome{}, domain.Forbiddenf("%s does not exist, and its caller is not you: a message is sent ahead of its record in one's own name only; "+
		"write message:%d:<id>",
		c.Key, q.Who)
}

// decidePutMessage keeps a message readable and its sender honest: only the actor
// in its key writes it, and only until it is on its way.
func decidePutMessage(q *Request, c *Change, seen Seen) (Outcome, error) {
	key, err := domain.ParseMessageKey(c.Key)
	if err != nil || key.String() != c.Key {
		return Outcome{}, domain.Invalidf("%.255q is no key of a message: want message:<caller>:<id>, for example message:12:101", c.Key)
	}
	// Its context_id is no part of its place: it says which context the message is for.
	if err := c.identical(map[string]uint64{"id": uint64(key.ID), "caller_id": uint64(key.Caller)}); err != nil {
		return Outcome{}, err
	}
	if _, err := layout.DecodeMessage(key, c.Set); err != nil {
		return Outcome{}, err
	}
	if err := q.own(c.Key, key.Caller); err != nil {
		return Outcome{}, err
	}
	if err := q.mayAsk(c, key.Caller); err != nil {
		return Outcome{}, err
	}
	if status, there := c.text(layout.MessageStatus); there && status != string(domain.MessageDispatched) {
		return Outcome{}, domain.Invalidf("%s: status %.40q: a message begins as dispatched, and the node writes what becomes of it", c.Key, status)
	}
	if status := domain.MessageStatus(seen.get(layout.MessageStatus)); status != "" && status != domain.MessageDispatched || begun(seen) {
		return Outcome{}, domain.Conflictf("%s is on its way already, or came from elsewhere, and is no longer written by others", c.Key)
	}
	return Outcome{Guards: []string{layout.MessageStatus, layout.MessageOrigin, layout.MessageSentMs}}, nil
}

// mayAsk refuses a message that asks for work from who may not, as the supervisor
// would.
func (q *Request) mayAsk(c *Change, caller domain.ActorID) error {
	if typ, _ := c.text("message_type"); typ != string(domain.MessageJob) {
		return nil
	}
	t, err := q.Tenant()
	if err != nil || identity.Permit(t, caller, domain.VerbCreate, false) {
		return err
	}
	return domain.Forbiddenf("%s: message_type job asks for work, which actor %d may not do in context %d; who executes may write chat and mail",
		c.Key, caller, q.Space)
}

// begun reports whether a message came from elsewhere, or was sent.
func begun(seen Seen) bool {
	return seen.get(layout.MessageOrigin)+seen.get(layout.MessagePushes)+seen.get(layout.MessageSentMs) != ""
}

// decideDropMessage leaves those alone that are on their way.
func decideDropMessage(_ *Request, c *Change, seen Seen) (Outcome, error) {
	status := domain.MessageStatus(seen.get(layout.MessageStatus))
	if (begun(seen) || status == domain.MessageAcknowledged) && !status.Final() {
		return Outcome{}, domain.Conflictf("%s is on its way; it can be deleted when it has ended", c.Key)
	}
	return Outcome{Guards: []string{layout.MessageStatus, layout.MessageSentMs}}, nil
}
