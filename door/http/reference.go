package http

import (
	"bytes"
	nethttp "net/http"
	"sync"
)

// This file serves the description of the operations, for programs and for people. It
// tells what every node of this version does, and nothing of this one, so it is for
// everybody: whoever has no token yet reads here how to come by one.

// Description is where the operations are described for programs, as OpenAPI 3.1.
const Description = "/openapi.json"

// pagePolicy has a browser get nothing for the page, and run nothing in it.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// kept answers with a text that never changes. Strangers may ask for it, so it is
// compressed once and not for each of them.
func (d *Door) kept(media string, text []byte) nethttp.HandlerFunc {
	compressed := sync.OnceValue(func() []byte {
		var b bytes.Buffer
		writeGzip(&b, text)
		return b.Bytes()
	})
	return func(w nethttp.ResponseWriter, r *nethttp.Request) {
		zipped := takesGzip(r)
		if d.answered(w.(*response), r, text, zipped) {
			return
		}
		h, body := w.Header(), text
		h.Set("Content-Type", media)
		h.Set("Content-Security-Policy", pagePolicy)
		if zipped {
			body = compressed()
			h.Set("Content-Encoding", "gzip")
		}
		writeBody(w, r, nethttp.StatusOK, body, false)
	}
}
