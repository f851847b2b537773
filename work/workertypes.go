package work

import (
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

const (
	// retireEvery is how often a context's types are looked through that nobody may use any
	// more: it is done when it has as many as it may have.
	retireEvery = time.Minute
	// retireAtOnce is of how many types the queues are counted at once.
	retireAtOnce = 50
)

// typeSet is one of the two sets of a context's script types.
type typeSet struct {
	space board.Space
	key   string // layout.WorkerTypes or layout.RegisteredTypes
}

// retire takes back those of a set of a context's script types, which is full, that no worker
// serves and no job waits for in a queue, and returns how many these were. So whoever may claim
// cannot use the names up for longer than its workers are kept; one that is asked for again is
// known again.
func (e *Engine) retire(ctx context.Context, set typeSet, all []string) (int, error) {
	now, space := time.Now(), set.space
	if last, tried := e.retired.Load(set); tried && now.Sub(last.(time.Time)) < retireEvery {
		return 0, nil
	}
	e.retired.Store(set, now)
	runners, err := e.served(ctx, space)
	if err != nil {
		return 0, err
	}
	used := map[string]bool{}
	for _, r := range runners {
		for _, s := range r.Serves {
			used[string(s.ScriptType)] = true
		}
	}
	idle := slices.DeleteFunc(slices.Clone(all), func(t string) bool { return used[t] })
	gone := 0
	for some := range slices.Chunk(idle, retireAtOnce) {
		var lists []string
		for _, t := range some {
			lists = append(lists, queue.ByPriority(queue.OfType(domain.ScriptType(t)))...)
		}
		lengths, err := e.board.Len(ctx, space, lists...)
		if err != nil {
			return gone, err
		}
		each, b := len(lists)/len(some), board.Batch{Space: space}
		for i, t := range some {
			if slices.Max(lengths[i*each:(i+1)*each]) == 0 {
				b.Exclude(set.key, t)
				e.types.Delete(contextType{space, domain.ScriptType(t)})
				gone++
			}
		}
		if err := e.board.Commit(ctx, b); err != nil {
			return gone, err
		}
	}
	return gone, nil
}
