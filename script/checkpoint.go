package script

import (
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// Checkpoint is where a script inside the process keeps what its next attempt
// goes on from. The zero Checkpoint is empty. It is safe for concurrent use.
type Checkpoint struct {
	mu    sync.Mutex
	data  string
	saves int64
}

// NewCheckpoint returns one with what an earlier attempt has saved.
func NewCheckpoint(data string) *Checkpoint { return &Checkpoint{data: data} }

// Load gives what was saved last, by this attempt or an earlier one; "" is nothing.
func (c *Checkpoint) Load() string {
	data, _ := c.Saved()
	return data
}

// Save keeps data in the place of what was saved before.
//
// Errors: [domain.ErrInvalid] for more than [MaxCheckpointBytes].
func (c *Checkpoint) Save(data string) error {
	if len(data) > MaxCheckpointBytes {
		return domain.Invalidf("checkpoint has %d bytes; at most %d are allowed", len(data), MaxCheckpointBytes)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data = data
	c.saves++
	return nil
}

// Saved gives the data too, and how often this attempt has saved.
func (c *Checkpoint) Saved() (data string, saves int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data, c.saves
}
