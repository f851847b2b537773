package http

import (
	"fmt"
	"io"
	nethttp "net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

	"github.com/ramet-run/ramet/domain"
)

// This file has what goes over the wire compressed: answers for those who take them so,
// never events of a stream, which must arrive one by one; and bodies of requests.
//
// That the length of a compressed answer tells what is in it (BREACH) takes somebody who
// puts text of his own next to a secret, has the answer asked for again and again, and sees
// its length on the wire. A page in a browser cannot have it asked for: the door knows no
// HTTP cookies, only the header Authorization, which no browser adds by itself. What is
// left is somebody who writes into the records of others and also listens to their TLS: who
// fears that asks without Accept-Encoding.

const (
	// smallAnswer is from how many bytes on an answer is compressed: less than that is
	// one packet in any case.
	smallAnswer = 1 << 10
	// inflateCost is what reading a compressed body takes beside the body, in bytes.
	inflateCost = 64 << 10
)

// zippers are writers at rest: one has tables of some hundred kilobytes.
var zippers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic("BUG: the level of compression: " + err.Error())
	}
	return z
}}

// takesGzip reports whether a caller would take an answer compressed.
func takesGzip(r *nethttp.Request) bool {
	takes := false
	for name, weight := range preferences(r.Header["Accept-Encoding"]) {
		switch name {
		case "gzip", "x-gzip":
			return weight > 0
		case "*":
			takes = weight > 0
		}
	}
	return takes
}

// writeGzip writes an answer compressed, as it is made: there is no second copy of it.
func writeGzip(w io.Writer, answer []byte) {
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(w)
	// The caller may be gone; nothing is to be done about it.
	_, _ = z.Write(answer)
	_ = z.Close()
	z.Reset(io.Discard) // at rest it keeps nobody's connection
}

// body is a request's body as it was before it was compressed, and what reading it takes
// beside that. Compressed it may not be longer than most either: what has no content can
// go on for ever.
//
// Errors: an [unsupported].
func (w *response) body(r *nethttp.Request, most int64) (from io.Reader, costs int64, err error) {
	switch coding := strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ", ")); coding {
	case "", "identity":
		return r.Body, 0, nil
	case "gzip", "x-gzip":
		return &inflater{from: nethttp.MaxBytesReader(w, r.Body, most)}, inflateCost, nil
	default:
		w.Header().Set("Accept-Encoding", "gzip")
		return nil, 0, &unsupported{fmt.Sprintf("Content-Encoding %q: want gzip, or none", domain.PlainText(coding, 100))}
	}
}

// inflater reads what is compressed. It begins when it is first read, within the time
// that there is for a body.
type inflater struct {
	from io.Reader
	gzip *gzip.Reader
}

func (i *inflater) Read(p []byte) (n int, err error) {
	if i.gzip == nil {
		if i.gzip, err = gzip.NewReader(i.from); err != nil {
			return 0, err
		}
	}
	return i.gzip.Read(p)
}

// unsupported is an ErrInvalid whose status is 415.
type unsupported struct{ why string }

func (e *unsupported) Error() string { return e.why }
func (e *unsupported) Unwrap() error { return domain.ErrInvalid }
func (e *unsupported) status() int   { return nethttp.StatusUnsupportedMediaType }
