package durable

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// maxConns bounds the connections of one script, and maxAsked the requests of one
// connection that have no answer yet. More have to wait.
const (
	maxConns = 128
	maxAsked = 2 * MaxOpen
)

// Server answers the processes of one script over a listener.
type Server struct {
	script *Script
	l      net.Listener
	ctx    context.Context
	cancel context.CancelCauseFunc

	conns sync.WaitGroup
	mu    sync.Mutex
	open  map[net.Conn]struct{}
}

// Serve begins to answer what comes over l, until Close. It has one goroutine that
// accepts, one for each connection, and one for each request that has no answer yet.
func Serve(ctx context.Context, l net.Listener, s *Script) *Server {
	v := &Server{script: s, l: l, open: map[net.Conn]struct{}{}}
	v.ctx, v.cancel = context.WithCancelCause(ctx)
	v.conns.Go(v.accept)
	return v
}

// lastWords is how long a Close waits for what the ended processes have sent before they
// ended: their connections are at their ends by then.
const lastWords = time.Second

// Close answers what was sent before the processes ended, and returns when nothing is under way.
func (v *Server) Close() {
	_ = v.l.Close()
	over := make(chan struct{})
	go func() { v.conns.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(lastWords):
	}
	v.cancel(ErrLost)
	v.mu.Lock()
	for c := range v.open {
		_ = c.Close()
	}
	v.mu.Unlock()
	<-over
}

func (v *Server) accept() {
	room := make(chan struct{}, maxConns)
	for {
		room <- struct{}{}
		c, err := v.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil { // out of descriptors, say
			select {
			case <-time.After(50 * time.Millisecond):
			case <-v.ctx.Done():
				return
			}
			<-room
			continue
		}
		v.mu.Lock()
		v.open[c] = struct{}{}
		v.mu.Unlock()
		v.conns.Go(func() {
			defer func() { <-room }()
			v.serve(c)
		})
	}
}

// serve answers one connection. A step that was begun over it and not done goes with it.
func (v *Server) serve(c net.Conn) {
	ctx, cancel := context.WithCancelCause(v.ctx)
	w := &lines{to: c, begun: map[placeID]bool{}}
	var under sync.WaitGroup
	room := make(chan struct{}, maxAsked)
	defer func() {
		cancel(ErrLost)
		under.Wait()
		for id := range w.begun {
			_, _ = v.script.Do(v.ctx, Request{Do: DoDrop, Name: id.name, N: id.n})
		}
		v.mu.Lock()
		delete(v.open, c)
		v.mu.Unlock()
		_ = c.Close()
	}()
	r := bufio.NewReaderSize(c, 4<<10)
	for {
		line, err := readLine(r)
		if err != nil {
			if errors.Is(err, domain.ErrInvalid) {
				w.write(Answer{Error: ErrorOf(err)})
			}
			return
		}
		req, err := ParseRequest(line)
		if err != nil {
			w.write(Answer{ID: req.ID, Error: ErrorOf(err)})
			continue
		}
		room <- struct{}{}
		under.Add(1)
		v.script.Begin(ctx, req, func(a Answer, err error) {
			defer func() { <-room; under.Done() }()
			if err != nil {
				a = Answer{Error: ErrorOf(err)}
			}
			a.ID = req.ID
			w.note(req, a)
			w.write(a)
		})
	}
}

// readLine reads one line without its end. A last line without one counts too: there is
// nobody any more who would write the rest.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > MaxLine {
			return nil, domain.Invalidf("a request of more than %d bytes", MaxLine)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// lines writes answers, each as one line.
type lines struct {
	mu    sync.Mutex
	to    io.Writer
	begun map[placeID]bool // steps that were begun over this connection
}

func (w *lines) write(a Answer) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(a) != nil {
		b.Reset()
		_ = enc.Encode(Answer{ID: a.ID, Error: &Error{Kind: "internal", Text: "the answer cannot be written as JSON"}})
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(b.Bytes()) // who does not listen any more is read to its end
}

func (w *lines) note(r Request, a Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r.Do == DoStep && a.Key != "":
		w.begun[placeID{DoStep, r.Name, a.N}] = true
	case (r.Do == DoDone || r.Do == DoDrop) && a.Error == nil:
		delete(w.begun, placeID{DoStep, r.Name, r.N})
	}
}
