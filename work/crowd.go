package work

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file keeps what becomes ready at once from filling its queue: thousands that
// waited for one job, and the first jobs of a large flow. Whatever comes after them in
// the queue, a flow of three jobs, would wait for all of them. They go there in pages,
// behind what is there, and no further page while the queue is long and somebody of the
// last one waits in it. So each such crowd has a page in the queue, and all together
// hardly more than one window; none ever stands still.

const (
	// crowdMost is how long a queue is that is no reason to wait.
	crowdMost = domain.MaxWindow
	// crowdLook is after what time it is looked at again, at first and at the most.
	crowdLook, crowdLookMost = 10 * time.Millisecond, time.Second
	// crowdsMost bounds what is remembered; what is forgotten has a page too much in its queue.
	crowdsMost = 10_000
)

// crowds remembers of what goes to its queue in pages the last that went. Each node has
// its own memory.
type crowds struct {
	mu    sync.Mutex
	known map[crowdOf]crowd
}

// crowdOf names one: the job that all have waited for, or the flow.
type crowdOf struct {
	space board.Space
	name  string
}

type crowd struct {
	last  string        // key of the last job that went
	pause time.Duration // until the next look
}

func (c *crowds) get(of crowdOf) crowd {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[of]
}

func (c *crowds) put(of crowdOf, is crowd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= crowdsMost {
		c.known = map[crowdOf]crowd{}
	}
	c.known[of] = is
}

func (c *crowds) forget(of crowdOf) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, of)
}

// Crowded is for how long the next page of jobs that go to these queues should wait; 0: it may
// go. name is that of what they have in common, a job or a flow.
func (e *Engine) Crowded(ctx context.Context, space board.Space, name string, queues map[string]bool) (time.Duration, error) {
	names := make([]string, 0, len(queues))
	for q := range queues {
		names = append(names, q)
	}
	lengths, err := e.board.Len(ctx, space, names...)
	if err != nil {
		return 0, err
	}
	long := false
	for _, n := range lengths {
		long = long || n > crowdMost
	}
	of := crowdOf{space, name}
	is := e.crowds.get(of)
	if !long || is.last == "" {
		return 0, nil
	}
	recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.JobStatus, layout.JobLeaseOwner}, is.last))
	if err != nil {
		return 0, err
	}
	if r := recs[0]; r == nil || r.Get(layout.JobLeaseOwner) != "" || domain.JobStatus(r.Get(layout.JobStatus)).Final() {
		return 0, nil
	}
	is.pause = min(max(crowdLook, 2*is.pause), crowdLookMost)
	e.crowds.put(of, is)
	return is.pause, nil
}

// Came remembers the last job of a page that went; "": there is no other page.
func (e *Engine) Came(space board.Space, name, last string) {
	if last == "" {
		e.crowds.forget(crowdOf{space, name})
	} else {
		e.crowds.put(crowdOf{space, name}, crowd{last: last})
	}
}

// Page is jobs that one thing less is to be waited for.
type Page struct {
	keys, queues []string
}

// Add adds one.
func (p *Page) Add(key, queue string) {
	p.keys, p.queues = append(p.keys, key), append(p.queues, queue)
}

// Last is the key of the last one.
func (p *Page) Last() string { return p.keys[len(p.keys)-1] }

// Queues are those that they go to.
func (p *Page) Queues() map[string]bool {
	all := map[string]bool{}
	for _, q := range p.queues {
		all[q] = true
	}
	return all
}

// count adds to b that one thing less is to be waited for. Those that wait for nothing
// else then go to the front of their queues.
func (p *Page) count(b *board.Batch, now time.Time) {
	for i, key := range p.keys {
		b.Countdown(key, layout.JobWaits, p.queues[i], key, ready(now))
	}
}

// Begin is the same for jobs that go behind what is in their queues. waits are what
// their records say, which is guarded for those that go.
func (p *Page) Begin(b *board.Batch, waits []board.Record, now time.Time) {
	var queues []string
	going := map[string][]string{}
	for i, key := range p.keys {
		q := p.queues[i]
		if waits[i].Get(layout.JobWaits) != "1" {
			b.Countdown(key, layout.JobWaits, q, key, ready(now))
			continue
		}
		b.Equal(key, layout.JobWaits, "1").Set(key, board.Field{Name: layout.JobWaits, Value: "0"}, ready(now))
		if going[q] == nil {
			queues = append(queues, q)
		}
		going[q] = append(going[q], key)
	}
	for _, q := range queues {
		b.PushLeft(q, going[q]...)
	}
}
