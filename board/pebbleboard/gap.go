package pebbleboard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"

	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// This file misses what is gone without a trace. The store numbers its writes; the
// list of its files says which of them are in tables, and the logs have the rest. A
// list whose end is damaged, or a log that is not there, is an older store to Pebble:
// it goes on without a word. But then what is left of the logs begins too late.
//
// Source: internal/manifest/version_edit.go of Pebble.

// What the list's records begin with.
const (
	tagComparator  = 1
	tagLog         = 2
	tagNextFile    = 3
	tagLastWrite   = 4
	tagPreviousLog = 9
)

// firstWrite is what the store numbers its first write.
const firstWrite = 10

// tables is what the list of the store's files says of its tables: up to which write
// they may have some, and with which log the rest begins.
type tables struct{ write, log uint64 }

// take reads a record of the list, of which what it says of that comes first.
func (t *tables) take(record []byte) {
	for {
		tag, n := binary.Uvarint(record)
		if n <= 0 {
			return
		}
		value, m := binary.Uvarint(record[n:])
		if m <= 0 {
			return
		}
		record = record[n+m:]
		switch tag {
		case tagComparator: // the value is how long its name is
			if value > uint64(len(record)) {
				return
			}
			record = record[value:]
		case tagLog:
			t.log = value
		case tagLastWrite:
			t.write = max(t.write, value)
		case tagNextFile, tagPreviousLog:
		default:
			return
		}
	}
}

// records calls each for every whole record of a log or list, up to a hole.
func records(disk vfs.FS, name string, number uint32, each func(record []byte)) (hole, error) {
	var record bytes.Buffer
	return readLog(disk, name, number, func(c part, behind bool) {
		if behind {
			return
		}
		if c.begins {
			record.Reset()
		}
		if record.Write(c.payload); c.ends {
			each(record.Bytes())
		}
	})
}

// gap is a stretch of writes that are in no table and no log.
func (t *tables) gap(disk vfs.FS, dir string, l logFile) (text string, h hole, err error) {
	if uint64(l.number) < t.log {
		h, err = readLog(disk, path.Join(dir, l.name), l.number, func(part, bool) {})
		return "", h, err
	}
	next := max(t.write+1, firstWrite)
	h, err = records(disk, path.Join(dir, l.name), l.number, func(record []byte) {
		b, ok := batchrepr.ReadHeader(record)
		if !ok {
			return
		}
		if first := uint64(b.SeqNum); first > next && text == "" {
			text = fmt.Sprintf("%s goes on at write %d, and what comes before it ends with %d", l.name, first, next-1)
		}
		next = max(next, uint64(b.SeqNum)+uint64(b.Count))
	})
	t.write = next - 1
	return text, h, err
}
