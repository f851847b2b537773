package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// This file bounds how long the engine waits for the archive: a server that takes what it is asked and is silent
// would be waited for without end, by a connection that is there already.

const (
	// archiveWithin bounds one call of the archive: a keeper has more to do.
	archiveWithin = 5 * time.Second
	// recordWithin bounds one that brings a whole record, or takes some: they may be large.
	recordWithin = 30 * time.Second
)

// archiveSilence is an [domain.ErrUnavailable]: the archive has not answered in time.
type archiveSilence struct{ within time.Duration }

func (e *archiveSilence) Error() string {
	return fmt.Sprintf("the archive has not answered within %s", e.within)
}
func (e *archiveSilence) Unwrap() error { return domain.ErrUnavailable }

// asked is what ask finds, in so much time at most.
func asked[T any](ctx context.Context, within time.Duration, ask func(context.Context) (T, error)) (T, error) {
	asking, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	found, err := ask(asking)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		err = &archiveSilence{within}
	}
	return found, err
}

// boundNames are names that are asked for so long only.
type boundNames struct{ of Names }

// Holder implements [Names].
func (n boundNames) Holder(ctx context.Context, name archive.Name) (string, error) {
	return asked(ctx, archiveWithin, func(ctx context.Context) (string, error) { return n.of.Holder(ctx, name) })
}

// boundRecords are records that are asked for so long only.
type boundRecords struct{ of Records }

// Get implements [Records].
func (r boundRecords) Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (archive.Record, error) {
	return asked(ctx, recordWithin, func(ctx context.Context) (archive.Record, error) { return r.of.Get(ctx, tenant, key, endMs) })
}

// Put implements [Records].
func (r boundRecords) Put(ctx context.Context, records []archive.Record) error {
	_, err := asked(ctx, recordWithin, func(ctx context.Context) (struct{}, error) { return struct{}{}, r.of.Put(ctx, records) })
	return err
}

// Release implements [Records].
func (r boundRecords) Release(ctx context.Context, name archive.Name, key string) error {
	_, err := asked(ctx, archiveWithin, func(ctx context.Context) (struct{}, error) { return struct{}{}, r.of.Release(ctx, name, key) })
	return err
}
