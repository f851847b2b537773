package archive

import "context"

// Snapshot is what an archive had at one instant.
type Snapshot interface {
	// Records calls f for every record, whole, as it lies in the store.
	Records(ctx context.Context, f func(Record) error) error
	// Names calls f for every name that is claimed.
	Names(ctx context.Context, f func(Claimed) error) error
	// Close lets go of it. Until then the store keeps what it has replaced since.
	Close() error
}

// Claimed is a name and who has it.
type Claimed struct {
	Name
	Key string
	// ClaimedMs is when it was claimed, in Unix ms.
	ClaimedMs int64
}
