package natsstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/minio/highwayhash"
)

// This file reads blocks, the files in which the embedded server keeps the messages
// of a stream: records, one behind the other.
//
//	length uint32, with 1<<31: has headers
//	number uint64, with 1<<63: erased, with 1<<62: says that a message is gone
//	time   int64
//	length of the subject uint16
//	subject, length of the headers uint32 where it has some, headers, data
//	checksum of all but the lengths
//
// So a length that was changed is told by what it cuts, but for that of the subject of
// a message without headers.
//
// Source: server/filestore.go of nats-server 2.15, rebuildStateFromBufLocked.

const (
	recordHeader = 22
	recordSum    = highwayhash.Size64
	// maxRecord is more than the server takes.
	maxRecord = 32 << 20

	hasHeaders = 1 << 31
	erased     = 1 << 63
	tombstone  = 1 << 62
	// farAhead is how far the number of a message lies ahead of the one before at
	// most, where it is looked for among bytes that mean nothing.
	farAhead = 1 << 32
)

// record is one of a block: it has a message, or says that there is none any more.
type record struct {
	seq  uint64
	gone bool
	size int
}

// checksums are those of a file: the stream's name is their key, and in a block its
// number, too.
type checksums struct{ sum hash.Hash64 }

func newChecksums(key string) (checksums, error) {
	hashed := sha256.Sum256([]byte(key))
	sum, err := highwayhash.New64(hashed[:])
	return checksums{sum}, err
}

// of is the checksum of parts.
func (k checksums) of(parts ...[]byte) []byte {
	k.sum.Reset()
	for _, p := range parts {
		k.sum.Write(p)
	}
	return k.sum.Sum(nil)
}

// at reads the record with which b begins. ok: there is a whole one.
func (k checksums) at(b []byte) (r record, ok bool) {
	subject, text, ok := cut(b)
	if !ok {
		return r, false
	}
	r.size = recordHeader + int(binary.LittleEndian.Uint16(b[20:])) + len(text) + recordSum
	if binary.LittleEndian.Uint32(b)&hasHeaders != 0 {
		r.size += 4
	}
	if !bytes.Equal(k.of(b[4:20], subject, text), b[r.size-recordSum:r.size]) {
		return r, false
	}
	r.seq = binary.LittleEndian.Uint64(b[4:])
	r.gone = r.seq&(erased|tombstone) != 0
	r.seq &^= erased | tombstone
	return r, true
}

// cut finds what of a record its checksum is of, beside its number and time.
func cut(b []byte) (subject, text []byte, ok bool) {
	size, known := length(b)
	if !known || size > len(b) {
		return nil, nil, false
	}
	subjectEnd := recordHeader + int(binary.LittleEndian.Uint16(b[20:]))
	begin := subjectEnd
	if binary.LittleEndian.Uint32(b)&hasHeaders != 0 {
		begin += 4
	}
	if begin > size-recordSum {
		return nil, nil, false
	}
	text = b[begin : size-recordSum]
	if begin > subjectEnd {
		if n := int(binary.LittleEndian.Uint32(b[subjectEnd:])); n > len(text) || !bytes.HasSuffix(text[:n], []byte("\r\n\r\n")) {
			return nil, nil, false
		}
	}
	return b[recordHeader:subjectEnd], text, true
}

// length is how long the record says that it is with which b begins.
func length(b []byte) (size int, ok bool) {
	if len(b) < recordHeader {
		return 0, false
	}
	size = int(binary.LittleEndian.Uint32(b) &^ hasHeaders)
	return size, size >= recordHeader+recordSum && size <= maxRecord
}

// next finds the first whole record in b, of a message behind number last, or of
// one that is gone.
func (k checksums) next(b []byte, last uint64) (at int, ok bool) {
	for ; at+recordHeader+recordSum <= len(b); at++ {
		seq := binary.LittleEndian.Uint64(b[at+4:])
		if gone := seq&(erased|tombstone) != 0; !gone && (seq <= last || seq-last > farAhead) {
			continue
		}
		if _, ok := k.at(b[at:]); ok {
			return at, true
		}
	}
	return 0, false
}

// tombstoneOf is a record that says that a message is gone. A stream whose last one
// it is goes on behind it.
func (k checksums) tombstoneOf(seq uint64, at int64) []byte {
	b := make([]byte, recordHeader, recordHeader+recordSum)
	binary.LittleEndian.PutUint32(b, recordHeader+recordSum)
	binary.LittleEndian.PutUint64(b[4:], seq|tombstone)
	binary.LittleEndian.PutUint64(b[12:], uint64(at))
	return append(b, k.of(b[4:20])...)
}

// sector is the least that a disk writes wholly or not at all.
const sector = 512

// torn says whether a power cut may have left the end of a file so, from a byte on:
// the record was not written to its end, or a part of the disk was not.
func torn(b []byte, at int) bool {
	size, ok := length(b[at:])
	if ok && at+size > len(b) || len(b)-at < recordHeader+recordSum {
		return true
	}
	for begin := at; begin < len(b); {
		end := min((begin/sector+1)*sector, len(b))
		if len(bytes.Trim(b[begin:end], "\x00")) == 0 {
			return true
		}
		begin = end
	}
	return false
}

// lastSeq reads from the server's index of a stream which message was its last, when
// that was written; 0 where it cannot be read.
func (k checksums) lastSeq(index []byte) uint64 {
	const magic, head = 11, 2
	end := len(index) - recordSum
	if end < head || index[0] != magic {
		return 0
	}
	if !bytes.Equal(k.of(index[:end]), index[end:]) {
		return 0
	}
	b := index[head:end]
	var v uint64
	for range 5 { // messages, bytes, first, its time, last
		var n int
		if v, n = binary.Uvarint(b); n <= 0 {
			return 0
		}
		b = b[n:]
	}
	return v
}
