package layout

import (
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Lost is the list of what has not ended and whose record is gone all the same,
// newest right: a store that evicts keys took it, or a program that deletes what is
// not its own. The auditor tells of it for a week: nothing else is left of it.
const (
	Lost = "ramet:lost"

	// LostMost is how many lines it has at the most.
	LostMost = 1000
	lostKept = 7 * 24 * time.Hour
)

// SettleLost adds to b that an item whose record is gone is alive no more, and that
// it was lost. It returns what the auditor tells of it.
func SettleLost(b *board.Batch, item string, now time.Time) domain.Finding {
	b.Absent(item).Settle(item)
	NoteLost(b, item, now)
	found, _ := LostNow(item, now)
	return found
}

// NoteLost adds to b that an item was lost.
func NoteLost(b *board.Batch, item string, now time.Time) {
	b.Append(Lost, LostMost, lostLine(item, now)).Expire(Lost, lostKept)
}

// LostNow is what is told of an item that was found to be lost at an instant.
func LostNow(item string, now time.Time) (domain.Finding, bool) {
	return DecodeLost(lostLine(item, now))
}

func lostLine(item string, now time.Time) string {
	return strconv.FormatInt(now.UnixMilli(), 10) + " " + item
}

// DecodeLost reads a line of the list [Lost]; ok is false for one that is none of ours.
func DecodeLost(line string) (f domain.Finding, ok bool) {
	ms, item, ok := strings.Cut(line, " ")
	at, err := strconv.ParseInt(ms, 10, 64)
	return domain.Finding{Key: item, Text: "it had not ended, and its record was gone at " + time.UnixMilli(at).UTC().Format(time.RFC3339) +
		": the store threw it away to make room (Redis wants maxmemory-policy noeviction), or another program deleted it; " +
		"what was asked for is to be submitted again"}, ok && err == nil
}
