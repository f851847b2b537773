// Package workertest runs a worker's functions in tests, without a node.
package workertest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/worker"
)

// Ran is what a function did.
type Ran struct {
	Result map[string]string
	// Log is what it logged.
	Log []domain.LogLine
}

// Run calls a handler (see [worker.Typed]) with arguments as a job would carry them: as
// JSON. change may change the job before.
func Run(ctx context.Context, h worker.Handler, args any, change ...func(*domain.Assignment)) (Ran, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return Ran{}, fmt.Errorf("the arguments cannot be written as JSON: %w", err)
	}
	a := domain.Assignment{Job: domain.Job{ID: 1, CallerID: 1, ContextID: 1, Script: string(text)}, Attempt: 1}
	for _, c := range change {
		c(&a)
	}
	job := worker.NewJob(a)
	result, err := h(ctx, job)
	return Ran{Result: result, Log: job.Close()}, err
}
