package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/ramet-run/ramet/domain"
)

// workID is the id of a work item: a UUID of version 7 of which the time is
// that of the transition, and the rest what the item's place is.
//
// Source: RFC 9562, section 5.7.
func workID(in *domain.SagaInstance, ms, version int64, index int) string {
	var room [256]byte
	b := room[:0]
	for _, s := range []string{in.Tenant, in.Saga, in.Correlation} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(version))
	b = binary.BigEndian.AppendUint64(b, uint64(index))
	sum := sha256.Sum256(b)

	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(ms)<<16)
	copy(id[6:], sum[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80

	var text [36]byte
	at := 0
	for i, part := range [][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			text[at] = '-'
			at++
		}
		at += hex.Encode(text[at:], id[part[0]:part[1]])
	}
	return string(text[:])
}
