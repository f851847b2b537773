package post

import (
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file keeps records here of the jobs of messages that leave: they take
// status and result from the other side, and flows and people find them.

// copied says of one job of a message what record there is of it.
type copied struct {
	key   string
	there bool // its sender wrote it, as the seeds' actors do, and nobody has begun it
	taken bool // it is something else's: a job of this board, or of another message
}

// copiesOf looks which of a message's jobs have records here.
func (e *Engine) copiesOf(ctx context.Context, s board.Space, m *domain.Message) ([]copied, error) {
	if len(m.Job) == 0 {
		return nil, nil
	}
	keys := make([]string, len(m.Job))
	for i := range m.Job {
		keys[i] = domain.JobKey{Caller: m.CallerID, ID: m.Job[i].ID}.String()
	}
	recs, bad, err := board.PerKey(e.board.GetFields(ctx, s, copyFields, keys...))
	if err != nil {
		return nil, err
	}
	list := make([]copied, len(keys))
	for i, r := range recs {
		list[i] = copied{key: keys[i], there: untouched(r)}
		list[i].taken = (r != nil || bad[i] != nil) && !list[i].there
	}
	return list, nil
}

// copyFields are those by which untouched decides.
var copyFields = []string{layout.JobStatus, layout.JobQueuedMs, layout.JobWaits, layout.JobMessage}

// untouched reports whether a record is that of a job which its writer has
// queued nowhere.
func untouched(r board.Record) bool {
	status := domain.JobStatus(r.Get(layout.JobStatus))
	return r != nil && (status == "" || status == domain.JobDispatched) && r.Get(layout.JobQueuedMs) == "" && r.Get(layout.JobWaits) == "" &&
		r.Get(layout.JobMessage) == ""
}

// freeCopies is copiesOf for a message of which no job may be taken. known is what
// that has just said of it; nil is nothing.
//
// Errors: [domain.ErrConflict].
func (e *Engine) freeCopies(ctx context.Context, s board.Space, m *domain.Message, known []copied) (list []copied, err error) {
	if list = known; list == nil {
		list, err = e.copiesOf(ctx, s, m)
	}
	for _, c := range list {
		if c.taken {
			return nil, domain.Conflictf("job %q exists already; choose another id, or none", c.key)
		}
	}
	return list, err
}

// numberJobs gives free ids to jobs that have none. It returns what copiesOf says of
// all jobs then; nil where none asked for an id.
func (e *Engine) numberJobs(ctx context.Context, s board.Space, m *domain.Message) ([]copied, error) {
	chosen := map[domain.JobID]bool{}
	var wanted []int
	for i := range m.Job {
		if chosen[m.Job[i].ID] = true; m.Job[i].ID == 0 {
			wanted = append(wanted, i)
		}
	}
	if len(wanted) == 0 || len(m.Job) > domain.MaxMessageJobs { // which Send refuses
		return nil, nil
	}
	for try := range numberTries {
		// Each try goes twice as far, past a long run of ids chosen by hand.
		n := len(wanted) << min(try, 10)
		first, err := e.board.Next(ctx, s, layout.Seq("job", m.CallerID), n)
		if err != nil {
			return nil, err
		}
		if first+int64(n) > 1<<32 {
			break
		}
		free := true
		for k, i := range wanted {
			m.Job[i].ID = domain.JobID(first+int64(n-len(wanted))) + domain.JobID(k)
			free = free && !chosen[m.Job[i].ID]
		}
		list, err := e.copiesOf(ctx, s, m)
		if err != nil {
			return nil, err
		}
		if free && !slices.ContainsFunc(wanted, func(i int) bool { return list[i].taken || list[i].there }) {
			return list, nil
		}
	}
	return nil, domain.Limitf("no free job ids were found; name them")
}

// NumberJobs gives the jobs of a message that is not sent yet free ids, where those
// they have only say which depends on which.
//
// Errors: [domain.ErrInvalid] where they do not say it; [domain.ErrLimit] where no
// free ids are found.
func (e *Engine) NumberJobs(ctx context.Context, tenant domain.TenantID, m *domain.Message) error {
	if len(m.Job) > domain.MaxMessageJobs {
		return nil // which Send refuses
	}
	for try := range numberTries {
		// Each try goes twice as far, past a long run of ids chosen by hand.
		n := len(m.Job) << min(try, 10)
		first, err := e.board.Next(ctx, space(tenant), layout.Seq("job", m.CallerID), n)
		if err != nil {
			return err
		}
		if first+int64(n) > 1<<32 {
			break
		}
		if err := domain.NumberJobs(m.Job, domain.JobID(first+int64(n-len(m.Job)))); err != nil {
			return err
		}
		list, err := e.copiesOf(ctx, space(tenant), m)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(list, func(c copied) bool { return c.taken || c.there }) {
			return nil
		}
	}
	return domain.Limitf("no free job ids were found; name them")
}

// placeOf is where the jobs of a message run, as their records say it.
func (e *Engine) placeOf(ctx context.Context, m *domain.Message) string {
	return domain.Place{Tenant: m.DstContext, Peer: e.peerName(ctx, m.DstNode)}.String()
}

// addCopies adds to b the records of a message's jobs.
func (e *Engine) addCopies(b *board.Batch, m *domain.Message, list []copied, at string, now time.Time) {
	for i, c := range list {
		if c.there {
			claimCopy(b, c.key, m.Key(), at, now)
			continue
		}
		j := asAsked(&m.Job[i])
		j.CallerID, j.ContextID, j.At, j.Message = m.CallerID, domain.TenantID(b.Space), at, m.Key().String()
		j.Status, j.StartedMs, j.Dependends = domain.JobDispatched, now.UnixMilli(), slices.Clone(j.Dependends)
		b.Absent(c.key)
		b.Set(c.key, layout.EncodeJob(&j)...)
		b.Live(c.key, now)
	}
}

// asAsked is a job of a message with what its sender may ask for, and nothing
// of what becomes of jobs or where they belong.
func asAsked(t *domain.Job) domain.Job {
	return domain.Job{ID: t.ID, Script: t.Script, ScriptType: t.ScriptType, Timeout: t.Timeout, Retries: t.Retries, Retry: t.Retry, EnvVars: t.EnvVars,
		Prerequisites: t.Prerequisites, PrerequisiteTimeout: t.PrerequisiteTimeout, Dependends: slices.Clone(t.Dependends), Priority: t.Priority,
		NotBefore: t.NotBefore, ForRunner: t.ForRunner, TraceID: t.TraceID, Affinity: t.Affinity, Step: t.Step, Shard: t.Shard, Pack: t.Pack, Item: t.Item,
		Params: t.Params, Needs: t.Needs}
}

// claimCopy notes on a record that its job is to run elsewhere: a flow that has
// it must not queue it on this board.
func claimCopy(b *board.Batch, key string, by domain.MessageKey, at string, now time.Time) {
	b.Equal(key, layout.JobQueuedMs, "")
	b.Equal(key, layout.JobMessage, "")
	b.Set(key, layout.SentFields(at, by)...)
	b.Live(key, now)
}
