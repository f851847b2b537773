package http

import (
	"context"
	nethttp "net/http"
	"time"

	"github.com/ramet-run/ramet/api"
)

// writeBytes writes an answer that is no JSON, while it is made. It is nobody's turn
// meanwhile, for it takes as long as the caller takes to read it. One that cannot go on
// breaks the connection: what was read then is not whole.
func (d *Door) writeBytes(w *response, r *nethttp.Request, media string, bytes api.Bytes) {
	w.turn.End()
	if bytes.File != nil {
		if err := WriteFile(w, r, media, bytes.File); err != nil {
			d.fail(w, r, err)
		}
		return
	}
	to := &flowing{w: w, rc: nethttp.NewResponseController(w), media: media, ctx: r.Context()}
	if closing, ok := r.Context().Value(closingKey{}).(context.Context); ok {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(closing, cancel)()
		to.ctx = ctx
	}
	err := bytes.Write(to)
	switch {
	case err == nil:
	case w.status == 0:
		d.fail(w, r, err)
	default:
		d.log.WarnContext(r.Context(), "an answer was broken off", "path", r.URL.Path, "err", err)
		panic(nethttp.ErrAbortHandler)
	}
}

// flowing is an answer under way: each piece may take its time, and no more come once
// the door closes.
type flowing struct {
	w     *response
	rc    *nethttp.ResponseController
	media string
	ctx   context.Context
}

func (f *flowing) Write(p []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, errClosing
	}
	if f.w.status == 0 {
		f.w.Header().Set("Content-Type", f.media)
		f.w.WriteHeader(nethttp.StatusOK)
	}
	// Best effort: a recorder in a test has no deadlines.
	_ = f.rc.SetWriteDeadline(time.Now().Add(streamWrite))
	return f.w.Write(p)
}
