package sqlitearchive

import (
	"context"
	"fmt"
)

const (
	// spareShare is the part of the file that may be free: what is written next takes it.
	spareShare = 8
	// shrinkPages is by how many pages the file shrinks at once, at the most: each is
	// written to another place.
	shrinkPages = 4096
	// maxRewrite is up to how many bytes a file of an earlier version is rewritten: far
	// less than a minute's work, in which nothing else is written.
	maxRewrite = 512 << 20
)

// The modes of auto_vacuum.
const (
	vacuumNone        = 0
	vacuumIncremental = 2
)

// shrink gives room that removed records left in the file back to the disk, once there
// is more than the next ones need. A file of an earlier version cannot: once half of it
// is free it is rewritten, in a quiet moment, as one that can.
func (a *Archive) shrink(ctx context.Context, quiet bool) error {
	var mode, pages, free, size int
	for name, value := range map[string]*int{"auto_vacuum": &mode, "page_count": &pages, "freelist_count": &free, "page_size": &size} {
		if err := a.write.QueryRowContext(ctx, "PRAGMA "+name).Scan(value); err != nil {
			return err
		}
	}
	switch spare := pages / spareShare; {
	case mode == vacuumIncremental && free > spare:
		_, err := a.write.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", min(free-spare, shrinkPages)))
		return err
	case mode == vacuumNone && quiet && free > pages/2 && (pages-free)*size <= maxRewrite:
		// The connection has asked for the other mode; the new file gets it.
		_, err := a.write.ExecContext(ctx, "VACUUM")
		return err
	}
	return nil
}
