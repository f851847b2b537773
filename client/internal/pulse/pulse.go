// Package pulse finds out of nodes that take requests and do nothing any more, as no connection tells: a process that
// is stopped, a machine that is frozen.
package pulse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// quiet is how long a request waits, as those do that wait for jobs, until its node is asked whether it lives.
	quiet = 5 * time.Second
	// patience is how long it may take to say so: a node with much to do may.
	patience = 10 * time.Second
)

// ErrSilent is the end of a request whose node does nothing any more.
var ErrSilent = fmt.Errorf("it takes requests, and has not answered GET /health for %v", patience)

// Lost is the end of a request to one of several nodes that has no answer: from which.
type Lost struct {
	From string // its address
	Err  error
}

func (l *Lost) Error() string { return l.From + ": " + l.Err.Error() }

// Unwrap is why.
func (l *Lost) Unwrap() error { return l.Err }

// Pulse watches the requests to a node together, which costs them less than a goroutine for each.
type Pulse struct {
	url string
	ask func(*http.Request) (*http.Response, error)

	mu       sync.Mutex
	requests map[*Request]struct{}
	watching bool
	lived    time.Time // for who watches
}

// Request is one that waits for its answer, or whose answer is read.
type Request struct {
	pulse  *Pulse
	ctx    context.Context
	since  time.Time
	cancel context.CancelCauseFunc
}

// Of watches the node at an address, http://host:port, which it asks by that.
func Of(url string, ask func(*http.Request) (*http.Response, error)) *Pulse {
	return &Pulse{url: url, ask: ask, requests: map[*Request]struct{}{}}
}

// Begin has a request be watched until its End. It is made with the context that this returns.
func (p *Pulse) Begin(ctx context.Context) (context.Context, *Request) {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &Request{p, ctx, time.Now(), cancel}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[r] = struct{}{}
	if !p.watching {
		p.watching = true
		time.AfterFunc(quiet/5, p.watch)
	}
	return ctx, r
}

// End lets go of a request, and reports whether it has ended since its node does nothing any more.
func (r *Request) End() (silent bool) {
	r.pulse.mu.Lock()
	delete(r.pulse.requests, r)
	r.pulse.mu.Unlock()
	r.cancel(nil)
	return context.Cause(r.ctx) == ErrSilent
}

// watch ends requests whose node does nothing any more, now and then while there are requests.
func (p *Pulse) watch() {
	long, more := p.waiting()
	if len(long) > 0 && !p.lives() {
		silent, _ := p.waiting() // those too that came meanwhile, and have waited as long
		for _, r := range silent {
			r.cancel(ErrSilent)
		}
	}
	if more {
		time.AfterFunc(quiet/5, p.watch)
	}
}

// waiting are the requests that have waited for long, and whether there are any at all: else nobody watches any more.
func (p *Pulse) waiting() (long []*Request, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for r := range p.requests {
		switch {
		case r.ctx.Err() != nil: // its answer was not read to the end
			delete(p.requests, r)
		case time.Since(r.since) >= quiet:
			long = append(long, r)
		}
	}
	p.watching = len(p.requests) > 0
	return long, p.watching
}

// lives asks the node whether it lives; whatever it answers, it does.
func (p *Pulse) lives() bool {
	if time.Since(p.lived) < quiet {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/health", nil)
	if err != nil {
		return true
	}
	answer, err := p.ask(r)
	if err != nil {
		return false
	}
	answer.Body.Close()
	p.lived = time.Now()
	return true
}

// Body is that of an answer, which is watched until it is closed.
type Body struct {
	io.ReadCloser
	Request *Request
	// Broken says why it breaks off.
	Broken func(error) error
}

// Read implements [io.Reader].
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.Broken(err)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *Body) Close() error {
	err := b.ReadCloser.Close()
	b.Request.End()
	return err
}
