package layout

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// BulkPrefix begins the keys of bulk operations, in their contexts.
const BulkPrefix = "ramet:bulk:"

// Fields of the record of a bulk operation.
const (
	BulkState    = "state"    // JSON
	BulkCursor   = "cursor"   // where its list goes on
	BulkRevision = "revision" // moved on by every write
)

// Bulk is the record of a bulk operation.
func Bulk(id domain.BulkID) string { return BulkPrefix + strconv.FormatUint(uint64(id), 10) }

const bulkAlarm = "bulk:"

// BulkAlarm is the alarm at which the next part of a bulk operation is done.
func BulkAlarm(id domain.BulkID) string { return bulkAlarm + strconv.FormatUint(uint64(id), 10) }

// ParseBulkAlarm reads the name of such an alarm.
func ParseBulkAlarm(name string) (id domain.BulkID, ok bool) {
	digits, ok := strings.CutPrefix(name, bulkAlarm)
	if !ok {
		return 0, false
	}
	id, err := domain.ParseBulkID(digits)
	return id, err == nil
}

// EncodeBulk writes where a bulk operation stands.
func EncodeBulk(b *domain.Bulk, cursor string, revision int64) []board.Field {
	var e encoder
	e.str(BulkState, mustJSON(b))
	e.str(BulkCursor, cursor)
	e.num(BulkRevision, revision)
	return e
}

// DecodeBulk reads it.
//
// Errors: [domain.ErrInvalid].
func DecodeBulk(key string, rec board.Record) (b *domain.Bulk, cursor string, revision int64, err error) {
	b = new(domain.Bulk)
	if err := json.Unmarshal([]byte(rec.Get(BulkState)), b); err != nil {
		return nil, "", 0, domain.Invalidf("%s cannot be read: %v", key, err)
	}
	if revision, err = strconv.ParseInt(rec.Get(BulkRevision), 10, 64); err != nil {
		return nil, "", 0, domain.Invalidf("%s has revision %q: want a number", key, rec.Get(BulkRevision))
	}
	return b, rec.Get(BulkCursor), revision, nil
}
