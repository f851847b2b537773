package pebbleboard

// DiskSize is how many bytes the board takes on disk: tables, and logs that are not
// written to tables yet. It reads no file; 0 once the board is closed.
func (b *Board) DiskSize() int64 {
	if b.enter(noContext) != nil {
		return 0
	}
	defer b.leave()
	return int64(b.db.Metrics().DiskSpaceUsage())
}
