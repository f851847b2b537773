package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// The audit log of a context lies in its space, that of the node in space 0:
// lists of JSON lines, newest right. What was denied has a list of its own, so
// that nobody can push out what was done by asking for what it may not.
//
// The lines of a list are a chain: see [AuditLine].
const (
	AuditLog     = "ramet:audit"
	AuditDenials = "ramet:audit:denied"

	// AuditMost is how many lines each list keeps unless the node is told otherwise, and
	// AuditRoom how many it may have, whatever happens: what is more is cut by the board,
	// and nobody has signed for it.
	AuditMost = 10_000
	AuditRoom = 1_000_000
)

// AuditLists are both, in the order in which they are looked at.
var AuditLists = []string{AuditLog, AuditDenials}

// AuditLogList is the list that an entry belongs to.
func AuditLogList(o domain.AuditOutcome) string {
	if o == domain.AuditDone {
		return AuditLog
	}
	return AuditDenials
}

// AuditLine is a line as it lies in a list: an entry, and its place in the chain.
// Lines of before there were chains have no number.
type AuditLine struct {
	domain.AuditEntry
	// Prev is the [AuditHash] of the line before; "" for the first of all.
	Prev string `json:"prev,omitzero"`
	// Key is the public key of the node that signed, over all lines up to this one; ""
	// where the line is covered by a later one's. Signature is the last of a line.
	Key       string `json:"key,omitzero"`
	Signature string `json:"sig,omitzero"`
}

// EncodeAuditLine writes a line.
func EncodeAuditLine(l AuditLine) string { return mustJSON(l) }

// DecodeAuditLine reads one; ok is false for one that is none of ours.
func DecodeAuditLine(line string) (l AuditLine, ok bool) {
	err := json.Unmarshal([]byte(line), &l)
	return l, err == nil
}

// DecodeAuditEntry reads the entry of a line; ok is false for one that is none of ours.
func DecodeAuditEntry(line string) (e domain.AuditEntry, ok bool) {
	l, ok := DecodeAuditLine(line)
	return l.AuditEntry, ok
}

// AuditHash is the name of a line for the one behind it: the SHA-256 of all its bytes.
func AuditHash(line string) string {
	sum := sha256.Sum256([]byte(line))
	return hex.EncodeToString(sum[:])
}

// AuditHead is the record that says how far the chain of a list has come.
func AuditHead(list string) string { return list + ":head" }

// The fields of that record. Each commit that appends or cuts lines is guarded by
// AuditHeadSeq and AuditHeadDropped.
const (
	AuditHeadSeq     = "seq"
	auditHeadHash    = "hash"
	AuditHeadDropped = "dropped"
	auditHeadAnchor  = "anchor" // JSON
)

// EncodeAuditHead writes the record.
func EncodeAuditHead(h domain.AuditHead) []board.Field {
	e := make(encoder, 0, 4)
	e.num(AuditHeadSeq, h.Seq)
	e.str(auditHeadHash, h.Hash)
	if h.Dropped > 0 {
		e.num(AuditHeadDropped, h.Dropped)
	}
	if h.Anchor != nil {
		e.str(auditHeadAnchor, mustJSON(h.Anchor))
	}
	return e
}

// DecodeAuditHead reads it; the zero head where the chain has not begun.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeAuditHead(list string, r board.Record) (h domain.AuditHead, err error) {
	number := func(name string) (n int64) {
		text := r.Get(name)
		if text == "" || err != nil {
			return 0
		}
		if n, err = strconv.ParseInt(text, 10, 64); err != nil || n < 0 {
			err = domain.Invalidf("%s: field %s: want a number", AuditHead(list), name)
		}
		return n
	}
	h.Seq, h.Hash, h.Dropped = number(AuditHeadSeq), r.Get(auditHeadHash), number(AuditHeadDropped)
	if text := r.Get(auditHeadAnchor); text != "" && err == nil {
		h.Anchor = &domain.AuditAnchor{}
		if json.Unmarshal([]byte(text), h.Anchor) != nil {
			err = domain.Invalidf("%s: field %s: want a JSON object", AuditHead(list), auditHeadAnchor)
		}
	}
	return h, err
}
