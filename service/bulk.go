package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

// Bulks is what the operations need of the engine of bulk operations.
type Bulks interface {
	Begin(ctx context.Context, b domain.Bulk) (*domain.Bulk, error)
	Show(ctx context.Context, tenant domain.TenantID, id domain.BulkID) (*domain.Bulk, error)
	List(ctx context.Context, tenant domain.TenantID, cursor string) ([]*domain.Bulk, listing.At, error)
	Cancel(ctx context.Context, tenant domain.TenantID, id domain.BulkID) (*domain.Bulk, error)
	Wait(ctx context.Context, tenant domain.TenantID, id domain.BulkID, each func(*domain.Bulk) error) (*domain.Bulk, error)
	// Serve has the operations of this node do what bulk operations ask for.
	Serve(d bulk.Doer)
}

// bulks is the engine of bulk operations.
//
// Errors: [domain.ErrUnavailable] where the node has none.
func (c Caller) bulks() (Bulks, error) {
	if c.api.parts.Bulks == nil {
		return nil, domain.Unavailablef("this node does no bulk operations")
	}
	return c.api.parts.Bulks, nil
}

// CancelAllJobs begins to cancel what a filter fits, or counts it.
func (c Caller) CancelAllJobs(ctx context.Context, p api.BulkJobsParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.JobCancelAll.Operation, p.Context, &p, p.DryRun)
}

// RetryAllJobs begins to start again what a filter fits, or counts it.
func (c Caller) RetryAllJobs(ctx context.Context, p api.BulkJobsParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.JobRetryAll.Operation, p.Context, &p, p.DryRun)
}

// CancelAllFlows begins to cancel what a filter fits, or counts it.
func (c Caller) CancelAllFlows(ctx context.Context, p api.BulkFlowsParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.FlowCancelAll.Operation, p.Context, &p, p.DryRun)
}

// RetryAllFlows begins to start again what a filter fits, or counts it.
func (c Caller) RetryAllFlows(ctx context.Context, p api.BulkRetryFlowsParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.FlowRetryAll.Operation, p.Context, &p, p.DryRun)
}

// DeleteAllFlows begins to remove what a filter fits, or counts it.
func (c Caller) DeleteAllFlows(ctx context.Context, p api.BulkFlowsParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.FlowDeleteAll.Operation, p.Context, &p, p.DryRun)
}

// ReplayAllDeadLetters begins to give what a filter fits another chance, or counts it.
func (c Caller) ReplayAllDeadLetters(ctx context.Context, p api.BulkDeadLettersParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.DeadLetterReplayAll.Operation, p.Context, &p, p.DryRun)
}

// DropAllDeadLetters begins to forget what a filter fits, or counts it.
func (c Caller) DropAllDeadLetters(ctx context.Context, p api.BulkDeadLettersParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.DeadLetterDropAll.Operation, p.Context, &p, p.DryRun)
}

// PauseAllInstances begins to pause what a filter fits, or counts it.
func (c Caller) PauseAllInstances(ctx context.Context, p api.BulkInstancesParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.SagaPauseAll.Operation, p.Context, &p, p.DryRun)
}

// ResumeAllInstances begins to let go on what a filter fits, or counts it.
func (c Caller) ResumeAllInstances(ctx context.Context, p api.BulkInstancesParams) (*domain.Bulk, error) {
	return c.beginBulk(ctx, api.SagaResumeAll.Operation, p.Context, &p, p.DryRun)
}

// beginBulk counts what a filter fits and, unless it is a dry run, begins to do to each
// what the operation says. Whoever begins one needs the right to do it to each, which is
// asked for again at each, and the right to read, as the filter does.
func (c Caller) beginBulk(ctx context.Context, o *api.Operation, tenant domain.TenantID, params any, dry bool) (*domain.Bulk, error) {
	object := o.Group() + "s"
	if _, err := c.may(ctx, o.Right, tenant, object); err != nil {
		return nil, err
	}
	engine, err := c.bulks()
	if err != nil {
		return nil, err
	}
	m := manyBy(o.Name)
	_, query, _ := o.Write(params)
	query.Del("dry_run")
	b := domain.Bulk{Operation: m.each, Filter: query.Encode(), ContextID: tenant, CallerID: c.who.Actor, Status: domain.BulkCounted,
		BeganMs: time.Now().UnixMilli()}
	if p, ok := params.(*api.BulkInstancesParams); ok {
		b.Saga = p.Name
	}
	if len(b.Filter) > maxFilter {
		return nil, domain.Invalidf("the filter has %d bytes, the limit is %d", len(b.Filter), maxFilter)
	}
	f, err := m.find(ctx, c, &b, "", true)
	if err != nil {
		return nil, err
	}
	b.Total, b.More = f.count.Matching, f.count.More
	if dry {
		return &b, nil
	}
	if c.once != nil {
		n, err := c.once.number(ctx, layout.Seq("bulk", 0))
		if err != nil {
			return nil, err
		}
		b.ID = domain.BulkID(n)
		if begun, err := engine.Show(ctx, tenant, b.ID); !errors.Is(err, domain.ErrNotFound) {
			return begun, err
		}
	}
	begun, err := engine.Begin(ctx, b)
	if b.ID != 0 && errors.Is(err, domain.ErrConflict) { // the same request, asked twice at once
		return engine.Show(ctx, tenant, b.ID)
	}
	if err == nil {
		c.api.parts.Audit.Record(domain.AuditEntry{Actor: c.who.Actor, Verb: wordOf(o), Object: object, Context: tenant, Outcome: domain.AuditDone,
			Detail: fmt.Sprintf("bulk operation %d: %d of %s", begun.ID, b.Total, cmp.Or(b.Filter, "all"))})
	}
	return begun, err
}

// maxFilter bounds the filter of a bulk operation, as it is kept.
const maxFilter = 16 << 10

func bulkObject(id domain.BulkID) string { return fmt.Sprintf("bulk:%d", id) }

func (c Caller) mayBulk(ctx context.Context, verb domain.Verb, p api.BulkParams) (Bulks, error) {
	if _, err := c.may(ctx, verb, p.Context, bulkObject(p.ID)); err != nil {
		return nil, err
	}
	return c.bulks()
}

// ListBulk lists a page of bulk operations.
func (c Caller) ListBulk(ctx context.Context, p api.ListBulkParams) (api.BulkPage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "bulk"); err != nil {
		return api.BulkPage{}, err
	}
	engine, err := c.bulks()
	if err != nil {
		return api.BulkPage{}, err
	}
	list, at, err := engine.List(ctx, p.Context, p.Cursor)
	return api.BulkPage{Bulk: list, Next: at.Next}, err
}

// ShowBulk says how far a bulk operation has come.
func (c Caller) ShowBulk(ctx context.Context, p api.BulkParams) (*domain.Bulk, error) {
	engine, err := c.mayBulk(ctx, domain.VerbRead, p)
	if err != nil {
		return nil, err
	}
	return engine.Show(ctx, p.Context, p.ID)
}

// CancelBulk ends a bulk operation.
func (c Caller) CancelBulk(ctx context.Context, p api.BulkParams) (*domain.Bulk, error) {
	engine, err := c.mayBulk(ctx, domain.VerbCancel, p)
	if err != nil {
		return nil, err
	}
	return engine.Cancel(ctx, p.Context, p.ID)
}

// WaitBulk waits for the end of a bulk operation for a while, and returns it as it stands
// then.
func (c Caller) WaitBulk(ctx context.Context, p api.WaitBulkParams) (*domain.Bulk, error) {
	engine, err := c.mayBulk(ctx, domain.VerbRead, p.BulkParams)
	if err != nil {
		return nil, err
	}
	most := cmp.Or(time.Duration(p.TimeoutMs)*time.Millisecond, waitMost)
	if most < 0 || most > waitMost {
		return nil, domain.Invalidf("timeout_ms %d: want 0 to %d; ask for a stream to wait longer", p.TimeoutMs, waitMost.Milliseconds())
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	_, err = engine.Wait(waiting, p.Context, p.ID, func(*domain.Bulk) error { return nil })
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
		return nil, err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return nil, err
	}
	return c.ShowBulk(ctx, p.BulkParams) // asks again: the right may be gone
}

// WatchBulk is the stream of bulk.wait: the operation whenever it has come further, and
// once it has ended. params are *[api.WaitBulkParams].
func (c Caller) WatchBulk(ctx context.Context, params any, emit func(api.Event) error) error {
	p := params.(*api.WaitBulkParams).BulkParams
	engine, err := c.mayBulk(ctx, domain.VerbRead, p)
	if err != nil {
		return err
	}
	b, err := engine.Wait(ctx, p.Context, p.ID, func(b *domain.Bulk) error { return emit(api.Event{Name: api.EventBulk, Data: b}) })
	if err != nil {
		return err
	}
	return emit(api.Event{Name: api.EventEnd, Data: b})
}

// doer does what bulk operations ask for, in the name of who began them.
type doer struct{ api *Service }

var _ bulk.Doer = doer{}

// as is who began the operation. What the operation was begun for was in the scope of the
// token by then; what counts now is what its actor may.
func (d doer) as(b *domain.Bulk, m *many) Caller {
	return Caller{api: d.api, who: identity.Proof{Actor: b.CallerID}, group: m.group(), goesOn: true}
}

func (d doer) Find(ctx context.Context, b *domain.Bulk, cursor string) (keys []string, next string, err error) {
	m := manyOf(b.Operation)
	if m == nil {
		return nil, "", domain.Invalidf("this node knows no operation %q for many; it is of another version", domain.PlainText(b.Operation, 64))
	}
	f, err := m.find(ctx, d.as(b, m), b, cursor, false)
	return f.list, f.next, err
}

func (d doer) Do(ctx context.Context, b *domain.Bulk, key string) error {
	m := manyOf(b.Operation)
	one, err := m.one(b, key)
	if err != nil {
		return err
	}
	_, err = Named(m.each).Call(ctx, d.as(b, m), one)
	if f, listed := api.FailureOf(err); err != nil && !listed {
		return fmt.Errorf("%s: %s", f.Word, d.api.itemProblem(ctx, err).Detail) // what is wrong stands in the log
	}
	return err
}

func (d doer) Ended(b *domain.Bulk) {
	m := manyOf(b.Operation)
	if m == nil {
		return
	}
	d.api.parts.Audit.Record(domain.AuditEntry{Actor: b.CallerID, Verb: wordOf(m.all), Object: m.group() + "s", Context: b.ContextID,
		Outcome: domain.AuditDone, Detail: fmt.Sprintf("bulk operation %d is %s: %d done, %d skipped, %d failed", b.ID, b.Status, b.Done, b.Skipped, b.Failed)})
}

// filterOf reads the filter of a bulk operation into parameters of the operation that
// began it.
func filterOf(o *api.Operation, b *domain.Bulk, params any) error {
	query, err := url.ParseQuery(b.Filter)
	if err != nil {
		return domain.Invalidf("the filter of bulk operation %d cannot be read: %v", b.ID, err)
	}
	return o.ReadQuery(params, query)
}
