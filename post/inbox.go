package post

import (
	"context"
	"errors"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// MaxInbox bounds the messages that wait for an actor in a context.
const MaxInbox = 10_000

// maxResults is how full an inbox may be for a result to be filed in it. What a
// result says is known from the message that it answers, too.
const maxResults = MaxInbox / 2

// inboxPage is the most that one look at an inbox returns.
const inboxPage = 200

// Inbox reads what waits for an actor in a context, oldest first, from the
// given place on. The messages stay there until they are taken.
func (e *Engine) Inbox(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, from, n int) ([]*domain.Message, error) {
	if from < 0 || n < 1 || n > inboxPage {
		n = inboxPage
		from = max(from, 0)
	}
	list := layout.Inbox(actor)
	length, err := e.board.Len(ctx, space(tenant), list)
	if err != nil || from >= length[0] {
		return nil, err
	}
	// The oldest is rightmost.
	first := max(0, length[0]-from-n)
	keys, err := e.board.List(ctx, space(tenant), list, first, length[0]-from-first)
	if err != nil {
		return nil, err
	}
	recs, err := board.Readable(e.board.Get(ctx, space(tenant), keys...))
	if err != nil {
		return nil, err
	}
	messages := make([]*domain.Message, 0, len(keys))
	for i := len(keys) - 1; i >= 0; i-- {
		key, err := domain.ParseMessageKey(keys[i])
		if err != nil {
			continue
		}
		m, _ := layout.DecodeMessage(key, recs[i])
		m.ContextID = tenant
		messages = append(messages, m)
	}
	return messages, nil
}

// Take takes a message out of an actor's inbox. That is its end: from then on
// its record stays for a while, and then in the archive.
//
// Errors: [domain.ErrNotFound] where it is not in it.
func (e *Engine) Take(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, key domain.MessageKey) (*domain.Message, error) {
	list, item := layout.Inbox(actor), key.String()
	m, rec, err := e.load(ctx, space(tenant), key)
	if err != nil {
		return nil, err
	}
	if rec.Get(layout.MessageFor) != actorText(actor) {
		return nil, domain.NotFoundf("message %q is not in the inbox of actor %d", key, actor)
	}
	m.EndedMs = e.board.Now().UnixMilli()
	b := board.Batch{Space: space(tenant)}
	b.Equal(item, layout.MessageFor, actorText(actor)).Unset(item, layout.MessageFor)
	b.Set(item, board.Field{Name: layout.MessageEndedMs, Value: strconv.FormatInt(m.EndedMs, 10)})
	b.DropSome(list, -1, item)
	b.PushLeft(layout.Finished, item)
	err = e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return nil, domain.NotFoundf("message %q is not in the inbox of actor %d any more", key, actor)
	}
	return m, err
}
