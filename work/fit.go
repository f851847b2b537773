package work

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file sees to it that no commit of a run is larger than what the board
// takes: see [board.Limits].

// fit cuts the end of a run to what the board takes in one commit: of the log
// the last lines stay. A result that is too large all the same is refused: then
// the job has failed, and says why.
func (x *run) fit(f finish) finish {
	limit := x.r.e.board.Limits().Commit
	if limit == 0 {
		return f
	}
	if over := x.weight(&f.batch) - limit; over > 0 {
		x.cutLog(&f.batch, over)
	}
	if n := x.weight(&f.batch); n > limit && f.what.status.Final() {
		return x.refused(f, domain.Invalidf("the job and its result have %d bytes together, and the board takes %d in one commit", n, limit))
	}
	return f
}

// weight is how much of the board's limit a batch takes that changes the job's
// record.
func (x *run) weight(b *board.Batch) int {
	n := b.Bytes()
	if x.r.e.board.Limits().Whole {
		n += x.Claimed.Record.Bytes()
	}
	return n
}

// cutLog takes the oldest lines out of a batch until it is over bytes smaller,
// or has none, and says so in the log.
func (x *run) cutLog(b *board.Batch, over int) {
	i := slices.IndexFunc(b.Ops, func(o board.Op) bool { return o.Kind == board.OpAppend && o.Key == layout.Logs(x.key) })
	if i < 0 {
		return
	}
	lines := b.Ops[i].Items
	cut := 0
	for over += noteBytes; cut < len(lines) && over > 0; cut++ {
		over -= len(lines[cut])
	}
	note := x.note(fmt.Sprintf("log cut: %s missing here, because the board takes only so much in one commit", linesAre(cut)))
	b.Ops[i].Items = append([]string{note}, lines[cut:]...)
}

// linesAre counts lines.
func linesAre(n int) string {
	if n == 1 {
		return "1 line is"
	}
	return fmt.Sprintf("%d lines are", n)
}

// noteBytes is room for a line that says that the log was cut.
const noteBytes = 300

// note is a line of ours for the job's log.
func (x *run) note(text string) string {
	return layout.EncodeLog(domain.Log{AtMs: time.Now().UnixMilli(), Stream: "ramet", Attempt: int(x.Claimed.Token), Line: text})
}

// noteEnd has the log say how an attempt ended that is not the job's last: the record has room
// for one end alone.
func noteEnd(b *board.Batch, key domain.JobKey, attempt int64, why, next string, now time.Time) {
	text := fmt.Sprintf("attempt %d ended: %s; %s", attempt, strings.TrimRight(domain.CutText(why, noteBytes), "."), next)
	b.PushRight(layout.Logs(key), layout.EncodeLog(domain.Log{AtMs: now.UnixMilli(), Stream: "ramet", Attempt: int(attempt), Line: text}))
}

// noteEnd is the same of a run. A key may be queued whose job is not written yet, or is deleted:
// the log of that would stay when what the claim has written of it is taken back.
func (x *run) noteEnd(b *board.Batch, why, next string, now time.Time) {
	if x.job.CreatedAt != 0 {
		noteEnd(b, x.key, x.Claimed.Token, why, next, now)
	}
}

// after is when something follows.
func after(d time.Duration) string {
	if d < time.Second {
		return "at once"
	}
	return "in " + d.Round(time.Second).String()
}

// smallPart is the least that is written of a log at once.
const smallPart = 64 << 10

func textBytes(line string) int { return len(line) }

// parts are lines in as many commits as a board wants them, for a job whose record has so many
// bytes. size is how many a line has as it is written.
func parts[L any](limits board.Limits, record int, lines []L, size func(L) int) (parts [][]L) {
	if limits.Commit == 0 {
		return [][]L{lines}
	}
	room := limits.Commit
	if limits.Whole {
		room -= record
	}
	room = max(room/2, smallPart)
	sum, from := 0, 0
	for i, l := range lines {
		n := size(l)
		if sum += n; sum > room && i > from {
			parts, from, sum = append(parts, lines[from:i]), i, n
		}
	}
	return append(parts, lines[from:])
}
