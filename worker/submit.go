package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// Submitter is what Submit needs of a node: [client.Client] is one.
type Submitter interface {
	SubmitJob(ctx context.Context, tenant domain.TenantID, job domain.Job) (domain.JobKey, error)
	RegisterWork(ctx context.Context, tenant domain.TenantID, types ...domain.ScriptType) error
}

// registered are the types that this process has made known, each with where.
var registered sync.Map

type registration struct {
	node   Submitter
	tenant domain.TenantID
	typ    domain.ScriptType
}

// Submit hands in a job for a function that a worker has under a type; args are its
// arguments. It need not be the same program, and no worker needs to be there yet. change
// sets what else there is to say of the job: its retries, a time, a dependency.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden], [domain.ErrUnavailable].
func Submit(ctx context.Context, n Submitter, tenant domain.TenantID, t domain.ScriptType, args any, change ...func(*domain.Job)) (domain.JobKey, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return domain.JobKey{}, domain.Invalidf("the arguments cannot be written as JSON: %v", err)
	}
	r := registration{n, tenant, t}
	if _, known := registered.Load(r); !known {
		if err := n.RegisterWork(ctx, tenant, t); err != nil {
			return domain.JobKey{}, fmt.Errorf("make the type %s known: %w", t, err)
		}
		registered.Store(r, true)
	}
	job := domain.Job{ScriptType: t, Script: string(text)}
	for _, c := range change {
		c(&job)
	}
	return n.SubmitJob(ctx, tenant, job)
}
