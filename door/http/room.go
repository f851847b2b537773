package http

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/budget"
)

// This file has what callers hold of the node: a connection, a request or a
// stream, and the bytes of what they send and get.

const (
	// smallBody is what every request may send and get without its being
	// counted: small requests come through where large ones have all the room.
	// Requests are counted themselves.
	smallBody = 16 << 10
	// maxNoBody bounds the body of an operation that has none.
	maxNoBody = 1 << 10
	// A body must arrive: after bodyGrace at bodyPace bytes a second on average.
	// The largest takes two minutes at most.
	bodyGrace = 5 * time.Second
	bodyPace  = 64 << 10
)

// seatKey is the context key of a connection's seat.
type seatKey struct{}

// seatOf is the place of a request's connection; nil where somebody else's
// server listens.
func seatOf(r *nethttp.Request) *budget.Seat {
	seat, _ := r.Context().Value(seatKey{}).(*budget.Seat)
	return seat
}

// identify finds out who calls, and gives the connection a place among those of
// that actor.
//
// Errors: those of authenticate and of [budget.Seat.SignIn].
func (d *Door) identify(r *nethttp.Request) (identity.Proof, error) {
	who, err := d.authenticate(r)
	if err != nil {
		return identity.Proof{}, err
	}
	return who, seatOf(r).SignIn(who.Actor)
}

// enter gives a request its place, or a stream.
//
// Errors: those of [budget.Hold.Resize].
func (d *Door) enter(w *response, r *nethttp.Request, actor domain.ActorID, follows bool) (leave func(), err error) {
	share, seat := d.budget.Remote, seatOf(r)
	if seat != nil {
		share = seat.Share()
	}
	pool := share.Requests
	if follows {
		pool = share.Streams
	}
	w.pool, w.held, w.turn.turns = pool, budget.Hold{Pool: share.Bytes, Who: actor, From: seat}, share.Turns
	place := &budget.Hold{Pool: pool, Who: actor, From: seat}
	if err := place.Resize(1); err != nil {
		return nil, err
	}
	return place.End, nil
}

// turnAway answers a request whose body was not read, or not to its end. Where
// much of it may still come, the connection ends: to read it would be to do what
// was refused.
func (d *Door) turnAway(w *response, r *nethttp.Request, err error) {
	if r.ProtoMajor == 1 && (r.ContentLength < 0 || r.ContentLength > smallBody) {
		w.Header().Set("Connection", "close")
	}
	d.fail(w, r, err)
}

// hold has the request's account count n bytes.
func (w *response) hold(n int64) error {
	if n <= smallBody || w.held.Pool == nil {
		n = 0
	}
	return w.held.Resize(n)
}

// readAll reads a body of up to most bytes, counted as they are when they are not
// compressed. What it holds is counted as it arrives, not as it was announced.
//
// Errors: [domain.ErrInvalid], for what is too long as a [bodyTooLarge], for
// what is too slow as a [bodyTooSlow]; those of [response.body] and [budget.Pool.Take].
func (w *response) readAll(r *nethttp.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, &bodyTooLarge{most}
	}
	from, costs, err := w.body(r, most)
	if err != nil {
		return nil, err
	}
	rc, began := nethttp.NewResponseController(w), time.Now()
	var body bytes.Buffer
	// In one piece, where it is small: a buffer that meets the end with less room than this grows first.
	body.Grow(int(min(max(r.ContentLength, 0), smallBody)) + bytes.MinRead)
	for {
		// Best effort: a recorder in a test has no deadlines.
		_ = rc.SetReadDeadline(began.Add(bodyGrace + time.Duration(body.Len())*time.Second/bodyPace))
		n, err := io.CopyN(&body, from, smallBody)
		switch {
		case int64(body.Len()) > most, errors.As(err, new(*nethttp.MaxBytesError)):
			return nil, &bodyTooLarge{most}
		case errors.Is(err, io.EOF):
			return body.Bytes(), nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, &bodyTooSlow{body.Len(), time.Since(began)}
		case err != nil:
			return nil, domain.Invalidf("read the body: %v", err)
		}
		if err := w.hold(int64(body.Len()) + n + costs); err != nil {
			return nil, err
		}
	}
}

// bodyTooLarge is an ErrInvalid whose status is 413.
type bodyTooLarge struct{ most int64 }

func (e *bodyTooLarge) Error() string {
	return fmt.Sprintf("the body has more than %d bytes; send less at once", e.most)
}
func (e *bodyTooLarge) Unwrap() error { return domain.ErrInvalid }
func (e *bodyTooLarge) status() int   { return nethttp.StatusRequestEntityTooLarge }

// bodyTooSlow is an ErrInvalid whose status is 408.
type bodyTooSlow struct {
	got int
	in  time.Duration
}

func (e *bodyTooSlow) Error() string {
	return fmt.Sprintf("%d bytes of the body came in %v; want at least %d bytes a second", e.got, e.in.Round(time.Second), bodyPace)
}
func (e *bodyTooSlow) Unwrap() error { return domain.ErrInvalid }
func (e *bodyTooSlow) status() int   { return nethttp.StatusRequestTimeout }

// refuse tells a connection that there is no room for it. Within TLS it cannot
// be told without a handshake, which is what there is no room for.
func refuse(conn net.Conn, why error) {
	if _, hidden := conn.(*tls.Conn); hidden {
		return
	}
	f, _ := api.FailureOf(why)
	p, err := json.Marshal(api.Problem{Type: "about:blank", Title: nethttp.StatusText(f.Status), Status: f.Status, Detail: why.Error(), Code: f.Word})
	if err != nil {
		panic("BUG: a problem cannot be written as JSON: " + err.Error())
	}
	// The caller may be gone; nothing is to be done about it.
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nContent-Length: %d\r\nRetry-After: %s\r\nConnection: close\r\n\r\n%s",
		f.Status, nethttp.StatusText(f.Status), len(p), retryAfter, p)
}
