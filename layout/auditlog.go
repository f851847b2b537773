package layout

import (
	"encoding/json"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// The audit log of a context lies in its space, that of the node in space 0:
// lists of JSON lines, newest right. What was denied has a list of its own, so
// that nobody can push out what was done by asking for what it may not.
const (
	AuditLog     = "ramet:audit"
	AuditDenials = "ramet:audit:denied"

	// AuditMost is how many lines each list keeps.
	AuditMost = 10_000
)

// AuditLogList is the list that an entry belongs to.
func AuditLogList(o domain.AuditOutcome) string {
	if o == domain.AuditDone {
		return AuditLog
	}
	return AuditDenials
}

// AppendAuditEntry writes an entry into the log of the batch's space.
func AppendAuditEntry(b *board.Batch, e domain.AuditEntry) {
	b.Append(AuditLogList(e.Outcome), AuditMost, EncodeAuditEntry(e))
}

// EncodeAuditEntry writes a line.
func EncodeAuditEntry(e domain.AuditEntry) string { return mustJSON(e.Cut()) }

// DecodeAuditEntry reads a line; ok is false for one that is none of ours.
func DecodeAuditEntry(line string) (e domain.AuditEntry, ok bool) {
	err := json.Unmarshal([]byte(line), &e)
	return e, err == nil
}
