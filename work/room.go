package work

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file bounds what waits for the archive. Nothing leaves the board before it is
// archived, so where work comes in faster than the archive takes what ended, or while
// it is away, the board would grow until its store is full, and then nothing ends any
// more. Asked is each context by itself, on every node: one that floods the board slows
// nobody else down, and nobody need be there who archives.

// DefaultArchiveBacklog is for [Config.ArchiveBacklog].
const DefaultArchiveBacklog = 5_000_000

// roomTime is how long it is remembered whether a context has room.
const roomTime = time.Second

// rooms remembers of contexts whether they have room.
type rooms struct {
	mu    sync.Mutex
	known map[domain.TenantID]room
}

type room struct {
	until time.Time
	err   error
}

// Room returns an error while a context may have no new work, as too much of what it
// had before waits for the archive, or too much of it has not ended: see [Engine.Waiting].
// What was begun goes on.
//
// Errors: [domain.ErrExhausted], and those of the board.
func (e *Engine) Room(ctx context.Context, tenant domain.TenantID) error {
	if err := e.Waiting(ctx, tenant); err != nil {
		return err
	}
	if e.cfg.ArchiveBacklog < 0 {
		return nil
	}
	now := time.Now()
	e.rooms.mu.Lock()
	known, is := e.rooms.known[tenant]
	e.rooms.mu.Unlock()
	if is && now.Before(known.until) {
		return known.err
	}
	waiting, err := e.waiting(ctx, tenant)
	if err != nil {
		return err
	}
	known = room{until: now.Add(roomTime)}
	if waiting >= e.cfg.ArchiveBacklog {
		known.err = domain.Exhaustedf("%d jobs, flows and messages of context %d have ended and wait for the archive, which is slower than they come, or away; "+
			"it takes nothing new until fewer than %d wait (archive_backlog): try again later, or see `ramet doctor`", waiting, tenant, e.cfg.ArchiveBacklog)
	}
	e.rooms.mu.Lock()
	e.rooms.known[tenant] = known
	e.rooms.mu.Unlock()
	return known.err
}

// waiting is how many ends of a context wait for the archive: none where the board has
// no archive.
func (e *Engine) waiting(ctx context.Context, tenant domain.TenantID) (int, error) {
	space := layout.SpaceOf(tenant)
	length, err := e.board.Len(ctx, space, layout.Finished)
	if err != nil || length[0] < e.cfg.ArchiveBacklog {
		return 0, err
	}
	where, err := e.Archive(ctx)
	if err != nil || where == "" {
		return 0, err
	}
	recs, err := e.board.Get(ctx, space, layout.Trimmed)
	if err != nil {
		return 0, err
	}
	return max(0, length[0]-countsOf(recs[0]).offset()), nil
}
