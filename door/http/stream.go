package http

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

const (
	// streamOpens is how soon a stream that has nothing to say yet begins, so
	// that the other end knows that it stands. Errors found before that are
	// answered with their status.
	streamOpens = 200 * time.Millisecond
	// streamGathers is how long events may wait to be written together.
	streamGathers = 10 * time.Millisecond
	// streamWrite bounds one write: a reader that is slower is let go.
	streamWrite = 30 * time.Second
	// streamHolds bounds what gathers before the writer is waited for, in bytes.
	streamHolds = 64 << 10
)

// closingKey is the context key of the context that ends when the door closes.
type closingKey struct{}

// stream answers with server-sent events, until the session of who follows ends.
func (d *Door) stream(w *response, r *nethttp.Request, session *identity.Session, run func(context.Context, func(api.Event) error) error) {
	ctx, cancel := untilClosing(r.Context())
	defer cancel(nil)
	s := &sse{w: w, rc: nethttp.NewResponseController(w), kick: make(chan struct{}, 1), end: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { s.keep(d.cfg.Heartbeat, func() { cancel(nil) }) })
	err := run(ctx, s.emit)
	close(s.end)
	wg.Wait()
	if err != nil && context.Cause(ctx) == errClosing {
		err = errClosing
	}
	lost := session.Err()
	if err != nil {
		err = cmp.Or(lost, err)
	}
	switch {
	case err == nil:
	case !s.begun:
		d.fail(w, r, err)
		return
	case lost != nil || r.Context().Err() == nil:
		// The stream has begun with 200, so the problem comes as an event.
		_, _ = s.put(api.Event{Name: api.EventError, Data: d.api.ProblemOf(r.Context(), err)}) // where there is no room it just ends
	}
	_ = s.flush()
}

// untilClosing is a context that ends with errClosing when the door closes.
func untilClosing(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ending, cancel := context.WithCancelCause(ctx)
	closing, ok := ctx.Value(closingKey{}).(context.Context)
	if !ok {
		return ending, cancel
	}
	stop := context.AfterFunc(closing, func() { cancel(errClosing) })
	return ending, func(cause error) { stop(); cancel(cause) }
}

// errClosing ends streams and waits when the node stops; what they are about goes on.
var errClosing = domain.Unavailablef("the node is stopping; ask again, and follow from where this ended")

// sse writes server-sent events. Its keeper writes what has gathered and keeps
// the line open.
type sse struct {
	w    *response
	rc   *nethttp.ResponseController
	kick chan struct{} // something has gathered; capacity 1
	end  chan struct{} // closed when nothing more comes

	mu    sync.Mutex
	buf   bytes.Buffer
	begun bool
	err   error // of the first write that failed
}

// emit takes one event. A reader that does not keep up holds the source back.
func (s *sse) emit(e api.Event) error {
	if n, err := s.put(e); err != nil {
		return err
	} else if n > streamHolds {
		return s.flush()
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// put adds an event to what is to be written and returns how much that is: bytes of
// the caller's, until they are written.
//
// Errors: those of [budget.Pool.Take].
func (s *sse) put(e api.Event) (int, error) {
	data, written := e.Data.(json.RawMessage) // of one line, written once for many
	if !written {
		var err error
		if data, err = json.Marshal(e.Data); err != nil {
			panic("BUG: an event cannot be written as JSON: " + err.Error())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.w.hold(int64(s.buf.Len() + len(data))); err != nil {
		return 0, err
	}
	if e.ID != "" {
		s.buf.WriteString("id: " + e.ID + "\n")
	}
	s.buf.WriteString("event: " + e.Name + "\ndata: ")
	s.buf.Write(data) // one line: JSON has no line ends outside of escapes
	s.buf.WriteString("\n\n")
	return s.buf.Len(), nil
}

// keep writes what gathers until end; gone is called when the reader is.
func (s *sse) keep(heartbeat time.Duration, gone func()) {
	beat := time.NewTimer(streamOpens)
	defer beat.Stop()
	for {
		select {
		case <-s.kick:
			gather := time.NewTimer(streamGathers)
			select {
			case <-gather.C:
			case <-s.end:
				gather.Stop()
				return
			}
		case <-beat.C:
			s.mu.Lock()
			s.buf.WriteString(": still here\n\n")
			s.mu.Unlock()
		case <-s.end:
			return
		}
		beat.Reset(heartbeat)
		if s.flush() != nil {
			gone()
			return
		}
	}
}

// flush writes what has gathered, with the header before the first.
func (s *sse) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.buf.Len() == 0 {
		return s.err
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", mediaEvents)
		s.w.WriteHeader(nethttp.StatusOK)
	}
	// Best effort: a recorder in a test has no deadlines.
	_ = s.rc.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, s.err = s.w.Write(s.buf.Bytes()); s.err == nil {
		s.err = s.rc.Flush()
	}
	if s.buf.Reset(); s.buf.Cap() > 2*streamHolds {
		s.buf = bytes.Buffer{} // nobody would count what it keeps
	}
	s.w.held.End()
	return s.err
}
