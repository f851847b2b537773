package resp

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules for messages.

// putMessage keeps a message readable and its sender honest: only the actor in
// its key writes it, and only until it is on its way.
func putMessage(x *call, c *change) error {
	key, err := domain.ParseMessageKey(c.l.key)
	if err != nil || key.String() != c.l.key {
		return domain.Invalidf("%.255q is no key of a message: want message:<caller>:<id>, for example message:12:101", c.l.key)
	}
	// Its context_id is no part of its place: it says which context the message is for.
	if err := c.identical(map[string]uint64{"id": uint64(key.ID), "caller_id": uint64(key.Caller)}); err != nil {
		return err
	}
	if _, err := layout.DecodeMessage(key, c.set); err != nil {
		return err
	}
	if err := x.own(c.l.key, key.Caller); err != nil {
		return err
	}
	if typ, _ := c.text("message_type"); typ == string(domain.MessageJob) { // as the supervisor judges it
		t, err := x.c.tenant(x.s.now, x.s.space())
		if err != nil {
			return err
		}
		if !identity.Permit(t, key.Caller, domain.VerbCreate, false) {
			return domain.Forbiddenf("%s: message_type job asks for work, which actor %d may not do in context %d; who executes may write chat and mail",
				c.l.key, key.Caller, x.s.space())
		}
	}
	if status, there := c.text(layout.MessageStatus); there && status != string(domain.MessageDispatched) {
		return domain.Invalidf("%s: status %.40q: a message begins as dispatched, and the node writes what becomes of it", c.l.key, status)
	}
	if err := x.s.load(c.l, layout.MessageStatus, layout.MessageOrigin, layout.MessagePushes, layout.MessageSentMs); err != nil {
		return err
	}
	status := domain.MessageStatus(c.l.get(layout.MessageStatus))
	if status != "" && status != domain.MessageDispatched || c.l.get(layout.MessageOrigin)+c.l.get(layout.MessagePushes)+c.l.get(layout.MessageSentMs) != "" {
		return domain.Conflictf("%s is on its way already, or came from elsewhere, and is no longer written by others", c.l.key)
	}
	x.s.pin(c.l, layout.MessageStatus)
	x.s.pin(c.l, layout.MessageOrigin)
	x.s.pin(c.l, layout.MessageSentMs)
	return nil
}

// dropMessage leaves those alone that are on their way.
func dropMessage(x *call, l *leaf) error {
	if err := x.s.load(l, layout.MessageStatus, layout.MessageOrigin, layout.MessagePushes, layout.MessageSentMs); err != nil {
		return err
	}
	begun := l.get(layout.MessageOrigin)+l.get(layout.MessagePushes)+l.get(layout.MessageSentMs) != "" ||
		domain.MessageStatus(l.get(layout.MessageStatus)) == domain.MessageAcknowledged
	if begun && !domain.MessageStatus(l.get(layout.MessageStatus)).Final() {
		return domain.Conflictf("%s is on its way; it can be deleted when it has ended", l.key)
	}
	x.s.pin(l, layout.MessageStatus)
	x.s.pin(l, layout.MessageSentMs)
	return nil
}
