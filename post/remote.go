package post

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

// keyless is how long a job waits for a node of this board that can sign for
// its caller.
const keyless = 5 * time.Minute

// sendJobs makes a message of each job that another context is to run.
func (s *Supervisor) sendJobs(ctx context.Context, claimed []board.Claimed) {
	together(len(claimed), abreast, func(i int) {
		c := &claimed[i]
		err := s.sendJob(ctx, c)
		switch {
		case err == nil || errors.Is(err, domain.ErrConflict):
		case errors.Is(err, errNothing):
			s.letGo(ctx, c, nil)
		default:
			s.log.Warn("job not sent; it comes again", "job", c.Item, "context", uint32(c.Space), "err", err)
			pause.For(ctx, lease.Rest)
			s.letGo(ctx, c, func(b *board.Batch) { b.PushLeft(queue.PostJobs, c.Item) })
		}
	})
}

func (s *Supervisor) sendJob(ctx context.Context, c *board.Claimed) error {
	key, err := domain.ParseJobKey(c.Item)
	if err != nil {
		return errNothing
	}
	j, err := layout.DecodeJob(key, c.Record)
	switch {
	case j.Final() || j.Message != "" && err == nil:
		return errNothing
	case err == nil:
		err = s.sendAs(ctx, c, j)
	}
	if !errors.Is(err, domain.ErrInvalid) && !errors.Is(err, domain.ErrForbidden) && !errors.Is(err, domain.ErrLimit) {
		return err
	}
	if errors.Is(err, errKeyless) && s.board.Now().Sub(time.UnixMilli(j.QueuedMs)) < keyless {
		return err // another node of this board may have the key
	}
	// Nothing will ever change that: the job ends here.
	b := s.heldBatch(c)
	s.cfg.Work.EndHeld(ctx, &b, j, work.Remote{Status: domain.JobError, Reason: domain.ReasonRefused, Error: err.Error()})
	return s.commitJob(ctx, c, b)
}

// commitJob commits what becomes of a job that was to be sent. Where the job has
// moved it comes again.
func (s *Supervisor) commitJob(ctx context.Context, c *board.Claimed, b board.Batch) error {
	err := s.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		s.letGo(ctx, c, func(b *board.Batch) { b.PushRight(queue.PostJobs, c.Item) })
	}
	return err
}

// sendAs writes the message by which a job goes away, in one commit with the
// note on the job that it has.
func (s *Supervisor) sendAs(ctx context.Context, c *board.Claimed, j *domain.Job) error {
	tenant, now := domain.TenantID(c.Space), s.board.Now()
	j.ContextID = tenant
	if j.Cancel != "" {
		return domain.Invalidf("cancelled by %s before it was sent", j.Cancel)
	}
	to, err := s.find(ctx, tenant, j.At)
	if err != nil {
		return err
	}
	sender, err := s.keyOf(ctx, j.CallerID)
	if err != nil {
		return errors.Join(errKeyless, err)
	}
	p, err := s.cfg.Work.Portable(ctx, tenant, j)
	if err != nil {
		return err
	}
	p.ContextID = to.tenant
	m := &domain.Message{CallerID: j.CallerID, ContextID: tenant, SrcContext: tenant, MessageType: domain.MessageJob, MessageFormatType: domain.FormatText,
		DstContext: to.tenant, DstNode: cmp.Or(to.node, s.Node()), Topic: to.topic, Job: domain.List[domain.Job]{p}, CreatedAt: domain.At(now),
		UpdatedAt:     domain.At(now),
		TimeoutResult: resultWithin(j)}
	m.ExpiresAt = expiry(m, now)
	if m.ID, err = s.freeNumber(ctx, c.Space, j.CallerID); err != nil {
		return err
	}
	if err := s.signatures.Sign(sender, m); err != nil {
		return err
	}
	if err := fits(m); err != nil {
		return err
	}
	b := s.heldBatch(c)
	b.Equal(c.Item, layout.JobCancel, "")
	s.addMessage(&b, m, now)
	b.Set(m.Key().String(), board.Field{Name: layout.MessageQuiet, Value: "1"})
	b.Set(c.Item, layout.SentFields(j.At, m.Key())...)
	b.Set(c.Item, board.Field{Name: layout.JobStatus, Value: string(domain.JobStarted)},
		board.Field{Name: layout.JobStartedMs, Value: strconv.FormatInt(now.UnixMilli(), 10)})
	b.Release(c.Item)
	return s.commitJob(ctx, c, b) // the number may be somebody's already, or a cancel came
}

// errKeyless marks that this node cannot sign for a job's caller.
var errKeyless = domain.Invalidf("no key to sign with")

// resultWithin is how long the answer to a job may take, in seconds: for all
// its attempts, with as much again for its turn in the queue there.
func resultWithin(j *domain.Job) uint32 {
	one := j.TimeoutOr(domain.DefaultTimeout * time.Second).Seconds()
	n := one*float64(j.MaxRetries()+1)*2 + 3600
	return uint32(min(n, domain.MaxMessageTimeout))
}
