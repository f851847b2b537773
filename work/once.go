package work

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// onceTries bounds how often a ticket is looked for that somebody else was
// just using.
const onceTries = 5

// SubmitOnce submits a job, unless one was submitted with the same ticket: then
// it names that one, whatever became of it and whatever j is. The ticket is
// written in the commit that makes the job, and remembered for keep. It is up to
// [layout.MaxTicket] bytes. The job gets the next id of its caller.
//
// Errors: those of a [Receipt]; [domain.ErrUnavailable].
func (e *Engine) SubmitOnce(ctx context.Context, tenant domain.TenantID, name string, keep time.Duration,
	j *domain.Job) (_ domain.JobKey, existing bool, err error) {
	if name == "" || len(name) > layout.MaxTicket {
		return domain.JobKey{}, false, domain.Invalidf("ticket of %d bytes: want 1 to %d", len(name), layout.MaxTicket)
	}
	t := ticket{key: layout.Ticket(name), keep: keep}
	for range onceTries {
		key, there, err := t.find(ctx, e.board, layout.SpaceOf(tenant))
		if err != nil || there {
			return key, there, err
		}
		j.ID = 0
		s := e.newSubmission(tenant, []*domain.Job{j})
		s.once = &t
		if err := s.do(ctx); err != nil {
			return domain.JobKey{}, false, err
		}
		if r := s.receipts[0]; !t.taken(r.Err) {
			return r.Key, false, r.Err
		}
	}
	return domain.JobKey{}, false, domain.Unavailablef("ticket %q is used by others all the time; try again", name)
}

// ticket is a name under which a job is submitted once. A nil ticket is none.
type ticket struct {
	key  string // of its record
	keep time.Duration
}

// find is the job that was submitted with the ticket.
func (t *ticket) find(ctx context.Context, b board.Board, space board.Space) (key domain.JobKey, there bool, err error) {
	recs, err := b.Get(ctx, space, t.key)
	if err != nil || recs[0] == nil {
		return key, false, err
	}
	key, err = domain.ParseJobKey(recs[0].Get(layout.TicketJob))
	return key, true, err
}

func (t *ticket) guard(b *board.Batch) {
	if t != nil {
		b.Absent(t.key)
	}
}

func (t *ticket) write(b *board.Batch, j *domain.Job) {
	if t != nil {
		b.Set(t.key, board.Field{Name: layout.TicketJob, Value: j.Key().String()}).Expire(t.key, t.keep)
	}
}

// taken reports whether a commit failed because the ticket was used meanwhile.
func (t *ticket) taken(err error) bool {
	g := (*board.GuardError)(nil)
	return t != nil && errors.As(err, &g) && g.Guard.Key == t.key
}
