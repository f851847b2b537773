// Package workertest runs a worker's functions in tests, without a node.
//
// What a function remembers is kept by a [Memory], with the rules of package durable, which
// a node goes by too: a function that sleeps or waits ends, and is called again from its
// top, at once, at the time when that is over. So a test of three days takes none, and one
// that has the function called again finds what it would do twice.
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
	// Log is what it logged, in all its calls.
	Log []domain.LogLine
}

// Run calls a handler (see [worker.Typed]) with arguments as a job would carry them: as
// JSON. change may change the job before. What it remembers is a Memory of its own, to which
// nothing comes.
//
// Errors: those of the handler; as those of [Memory.Run].
func Run(ctx context.Context, h worker.Handler, args any, change ...func(*domain.Assignment)) (Ran, error) {
	return new(Memory).Run(ctx, h, args, change...)
}

func assignment(args any, attempt int64, change []func(*domain.Assignment)) (domain.Assignment, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return domain.Assignment{}, fmt.Errorf("the arguments cannot be written as JSON: %w", err)
	}
	a := domain.Assignment{Job: domain.Job{ID: 1, CallerID: 1, ContextID: 1, Script: string(text)}, Attempt: attempt}
	for _, c := range change {
		c(&a)
	}
	return a, nil
}
