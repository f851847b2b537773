package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

const (
	// logEvery is the longest a line waits before it is sent.
	logEvery = 200 * time.Millisecond
	// lineBytes is where a line is cut into two.
	lineBytes = 16 << 10
	// sendBytes bounds the lines of one request, and closeBytes those that go with an end, in
	// bytes of text: as JSON they may be six times as many, and a request has at most 8 MiB.
	sendBytes, closeBytes = 1 << 20, 256 << 10
	// keptLines and keptBytes bound what waits here while it cannot be sent; the oldest are
	// dropped, for the last say how it ended. A line counts lineCost beside its text, as in a
	// node: more than these bytes it would cut from the log anyway, and then at its end, unless
	// it was given more than the share of 1 MiB; some is left for what is said of missing lines.
	keptLines, keptBytes, lineCost = 10 * domain.MaxLogLines, 1020 << 10, 64
)

// Job is a job in a function's hands. It is safe for concurrent use.
type Job struct {
	domain.Assignment

	send func(lines []domain.LogLine) error // nil: what is logged waits for the end
	// remember asks a node what the job remembers; nil: it remembers nothing.
	remember func(context.Context, domain.WorkerStep) (domain.WorkerStepAnswer, error)
	memory   memory

	mu      sync.Mutex
	lines   []domain.LogLine // those on their way are not among them
	bytes   int              // what these count
	missing int              // lines that were dropped just before these
	count   int64            // lines so far
	timer   *time.Timer
	closed  bool
	wg      sync.WaitGroup
}

// NewJob returns a job that stands by itself, for tests of functions; see package
// workertest.
func NewJob(a domain.Assignment) *Job {
	return &Job{Assignment: a, memory: memory{asking: make(chan struct{}, 1)}}
}

// RememberBy has the job ask f what it remembers, in place of a node; see package workertest.
func (j *Job) RememberBy(f func(context.Context, domain.WorkerStep) (domain.WorkerStepAnswer, error)) {
	j.remember = f
}

// Key is the job's key, the same in all attempts.
func (j *Job) Key() domain.JobKey { return j.Job.Key() }

// held names the job and the attempt.
func (j *Job) held() domain.HeldAttempt {
	return domain.HeldAttempt{Caller: j.Job.CallerID, ID: j.Job.ID, Attempt: j.Attempt, StartedMs: j.Job.StartedMs}
}

// Args reads the job's arguments, its script as JSON. Without any it leaves into as it is.
func (j *Job) Args(into any) error {
	if strings.TrimSpace(j.Job.Script) == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(j.Job.Script), into); err != nil {
		return fmt.Errorf("the arguments of the job cannot be read as JSON: %w", err)
	}
	return nil
}

// Logf adds to the job's log, which people follow while it runs.
func (j *Job) Logf(format string, args ...any) { j.write("stdout", fmt.Sprintf(format, args...)) }

// Errorf adds to the job's log as an error.
func (j *Job) Errorf(format string, args ...any) { j.write("stderr", fmt.Sprintf(format, args...)) }

// Write adds to the job's log, so that loggers can be made of a job.
func (j *Job) Write(text []byte) (int, error) {
	j.write("stdout", strings.TrimRight(string(text), "\n"))
	return len(text), nil
}

func (j *Job) write(stream, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > lineBytes {
			j.add(stream, line[:lineBytes])
			line = line[lineBytes:]
		}
		j.add(stream, line)
	}
	if j.timer == nil && j.send != nil {
		j.wg.Add(1)
		j.timer = time.AfterFunc(logEvery, j.flush)
	}
}

// add keeps one line.
func (j *Job) add(stream, line string) {
	line = strings.ToValidUTF8(line, "\uFFFD")
	j.count++
	j.lines, j.bytes = append(j.lines, domain.LogLine{Stream: stream, Line: line, N: j.count}), j.bytes+len(line)+lineCost
	j.drop()
}

// drop drops the oldest lines where there are too many.
func (j *Job) drop() {
	for len(j.lines) > keptLines || j.bytes > keptBytes {
		j.take(1)
		j.missing++
	}
}

// take takes the first lines.
func (j *Job) take(n int) []domain.LogLine {
	lines := j.lines[:n:n]
	j.lines, j.bytes = j.lines[n:], j.bytes-bytesOf(lines)
	return lines
}

// bytesOf is what lines count.
func bytesOf(lines []domain.LogLine) (n int) {
	for i := range lines {
		n += len(lines[i].Line) + lineCost
	}
	return n
}

// flush sends what was logged; what cannot be sent is sent again, or goes with the end.
func (j *Job) flush() {
	defer j.wg.Done()
	_ = j.sendFirst(j.send)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.timer = nil; len(j.lines) > 0 && !j.closed {
		j.wg.Add(1)
		j.timer = time.AfterFunc(logEvery, j.flush)
	}
}

// sendFirst sends the first lines, as many as one request brings, behind the mark of those
// that are missing before them. One call at a time.
func (j *Job) sendFirst(send func([]domain.LogLine) error) error {
	j.mu.Lock()
	missing := j.missing
	lines := j.take(fitting(j.lines, missing))
	j.missing = 0
	j.mu.Unlock()
	if len(lines) == 0 {
		return nil
	}
	err := send(marked(missing, lines))
	if err == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.missing > 0 { // lines behind them were dropped meanwhile: these are older
		j.missing += missing + len(lines)
		return err
	}
	j.lines, j.bytes, j.missing = slices.Concat(lines, j.lines), j.bytes+bytesOf(lines), missing
	j.drop()
	return err
}

// shut ends the log: nothing is added, and nothing is sent any more but by sendFirst.
func (j *Job) shut() {
	j.mu.Lock()
	j.closed = true
	if j.timer != nil && j.timer.Stop() {
		j.timer = nil
		j.wg.Done()
	}
	j.mu.Unlock()
	j.wg.Wait()
}

// overfull reports whether more lines wait than go with an end.
func (j *Job) overfull() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(last(j.lines, j.missing)) < len(j.lines)
}

// Close ends the log and gives the lines that were not sent: where they are too many for the
// end of a job, the last of them, behind a line that says how many are missing.
func (j *Job) Close() []domain.LogLine {
	j.shut()
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := last(j.lines, j.missing)
	return marked(j.missing+len(j.lines)-len(lines), lines)
}

// fitting is how many of the first lines one request brings behind the mark of missing ones.
func fitting(lines []domain.LogLine, missing int) (n int) {
	room := sendBytes
	for n < min(len(lines), domain.MaxLogLines-min(missing, 1)) {
		if room -= len(lines[n].Line); room < 0 {
			break
		}
		n++
	}
	return n
}

// last are the last lines, as many as go with an end behind the mark of those that are missing
// before them.
func last(lines []domain.LogLine, missing int) []domain.LogLine {
	most := domain.MaxLogLines
	if missing > 0 || len(lines) > most {
		most--
	}
	first, room := len(lines), closeBytes
	for first > max(0, len(lines)-most) {
		if room -= len(lines[first-1].Line); room < 0 {
			break
		}
		first--
	}
	return lines[first:]
}

// marked are lines behind a line that says how many are missing before them.
func marked(missing int, lines []domain.LogLine) []domain.LogLine {
	if missing == 0 {
		return lines
	}
	mark := domain.LogLine{Stream: "stderr", Line: fmt.Sprintf("%d lines are missing here: they could not be sent", missing)}
	if missing == 1 {
		mark.Line = "1 line is missing here: it could not be sent"
	}
	if len(lines) > 0 {
		mark.N = lines[0].N - 1 // it stands for those before
	}
	return append([]domain.LogLine{mark}, lines...)
}

// run is a job that runs.
type run struct {
	job    *Job
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	until time.Time // when the lease runs out, by this machine's clock
}

func (x *run) renewed(until time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if until.After(x.until) { // answers may overtake each other
		x.until = until
	}
}

func (x *run) left(now time.Time) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.until.Sub(now)
}
