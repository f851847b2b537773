package post

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

// ref is a record of a context.
type ref struct {
	space board.Space
	key   string
}

// fieldsOf reads some fields of records of several contexts, with one look for each
// context. What is not there, or is no record, is nil.
func (e *Engine) fieldsOf(ctx context.Context, fields []string, of []ref) ([]board.Record, error) {
	found := make([]board.Record, len(of))
	keys, at := map[board.Space][]string{}, map[board.Space][]int{}
	for i, p := range of {
		keys[p.space], at[p.space] = append(keys[p.space], p.key), append(at[p.space], i)
	}
	for s, list := range keys {
		recs, err := board.Listed(ctx, e.board, s, fields, list)
		if err != nil {
			return nil, err
		}
		for n, i := range at[s] {
			found[i] = recs[n]
		}
	}
	return found, nil
}

// Show reads a message, with what its jobs have said so far.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Show(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (*domain.Message, error) {
	m, _, err := e.load(ctx, space(tenant), key)
	if err != nil || m.Final() || m.Origin != "" || m.MessageType != domain.MessageJob {
		return m, err
	}
	m.Logs, err = e.Logs(ctx, tenant, key)
	return m, err
}

// Made is what was made here of the jobs, or the flow, of a message that came from
// elsewhere: under which numbers they are found. None while nothing was decided, and
// of a message of this site.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Made(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) ([]layout.Made, error) {
	_, rec, err := e.load(ctx, space(tenant), key)
	if err != nil {
		return nil, err
	}
	made, _ := layout.MadeOf(rec)
	return made, nil
}

// Filter says which messages to list. Zero fields do not filter.
type Filter struct {
	Status domain.MessageStatus
	Type   domain.MessageType
	Caller domain.ActorID
	// Callers are those whose messages are listed newest first, where Caller names
	// nobody; those of others come after them.
	Callers []domain.ActorID
	// Look is how many records a page looks at. Default: [listing.Look].
	Look int
	// Received lists only those that came from elsewhere, Sent only the others.
	Received, Sent bool
}

func (f Filter) matches(m *domain.Message) bool {
	return (f.Status == "" || f.Status == m.Status) && (f.Type == "" || f.Type == m.MessageType) && (f.Caller == 0 || f.Caller == m.CallerID) &&
		(!f.Received || m.Origin != "") && (!f.Sent || m.Origin == "")
}

// List pages through a context's messages, the newest number first, without their
// texts, jobs and logs. Pass "" as cursor first, then what came back as Next, until that is "". A
// page may be empty while more is to come.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID, f Filter, cursor string) ([]*domain.Message, listing.At, error) {
	p, err := e.listPage(ctx, space(tenant), f, cursor)
	if err != nil {
		return nil, p.At, err
	}
	list := make([]*domain.Message, 0, len(p.Keys))
	for i, r := range p.Records {
		key, err := domain.ParseMessageKey(p.Keys[i])
		if r == nil || err != nil {
			continue
		}
		m, _ := layout.DecodeMessage(key, r)
		m.ContextID = tenant
		if f.matches(m) {
			list = append(list, m)
		}
	}
	return list, p.At, nil
}

// listPage is a page of the records among which the messages are that f wants.
func (e *Engine) listPage(ctx context.Context, space board.Space, f Filter, cursor string) (p listing.Page, err error) {
	if _, err := listing.WayOf(cursor); err != nil {
		return p, err
	}
	recs := listing.Records{Board: e.board, Space: space, Prefix: layout.MessagePrefix, Fields: layout.MessageLine, Look: f.Look}
	var numbers []listing.Numbers
	if f.Caller != 0 {
		recs.Prefix += strconv.FormatUint(uint64(f.Caller), 10) + ":"
		numbers = []listing.Numbers{{Counter: layout.Seq("message", f.Caller)}}
	} else {
		for _, c := range f.Callers {
			numbers = append(numbers, listing.Numbers{Name: strconv.FormatUint(uint64(c), 10) + ":", Counter: layout.Seq("message", c)})
		}
	}
	return recs.Newest(ctx, numbers, layout.MessageCreatedAt, cursor)
}

// Wait returns a message once it has ended, and its jobs with it.
//
// Errors: [domain.ErrNotFound]; the context's.
func (e *Engine) Wait(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) (*domain.Message, error) {
	if err := e.Await(ctx, tenant, key); err != nil {
		return nil, err
	}
	return e.Show(ctx, tenant, key)
}

// Await returns once a message has ended, and its jobs with it. It reads how it
// stands alone: many may wait for a large one.
//
// Errors: [domain.ErrNotFound]; the context's.
func (e *Engine) Await(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := e.board.Watch(ctx, space(tenant), key.String())
	if err != nil {
		return err
	}
	for {
		recs, err := e.board.GetFields(ctx, space(tenant), []string{layout.MessageStatus, layout.MessageEnding}, key.String())
		if err != nil {
			return err
		}
		if recs[0] == nil {
			return domain.NotFoundf("message %q does not exist in context %d", key, tenant)
		}
		if domain.MessageStatus(recs[0].Get(layout.MessageStatus)).Final() && recs[0].Get(layout.MessageEnding) == "" {
			return nil
		}
		select {
		case _, open := <-events:
			if !open && ctx.Err() == nil {
				return domain.Unavailablef("the board was closed")
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
