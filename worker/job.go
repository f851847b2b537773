package worker

import (
	"context"
	"encoding/json"
	"fmt"
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
	// keptLines bounds what waits here while it cannot be sent.
	keptLines = 10 * domain.MaxLogLines
)

// Job is a job in a function's hands. It is safe for concurrent use.
type Job struct {
	domain.Assignment

	send func(lines []domain.LogLine) error // nil: what is logged waits for the end
	// remember asks a node what the job remembers; nil: it remembers nothing.
	remember func(context.Context, domain.WorkerStep) (domain.WorkerStepAnswer, error)
	memory   memory

	mu     sync.Mutex
	lines  []domain.LogLine
	over   int // lines that came behind these, when there was no room
	timer  *time.Timer
	closed bool
	wg     sync.WaitGroup
}

// NewJob returns a job that stands by itself, for tests of functions; see package
// workertest.
func NewJob(a domain.Assignment) *Job {
	return &Job{Assignment: a, memory: memory{asking: make(chan struct{}, 1)}}
}

// Key is the job's key, the same in all attempts.
func (j *Job) Key() domain.JobKey { return j.Job.Key() }

// held names the job and the attempt.
func (j *Job) held() domain.HeldAttempt {
	return domain.HeldAttempt{Caller: j.Job.CallerID, ID: j.Job.ID, Attempt: j.Attempt}
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

// add keeps one line, if there is room.
func (j *Job) add(stream, line string) {
	if len(j.lines) >= keptLines {
		j.over++
		return
	}
	j.lines = append(j.lines, domain.LogLine{Stream: stream, Line: strings.ToValidUTF8(line, "\uFFFD")})
}

// flush sends what was logged; what cannot be sent goes with the end.
func (j *Job) flush() {
	defer j.wg.Done()
	j.mu.Lock()
	lines := fitting(j.lines)
	j.mu.Unlock()
	err := error(nil)
	if len(lines) > 0 {
		err = j.send(lines)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		j.lines = j.lines[len(lines):]
	}
	if len(j.lines) == 0 && j.over > 0 { // they came behind all that was kept
		j.lines, j.over = []domain.LogLine{missing(j.over)}, 0
	}
	if j.timer = nil; len(j.lines) > 0 && !j.closed {
		j.wg.Add(1)
		j.timer = time.AfterFunc(logEvery, j.flush)
	}
}

// Close ends the log and gives the lines that were not sent.
func (j *Job) Close() []domain.LogLine {
	j.mu.Lock()
	j.closed = true
	if j.timer != nil && j.timer.Stop() {
		j.timer = nil
		j.wg.Done()
	}
	j.mu.Unlock()
	j.wg.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	return last(j.lines, j.over)
}

// fitting are the first lines, as many as one request brings.
func fitting(lines []domain.LogLine) []domain.LogLine {
	n, room := 0, sendBytes
	for n < min(len(lines), domain.MaxLogLines) {
		if room -= len(lines[n].Line); room < 0 {
			break
		}
		n++
	}
	return lines[:n]
}

// last are the last lines, as many as go with an end; over is how many came behind them.
func last(lines []domain.LogLine, over int) []domain.LogLine {
	first, room := len(lines), closeBytes
	for first > max(0, len(lines)-domain.MaxLogLines+1) {
		if room -= len(lines[first-1].Line); room < 0 {
			break
		}
		first--
	}
	if n := first + over; n > 0 {
		return append([]domain.LogLine{missing(n)}, lines[first:]...)
	}
	return lines
}

func missing(n int) domain.LogLine {
	return domain.LogLine{Stream: "stderr", Line: fmt.Sprintf("%d lines are missing here: they could not be sent", n)}
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
	x.until = until
}

func (x *run) left(now time.Time) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.until.Sub(now)
}
