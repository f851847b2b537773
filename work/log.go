package work

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// logEvery is the longest a line waits before it is on the board.
	logEvery = 200 * time.Millisecond
	// logBatch is how many lines are written at once at the most.
	logBatch = 500
	// logBatchBytes flushes earlier where lines are long.
	logBatchBytes = 256 << 10
	// logLineCost is what a line counts beside its text, so that empty lines
	// are bounded too.
	logLineCost = 64
	// logLinesMost bounds a log by lines, where bytes are not counted.
	logLinesMost = 1 << 20
	// logLeast is how many bytes an attempt has at the least, however much those before it
	// have said: what it said last is what people look for.
	logLeast = 4 << 10
)

// logBuffer collects the lines of one attempt and writes them in batches. It is
// the script's host. Its writer starts with the first line and ends with stop.
type logBuffer struct {
	x    *run
	most int // bytes that the job's log may have when the attempt ends

	mu    sync.Mutex
	room  int // bytes left of them
	lines []string
	bytes int
	full  bool // nothing is taken any more
	// The writer's: made with the first line, because most quick jobs say
	// nothing.
	kick chan struct{} // there is something to write; capacity 1
	end  chan struct{} // closed by stop
	wg   sync.WaitGroup
}

// newLog goes on with the log of a job, for an attempt.
func newLog(x *run, j *domain.Job, rec board.Record) *logBuffer {
	used, _ := strconv.Atoi(rec.Get(layout.JobLogBytes))
	most := used + logShare(x.r.e.cfg.LogBytes, used, j.Failures < j.MaxRetries())
	if attempt, was, _ := strings.Cut(rec.Get(layout.JobLogMost), ":"); attempt == strconv.FormatInt(x.Claimed.Token, 10) {
		most, _ = strconv.Atoi(was) // it has logged before, as a worker does by many requests
	}
	return &logBuffer{x: x, most: most, room: most - used, full: used > most}
}

// logShare is how many bytes of a log an attempt may add, of which those before it have used some:
// it leaves half of what there is where the job may be tried again, and an eighth where it
// comes to a further attempt only if its runner is lost.
func logShare(all, used int, again bool) int {
	left := max(0, all-used)
	share := left - left/8
	if again {
		share = left / 2
	}
	return max(share, min(logLeast, all))
}

// Log takes one line. What goes over the attempt's share is dropped, with one
// line that says so.
func (l *logBuffer) Log(stream string, line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.addText(stream, line) {
		return
	}
	if l.kick == nil {
		l.kick, l.end = make(chan struct{}, 1), make(chan struct{})
		l.wg.Go(l.write)
	}
	if len(l.lines) == 1 || len(l.lines) >= logBatch || l.bytes >= logBatchBytes {
		l.nudge()
	}
}

// addText takes what somebody calls a line: where it has ends of lines in it, it is as many as
// these make of it, as of the output of a process. The caller holds the mutex, or is alone.
func (l *logBuffer) addText(stream string, text []byte) (some bool) {
	text = l.x.hide.Bytes(text) // before it is cut: a secret may have several lines
	for more := true; more; {
		var line []byte
		line, text, more = bytes.Cut(text, []byte("\n"))
		if !l.add(stream, bytes.TrimSuffix(line, []byte("\r"))) {
			return some
		}
		some = true
	}
	return some
}

// add takes one line without secrets, as long as there is room.
func (l *logBuffer) add(stream string, line []byte) bool {
	if l.full {
		return false
	}
	cost := len(line) + logLineCost
	if l.room -= cost; l.room < 0 {
		l.full, l.room = true, -1 // by which a worker's next request finds it full
		stream, line = "ramet", fmt.Appendf(nil, "log cut: this attempt's share is used up, of the %d bytes for all attempts (log_bytes)", l.x.r.e.cfg.LogBytes)
	}
	l.lines = append(l.lines, layout.EncodeLog(domain.Log{
		AtMs: time.Now().UnixMilli(), Stream: stream, Attempt: int(l.x.Claimed.Token), Line: string(line),
	}))
	l.bytes += cost
	return true
}

func (l *logBuffer) nudge() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// stop ends the writer; what it has not written stays for the last commit.
func (l *logBuffer) stop() {
	l.mu.Lock()
	started := l.end != nil
	l.full = true // a runtime that goes on speaking after its end is not heard
	l.mu.Unlock()
	if started {
		close(l.end)
		l.wg.Wait()
	}
	l.mu.Lock()
	much := l.bytes > smallPart && l.x.r.e.board.Limits().Commit > 0
	l.mu.Unlock()
	if much {
		l.commit(context.WithoutCancel(l.x.Ctx)) // so that it is not in the way of the result
	}
}

// take removes all lines that wait.
func (l *logBuffer) take() (lines []string, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, bytes = l.lines, l.bytes
	l.lines, l.bytes = nil, 0
	return lines, bytes
}

// putBack takes lines back that could not be written. The attempt's share bounds
// them.
func (l *logBuffer) putBack(lines []string, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines, l.bytes = append(lines, l.lines...), l.bytes+bytes
	l.nudge()
}

// addTo puts the waiting lines into b.
func (l *logBuffer) addTo(b *board.Batch) {
	lines, _ := l.take()
	l.put(b, lines)
}

func (l *logBuffer) put(b *board.Batch, lines []string) {
	if len(lines) == 0 {
		return
	}
	// The shares bound the list; the number only backs them up.
	b.Append(layout.Logs(l.x.key), l.x.r.e.cfg.LogBytes/logLineCost+logLinesMost, lines...)
	b.Set(l.x.key.String(), board.Field{Name: layout.JobLogBytes, Value: l.used()},
		board.Field{Name: layout.JobLogMost, Value: fmt.Sprintf("%d:%d", l.x.Claimed.Token, l.most)})
}

// used is what the job has used of its share, as its record says it.
func (l *logBuffer) used() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strconv.Itoa(l.most - l.room)
}

// write writes batches while the script runs.
func (l *logBuffer) write() {
	for {
		select {
		case <-l.kick:
		case <-l.end:
			return
		}
		pause := time.NewTimer(logEvery)
		select {
		case <-pause.C:
		case <-l.kick: // a full batch
		case <-l.end:
			pause.Stop()
			return
		}
		pause.Stop()
		l.commit(l.x.Ctx)
	}
}

// commit writes what waits. Lines of a lost lease are refused by the guard,
// and that is right; while the board is away they wait.
func (l *logBuffer) commit(ctx context.Context) {
	lines, bytes := l.take()
	if len(lines) == 0 {
		return
	}
	for _, part := range parts(l.x.r.e.board.Limits(), l.x.Claimed.Record.Bytes(), lines, textBytes) {
		b := l.x.heldBatch()
		l.put(&b, part)
		if err := l.x.r.e.board.Commit(ctx, b); err != nil && !errors.Is(err, domain.ErrConflict) {
			l.putBack(lines, bytes)
			return
		}
		for _, line := range part {
			bytes -= len(line)
		}
		lines = lines[len(part):]
	}
}

// Logs reads up to n lines of a job's log from line number from on.
func (e *Engine) Logs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, n int) ([]domain.Log, error) {
	items, err := e.board.List(ctx, layout.SpaceOf(tenant), layout.Logs(key), from, n)
	if err != nil {
		return nil, err
	}
	logs := make([]domain.Log, len(items))
	for i, it := range items {
		logs[i] = layout.DecodeLog(it)
	}
	return logs, nil
}

// FollowLogs calls each with every line of the job's log from line number from
// on, as they come, and returns once it has ended and all is said.
func (e *Engine) FollowLogs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from int, each func(domain.Log) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	space := layout.SpaceOf(tenant)
	lines, err := e.board.Watch(ctx, space, layout.Logs(key))
	if err != nil {
		return err
	}
	states, err := e.board.Watch(ctx, space, key.String())
	if err != nil {
		return err
	}
	poll := time.NewTicker(waitPoll)
	defer poll.Stop()
	for {
		// The state is read before the lines: what a job said is there when it
		// has ended.
		ended, err := e.hasEnded(ctx, space, key)
		if err != nil {
			return err
		}
		for {
			logs, err := e.Logs(ctx, tenant, key, from, logBatch)
			if err != nil {
				return err
			}
			for _, l := range logs {
				if err := each(l); err != nil {
					return err
				}
			}
			from += len(logs)
			if len(logs) < logBatch {
				break
			}
		}
		if ended {
			return nil
		}
		open := true
		select {
		case _, open = <-lines:
		case _, open = <-states:
		case <-poll.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !open {
			return errBoardClosed
		}
	}
}
