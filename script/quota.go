package script

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// FullError is why a run was made to end, or did not succeed: what its work folder
// holds.
type FullError struct{ Reason string }

func (e *FullError) Error() string { return e.Reason }

// The pace of looks at a work folder.
const (
	firstLook    = 250 * time.Millisecond
	slowestLook  = 5 * time.Second
	restPerLook  = 50 // times as long as a look took: 2 % of a processor
	disturbances = 3  // looks in a row at a tree whose folders are moved about
)

// errMoved is that of a look during which folders were moved.
var errMoved = errors.New("its folders are moved about all the time")

// Usage is what a tree holds: room on the disk, and the number of names.
type Usage struct{ Bytes, Files int64 }

// Quota looks at a run's work folder now and then, and ends the run when that holds
// more than its limits allow.
type Quota struct {
	dir    string
	limits Limits
	cancel context.CancelCauseFunc

	mu        sync.Mutex // held during a look; guards what follows
	timer     *time.Timer
	last      Usage
	seen      time.Time
	disturbed int
	closed    bool
}

// Watch begins to look. The run is to end with the context that it gives; the caller
// closes the quota.
func Watch(ctx context.Context, task Task) (context.Context, *Quota) {
	ctx, cancel := context.WithCancelCause(ctx)
	q := &Quota{dir: task.Dir, limits: task.Limits, cancel: cancel, seen: time.Now()}
	if q.limits.FolderBytes > 0 || q.limits.FolderFiles > 0 {
		q.mu.Lock()
		q.timer = time.AfterFunc(firstLook, q.tick)
		q.mu.Unlock()
	}
	return ctx, q
}

// Close looks a last time, when nothing of the run is left, and tells why it ended:
// stopped, or that its folder is too full.
func (q *Quota) Close(stopped error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	defer q.cancel(nil)
	if q.timer == nil {
		return stopped
	}
	q.timer.Stop()
	if full := q.look(); full != nil && stopped == nil {
		return full
	}
	return stopped
}

// tick looks and chooses the time of the next look: half of what the folder needs to
// be full, as fast as it grew, and never so soon that looks cost much.
func (q *Quota) tick() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	before, since, began := q.last, q.seen, time.Now()
	if full := q.look(); full != nil {
		q.cancel(full)
		return
	}
	rest := max(firstLook, restPerLook*time.Since(began))
	next := min(fullIn(before.Bytes, q.last.Bytes, q.limits.FolderBytes, began.Sub(since)),
		fullIn(before.Files, q.last.Files, int64(q.limits.FolderFiles), began.Sub(since)))
	q.timer.Reset(max(rest, min(next/2, slowestLook)))
}

// fullIn is how long until a limit is reached, as fast as it went.
func fullIn(before, now, limit int64, took time.Duration) time.Duration {
	if limit <= 0 || now <= before {
		return 2 * slowestLook
	}
	return min(2*slowestLook, time.Duration(float64(took)*float64(limit-now)/float64(now-before)))
}

// look counts, and returns the [*FullError] of a folder that holds too much. q.mu is held.
func (q *Quota) look() error {
	found, err := count(q.dir, q.limits)
	q.last, q.seen = found, time.Now()
	if q.disturbed++; !errors.Is(err, errMoved) {
		q.disturbed = 0
	}
	switch {
	case q.limits.FolderBytes > 0 && found.Bytes > q.limits.FolderBytes:
		return &FullError{fmt.Sprintf("its work folder holds more than %d bytes", q.limits.FolderBytes)}
	case q.limits.FolderFiles > 0 && found.Files > int64(q.limits.FolderFiles):
		return &FullError{fmt.Sprintf("its work folder holds more than %d files", q.limits.FolderFiles)}
	case q.disturbed >= disturbances:
		return &FullError{"what its work folder holds cannot be counted: " + err.Error()}
	}
	return nil
}

// Over tells whether that is more than a work folder may hold.
func (u Usage) Over(l Limits) bool {
	return l.FolderBytes > 0 && u.Bytes > l.FolderBytes || l.FolderFiles > 0 && u.Files > int64(l.FolderFiles)
}

// UsageOf counts what a folder holds in which nothing runs any more, itself included, until that is
// more than a work folder may hold.
func UsageOf(dir string, l Limits) Usage {
	sum, _ := count(dir, l)
	sum.Files++
	return sum
}
