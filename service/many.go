package service

import (
	"context"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/domain"
)

// This file has what can be done to many things at once, and how they are found. To each
// it is done by the operation for one, so rights, states and the audit log are those of
// that operation.

// many is one operation that can be done to everything a filter fits.
type many struct {
	// all is the operation that begins it, each the one that is done to each.
	all  *api.Operation
	each string
	// find is a page of what there is, by keys, or the count of it.
	find func(ctx context.Context, c Caller, b *domain.Bulk, cursor string, count bool) (found[string], error)
	// one is the parameters of each for a key.
	one func(b *domain.Bulk, key string) (params any, err error)
}

// group is what tokens must reach for it.
func (m *many) group() string { return m.all.Group() }

// manies are all of them. What has ended is found by when it did: what is started again,
// and ends badly again, is not found twice by the same operation. What is alive is found by
// when it was made.
var manies = []many{
	ofJobs(api.JobCancelAll.Operation, api.JobCancel.Name, true, func(j *domain.Job, began int64) bool { return !j.Final() && madeBefore(j.CreatedAt, began) }),
	ofJobs(api.JobRetryAll.Operation, api.JobRetry.Name, false, func(j *domain.Job, began int64) bool {
		return j.Status == domain.JobError && j.FinishedMs > 0 && j.FinishedMs < began
	}),
	ofFlows(api.FlowCancelAll.Operation, api.FlowCancel.Name, true, func(f *domain.Flow, began int64) bool {
		return !f.Final() && f.Cancel == "" && madeBefore(f.CreatedAt, began)
	}),
	ofFlows(api.FlowRetryAll.Operation, api.FlowRetry.Name, false, func(f *domain.Flow, began int64) bool {
		return f.Status == domain.FlowError && f.FinishedMs > 0 && f.FinishedMs < began
	}),
	ofFlows(api.FlowDeleteAll.Operation, api.FlowDelete.Name, false, func(f *domain.Flow, began int64) bool { return madeBefore(f.CreatedAt, began) }),
	ofDeadLetters(api.DeadLetterReplayAll.Operation, api.DeadLetterReplay.Name),
	ofDeadLetters(api.DeadLetterDropAll.Operation, api.DeadLetterDrop.Name),
	ofInstances(api.SagaPauseAll.Operation, api.SagaPause.Name, func(in *domain.SagaInstance) bool { return !in.Paused }),
	ofInstances(api.SagaResumeAll.Operation, api.SagaResume.Name, func(in *domain.SagaInstance) bool { return in.Paused }),
}

// manyBy is the one that an operation begins.
func manyBy(all string) *many {
	for i := range manies {
		if manies[i].all.Name == all {
			return &manies[i]
		}
	}
	panic("BUG: nothing is done to many by " + all)
}

// manyOf is the one that does an operation to each; nil where there is none.
func manyOf(each string) *many {
	for i := range manies {
		if manies[i].each == each {
			return &manies[i]
		}
	}
	return nil
}

// madeBefore reports whether something of which only the second is known was made no later
// than an instant.
func madeBefore(made domain.UnixTime, ms int64) bool { return made.Time().UnixMilli() <= ms }

// keysOf are the keys of what was found.
func keysOf[T any](f found[T], key func(T) string) found[string] {
	out := found[string]{next: f.next, looked: f.looked, count: f.count}
	for _, thing := range f.list {
		out.list = append(out.list, key(thing))
	}
	return out
}

func ofJobs(all *api.Operation, each string, live bool, fits func(j *domain.Job, began int64) bool) many {
	return many{all, each, func(ctx context.Context, c Caller, b *domain.Bulk, cursor string, count bool) (none found[string], err error) {
		t, err := c.may(ctx, domain.VerbRead, b.ContextID, "jobs")
		if err != nil {
			return none, err
		}
		var p api.BulkJobsParams
		if err := filterOf(all, b, &p); err != nil {
			return none, err
		}
		if !live && p.Status == "" {
			p.Status = domain.JobError // which is found by its end
		}
		f, err := c.findJobs(ctx, t, api.ListJobsParams{Context: b.ContextID, JobFilter: p.JobFilter}, wanted[*domain.Job]{
			cursor: cursor, enough: bulk.Page, count: count, also: func(j *domain.Job) bool { return fits(j, b.BeganMs) }}, live)
		return keysOf(f, func(j *domain.Job) string { return j.Key().String() }), err
	}, func(b *domain.Bulk, key string) (any, error) {
		k, err := domain.ParseJobKey(key)
		return &api.JobParams{Context: b.ContextID, Caller: k.Caller, ID: k.ID}, err
	}}
}

func ofFlows(all *api.Operation, each string, live bool, fits func(f *domain.Flow, began int64) bool) many {
	return many{all, each, func(ctx context.Context, c Caller, b *domain.Bulk, cursor string, count bool) (none found[string], err error) {
		if _, err := c.may(ctx, domain.VerbRead, b.ContextID, "flows"); err != nil {
			return none, err
		}
		p, err := bulkFlows(all, b)
		if err != nil {
			return none, err
		}
		if each == api.FlowRetry.Name && p.Status == "" {
			p.Status = domain.FlowError // which is found by its end
		}
		f, err := c.findFlows(ctx, api.ListFlowsParams{Context: b.ContextID, FlowFilter: p.FlowFilter}, wanted[domain.Flow]{
			cursor: cursor, enough: bulk.Page, count: count, also: func(f domain.Flow) bool { return fits(&f, b.BeganMs) }}, live)
		return keysOf(f, func(f domain.Flow) string { return f.Key() }), err
	}, func(b *domain.Bulk, key string) (any, error) {
		id, err := domain.ParseFlowKey(key)
		flow := api.FlowParams{Context: b.ContextID, Flow: id}
		switch each {
		case api.FlowRetry.Name:
			if err != nil {
				return nil, err
			}
			p, err := bulkFlows(all, b)
			return &api.RetryFlowParams{FlowParams: flow, Failed: p.Failed}, err
		case api.FlowDelete.Name:
			return &api.DeleteFlowParams{FlowParams: flow}, err
		}
		return &flow, err
	}}
}

// bulkFlows are the parameters that a bulk operation on flows was begun with; Failed is
// for those that are started again.
func bulkFlows(all *api.Operation, b *domain.Bulk) (p api.BulkRetryFlowsParams, err error) {
	if all == api.FlowRetryAll.Operation {
		err = filterOf(all, b, &p)
	} else {
		err = filterOf(all, b, &p.BulkFlowsParams)
	}
	return p, err
}

func ofDeadLetters(all *api.Operation, each string) many {
	return many{all, each, func(ctx context.Context, c Caller, b *domain.Bulk, cursor string, count bool) (none found[string], err error) {
		if _, err := c.may(ctx, domain.VerbRead, b.ContextID, "deadletters"); err != nil {
			return none, err
		}
		engine, err := c.sagas()
		if err != nil {
			return none, err
		}
		var p api.BulkDeadLettersParams
		if err := filterOf(all, b, &p); err != nil {
			return none, err
		}
		f, err := findDeadLetters(ctx, c, engine, api.ListDeadLettersParams{Context: b.ContextID, DeadLetterFilter: p.DeadLetterFilter}, wanted[*domain.DeadLetter]{
			cursor: cursor, enough: bulk.Page, count: count, also: func(d *domain.DeadLetter) bool { return d.MadeMs < b.BeganMs }})
		return keysOf(f, func(d *domain.DeadLetter) string { return deadLetterObject(d.Kind, d.ID) }), err
	}, func(b *domain.Bulk, key string) (any, error) {
		kind, id, _ := strings.Cut(strings.TrimPrefix(key, "deadletter:"), ":")
		return &api.ChooseDeadLettersParams{Context: b.ContextID, DeadLetterChoice: api.DeadLetterChoice{Kind: domain.DeadKind(kind), ID: id}}, nil
	}}
}

func ofInstances(all *api.Operation, each string, fits func(*domain.SagaInstance) bool) many {
	return many{all, each, func(ctx context.Context, c Caller, b *domain.Bulk, cursor string, count bool) (none found[string], err error) {
		engine, err := c.maySaga(ctx, domain.VerbRead, b.ContextID, b.Saga)
		if err != nil {
			return none, err
		}
		var p api.BulkInstancesParams
		if err := filterOf(all, b, &p); err != nil {
			return none, err
		}
		f, err := findInstances(ctx, c, engine, api.ListInstancesParams{Context: b.ContextID, Name: b.Saga, InstanceFilter: p.InstanceFilter},
			wanted[*domain.SagaInstance]{cursor: cursor, enough: bulk.Page, count: count, also: func(in *domain.SagaInstance) bool {
				return in.Status != domain.SagaEnded && in.CreatedMs <= b.BeganMs && fits(in)
			}})
		return keysOf(f, func(in *domain.SagaInstance) string { return in.Correlation }), err
	}, func(b *domain.Bulk, key string) (any, error) {
		return &api.SteerSagaParams{Context: b.ContextID, Name: b.Saga, Correlation: key}, nil
	}}
}
