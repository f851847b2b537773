package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has the log of a job that runs, as it is followed: read from the board once for
// all who see the same, as pages are made once (shown.go), and sent to each from the line
// that its page ends with.

const (
	// sharedLines and sharedBytes bound what is kept of a log for those who are slow; who
	// falls behind that, or begins before it, reads by itself.
	sharedLines = 2000
	sharedBytes = 2 << 20
)

// sharedLog is the end of a log. It has no goroutine of its own: one of those who look has
// the turn to read it, in a goroutine that ends with its looking; then another has.
type sharedLog struct {
	key  shownKey
	turn chan struct{} // who receives from it reads; capacity 1

	mu      sync.Mutex
	viewers int // guarded by the hub's mu
	// first is the number of the first line that is kept, counted from 0.
	first   int
	lines   []json.RawMessage
	bytes   int
	ended   bool          // nothing more comes
	changed chan struct{} // closed when there is more
}

// joinLog gives a viewer the log that it reads together with others; who is the first says
// from which line on.
func (h *hub) joinLog(key shownKey, from int) *sharedLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.logs[key]
	if l == nil {
		l = &sharedLog{key: key, turn: make(chan struct{}, 1), first: from, changed: make(chan struct{})}
		l.turn <- struct{}{}
		h.logs[key] = l
	}
	l.viewers++
	return l
}

// leaveLog takes a viewer away; the last takes the log with it.
func (h *hub) leaveLog(l *sharedLog) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.viewers--; l.viewers == 0 {
		delete(h.logs, l.key)
	}
}

// add takes the next line.
func (l *sharedLog) add(text json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, text)
	l.bytes += len(text)
	drop := 0
	for len(l.lines)-drop > sharedLines || l.bytes > sharedBytes && len(l.lines)-drop > 1 {
		l.bytes -= len(l.lines[drop])
		drop++
	}
	l.lines, l.first = l.lines[drop:], l.first+drop
	l.tell()
}

// end says that nothing more comes.
func (l *sharedLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.tell()
}

// tell wakes those who wait. l.mu is held.
func (l *sharedLog) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// next is the number of the line that comes next.
func (l *sharedLog) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first + len(l.lines)
}

// since are the lines from a number on, and the number of the first that is kept.
func (l *sharedLog) since(number int) (lines []json.RawMessage, first int, ended bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := number - l.first; at >= 0 && at < len(l.lines) {
		lines = append(lines, l.lines[at:]...)
	}
	return lines, l.first, l.ended, l.changed
}

// logViewer is one browser that follows the log of a job.
type logViewer struct {
	viewer
	job  api.JobParams
	from int // the number of the line that it wants next
}

// followLog sends the lines of a log as they come, from the one that the address names,
// or from where the connection broke.
func (v *visit) followLog() (stream, error) {
	p, err := v.jobParams()
	if err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(cmp.Or(v.r.FormValue("from"), "0"))
	if err != nil || from < 0 {
		return nil, domain.Invalidf("from: want the number of a line")
	}
	if last, err := strconv.Atoi(v.r.Header.Get("Last-Event-ID")); err == nil && last >= 0 {
		from = last + 1
	}
	w := &logViewer{viewer{console: v.console, who: v.who, caller: v.caller, secret: v.console.secretOf(v.r), page: v.path("jobs/%d/%d/log", p.Caller, p.ID),
		context: v.r.PathValue("context")}, p, from}
	// What is refused is refused before anything of it is sent.
	if _, err := call(v, api.JobShow, p); err != nil {
		return nil, err
	}
	return w.follow, nil
}

// follow sends lines until the log or ctx has ended.
func (w *logViewer) follow(ctx context.Context, emit func(api.Event) error) error {
	for {
		key, err := w.key(ctx)
		if err != nil {
			return err
		}
		l := w.console.hub.joinLog(key, w.from)
		err = w.watch(ctx, l, emit)
		w.console.hub.leaveLog(l)
		if !errors.Is(err, errOtherClass) {
			return err
		}
	}
}

// watch is follow while the viewer's rights are what they were.
func (w *logViewer) watch(ctx context.Context, l *sharedLog, emit func(api.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var read chan error // what the reading has come to; nil: another one reads
	defer func() {
		cancel()
		if read != nil {
			if err := <-read; err != nil {
				l.turn <- struct{}{} // another reads on
			}
		}
	}()
	for {
		lines, first, ended, changed := l.since(w.from)
		if len(lines) > 0 || ended || w.from < first {
			if err := w.same(ctx, l.key); err != nil {
				return err
			}
		}
		switch {
		case w.from < first:
			if err := w.catchUp(ctx, first, emit); err != nil {
				return err
			}
			continue
		case len(lines) > 0:
			for _, text := range lines {
				if err := w.send(text, emit); err != nil {
					return err
				}
			}
			continue
		case ended:
			return emit(api.Event{Name: api.EventEnd, Data: struct{}{}})
		}
		select {
		case <-changed:
		case <-l.turn:
			read = make(chan error, 1)
			go func(done chan<- error) { done <- w.read(ctx, l) }(read)
		case err := <-read:
			read = nil
			if err != nil { // it concerns this viewer, or the board is away
				l.turn <- struct{}{}
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// same holds that the viewer still sees what the others see.
func (w *logViewer) same(ctx context.Context, key shownKey) error {
	now, err := w.key(ctx)
	if err == nil && now != key {
		err = errOtherClass
	}
	return err
}

// read reads the log for all, from where it stands until its end.
func (w *logViewer) read(ctx context.Context, l *sharedLog) error {
	number := l.next()
	v := w.visit(ctx)
	before, err := v.attemptBefore(w.job, number)
	if err != nil {
		return err
	}
	return service.Named(api.JobLogs.Name).Stream(ctx, w.caller, &api.LogParams{JobParams: w.job, From: number}, func(e api.Event) error {
		if line, isLine := e.Data.(domain.Log); isLine {
			number++
			text, err := lineOfLog(v, &before, number, &line)
			if err == nil {
				l.add(text)
			}
			return err
		}
		l.end()
		return nil
	})
}

// catchUp sends the lines before a number, which are kept no more.
func (w *logViewer) catchUp(ctx context.Context, to int, emit func(api.Event) error) error {
	v := w.visit(ctx)
	page, err := call(v, api.JobLogs, api.LogParams{JobParams: w.job, From: w.from, Limit: min(to-w.from, sharedLines)})
	if err != nil {
		return err
	}
	before, err := v.attemptBefore(w.job, w.from)
	if err != nil {
		return err
	}
	for i := range page.Logs {
		text, err := lineOfLog(v, &before, w.from+1, &page.Logs[i])
		if err == nil {
			err = w.send(text, emit)
		}
		if err != nil {
			return err
		}
	}
	if len(page.Logs) == 0 {
		w.from = to // they are gone
	}
	return nil
}

// send sends the next line.
func (w *logViewer) send(text json.RawMessage, emit func(api.Event) error) error {
	id := strconv.Itoa(w.from)
	w.from++
	return emit(api.Event{Name: "line", ID: id, Data: text})
}

// lineEvent is a line of a log, as the piece of the page that it becomes.
type lineEvent struct {
	HTML string `json:"html"`
	// Part is the head of the attempt that begins with it; "": none does.
	Part string `json:"part,omitzero"`
}

// lineOfLog is the event of a line, as the template of the page writes it; before is whose
// the line before it is.
func lineOfLog(v *visit, before *marks, number int, line *domain.Log) (json.RawMessage, error) {
	var text, part strings.Builder
	if err := v.lineOf(number, line).entry().Render(context.Background(), &text); err != nil {
		return nil, err
	}
	if begun := before.begins(line.Attempt); begun != 0 {
		if err := (logPart{Attempt: begun}).begins().Render(context.Background(), &part); err != nil {
			return nil, err
		}
	}
	return encoded(lineEvent{text.String(), part.String()}), nil
}
