package layout

import (
	"encoding/hex"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// cacheSlots is how many digits of a sum name its record: a context has 16 to the power of
// that many records at the most, however many keys there are. Of two whose records are one the
// later stays, and the other is run once more.
const cacheSlots = 4

// Cached is the record of what a step keeps for later flows, by the SHA-256 of its key.
func Cached(sum [32]byte) string { return "ramet:cache:" + hex.EncodeToString(sum[:])[:cacheSlots] }

// CacheEntry is what stands there: the job whose result may be taken.
type CacheEntry struct {
	Sum string // in hexadecimal
	domain.CachedFrom
}

var cacheTable = newTable(
	text("sum", func(c *CacheEntry) *string { return &c.Sum }),
	number32("flow", func(c *CacheEntry) *domain.FlowID { return &c.Flow }),
	text("job", func(c *CacheEntry) *string { return &c.Job }),
	number("at_ms", func(c *CacheEntry) *int64 { return &c.AtMs }),
)

// EncodeCacheEntry writes the record.
func EncodeCacheEntry(c *CacheEntry) []board.Field { return cacheTable.encode(c) }

// DecodeCacheEntry reads it.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeCacheEntry(key string, r board.Record) (c CacheEntry, err error) {
	err = cacheTable.decode(decoder{key: keyText(key)}, &c, r)
	return c, err
}
