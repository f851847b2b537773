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

// SubmitOnce is [Engine.SubmitUnder] for one job, which gets the next id of its caller.
//
// Errors: those of a [Receipt]; [domain.ErrUnavailable].
func (e *Engine) SubmitOnce(ctx context.Context, tenant domain.TenantID, name string, keep time.Duration,
	j *domain.Job) (_ domain.JobKey, existing bool, err error) {
	if name == "" {
		return domain.JobKey{}, false, badTicket(name)
	}
	j.ID = 0
	list, err := e.SubmitUnder(ctx, tenant, []*domain.Job{j}, []string{name}, keep)
	if err != nil {
		return domain.JobKey{}, false, err
	}
	return list[0].Key, list[0].Existing, list[0].Err
}

// SubmitUnder is [Engine.Submit] under tickets, one for each job: where one was submitted with
// the same ticket its receipt names that one, whatever became of it and whatever the job is
// now. A ticket is written in the commit that makes the job, and remembered for keep. It is up to
// [layout.MaxTicket] bytes; "" is none.
//
// Errors: those of Submit; [domain.ErrInvalid] for a ticket.
func (e *Engine) SubmitUnder(ctx context.Context, tenant domain.TenantID, jobs []*domain.Job, names []string, keep time.Duration) ([]Receipt, error) {
	if len(jobs) > MaxSubmit {
		return nil, tooMany(len(jobs))
	}
	receipts := make([]Receipt, len(jobs))
	left := make([]int, len(jobs))
	tickets := map[*domain.Job]*ticket{}
	var unnumbered []*domain.Job
	for i, j := range jobs {
		left[i] = i
		if j.ID == 0 {
			unnumbered = append(unnumbered, j)
		}
		if len(names[i]) > layout.MaxTicket {
			return nil, badTicket(names[i])
		} else if names[i] != "" {
			tickets[j] = &ticket{key: layout.Ticket(names[i]), keep: keep}
		}
	}
	for range onceTries {
		var err error
		if left, err = e.underTickets(ctx, layout.SpaceOf(tenant), jobs, tickets, left, receipts); err != nil || len(left) == 0 {
			return receipts, err
		}
		for _, j := range unnumbered {
			j.ID = 0
		}
		rest := make([]*domain.Job, len(left))
		for n, i := range left {
			rest[n] = jobs[i]
		}
		s := e.newSubmission(tenant, rest)
		s.tickets = tickets
		if err := s.do(ctx); err != nil {
			return receipts, err
		}
		var again []int
		for n, i := range left {
			if receipts[i] = s.receipts[n]; tickets[jobs[i]].taken(receipts[i].Err) {
				receipts[i].Err = domain.Unavailablef("ticket %q is used by others all the time; try again", names[i])
				again = append(again, i)
			}
		}
		left = again
	}
	return receipts, nil
}

func badTicket(name string) error {
	return domain.Invalidf("ticket of %d bytes: want 1 to %d", len(name), layout.MaxTicket)
}

// underTickets fills in the receipts of those jobs that were submitted with their tickets, and returns
// the others.
func (e *Engine) underTickets(ctx context.Context, space board.Space, jobs []*domain.Job, tickets map[*domain.Job]*ticket, among []int,
	receipts []Receipt) (left []int, err error) {
	var keys []string
	for _, i := range among {
		if t := tickets[jobs[i]]; t != nil {
			keys = append(keys, t.key)
		}
	}
	if len(keys) == 0 {
		return among, nil
	}
	recs, err := board.Readable(e.board.Get(ctx, space, keys...))
	if err != nil {
		return nil, err
	}
	for _, i := range among {
		if tickets[jobs[i]] == nil {
			left = append(left, i)
			continue
		}
		rec := recs[0]
		if recs = recs[1:]; rec == nil {
			left = append(left, i)
			continue
		}
		key, err := domain.ParseJobKey(rec.Get(layout.TicketJob))
		receipts[i] = Receipt{Key: key, Existing: true, Err: err}
	}
	return left, nil
}

// ticket is a name under which a job is submitted once. A nil ticket is none.
type ticket struct {
	key  string // of its record
	keep time.Duration
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

// keepFor has the ticket stand for a job that was there already.
func (t *ticket) keepFor(ctx context.Context, b board.Board, space board.Space, j *domain.Job) error {
	if t == nil {
		return nil
	}
	batch := board.Batch{Space: space}
	t.guard(&batch)
	t.write(&batch, j)
	if err := b.Commit(ctx, batch); !t.taken(err) { // who took it did so for the same job
		return err
	}
	return nil
}

// taken reports whether a commit failed because the ticket was used meanwhile.
func (t *ticket) taken(err error) bool {
	g := (*board.GuardError)(nil)
	return t != nil && errors.As(err, &g) && g.Guard.Key == t.key
}
