package http

import (
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has requests that hold under a condition. What is read has a tag, the hash of
// its bytes: who has read it before is told in a few bytes that it is the same still, and
// who must not read anything else is told that it is not.
//
// What changes something has no tag: nothing that is changed over this door is compared
// and changed in one step on the board, but blueprints and sagas by their version. To
// compare here and change there would let two callers pass who both were first. So there
// a condition is refused, and never ignored.

// tagged reports whether the answers of an operation have tags: what waits for an end
// has nothing to compare before.
func tagged(o *service.Operation) bool { return o.Method == nethttp.MethodGet && !o.Waits }

// gzipTag ends the tag of an answer that is compressed, whose bytes are others.
const gzipTag = `-gzip"`

// tagOf is the tag of an answer.
func tagOf(answer []byte, zipped bool) string {
	sum := sha256.Sum256(answer)
	tag := `"` + hex.EncodeToString(sum[:16])
	if zipped {
		return tag + gzipTag
	}
	return tag + `"`
}

// has reports whether a header lists a tag, compressed or not, or stands for any. A weak
// one counts only where that is enough.
//
// Source: RFC 9110, section 8.8.3.2.
func has(header []string, tag string, weak bool) bool {
	for _, line := range header {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimSpace(one)
			if weak {
				one = strings.TrimPrefix(one, "W/")
			}
			if one == "*" || plainTag(one) == plainTag(tag) {
				return true
			}
		}
	}
	return false
}

func plainTag(tag string) string {
	if name, zipped := strings.CutSuffix(tag, gzipTag); zipped {
		return name + `"`
	}
	return tag
}

// answered gives an answer its tag, and reports whether that was all there is to answer.
func (d *Door) answered(w *response, r *nethttp.Request, answer []byte, zipped bool) bool {
	tag := tagOf(answer, zipped)
	if match := r.Header["If-Match"]; match != nil && !has(match, tag, false) {
		d.fail(w, r, &otherwise{})
		return true
	}
	w.Header().Set("ETag", tag)
	if has(r.Header["If-None-Match"], tag, true) {
		w.Header().Add("Vary", "Accept-Encoding")
		w.WriteHeader(nethttp.StatusNotModified)
		return true
	}
	return false
}

// otherwise is an ErrConflict whose status is 412.
type otherwise struct{}

func (*otherwise) Error() string {
	return "what is there now is not what If-Match names; read it without, and decide again"
}
func (*otherwise) Unwrap() error { return domain.ErrConflict }
func (*otherwise) status() int   { return nethttp.StatusPreconditionFailed }

// versioned are the operations whose body names the version that is made: it must be
// newer than all there are.
var versioned = []string{"blueprint.apply", "saga.apply"}

// mayCondition refuses a condition that nothing would hold.
//
// Errors: [domain.ErrInvalid].
func mayCondition(o *service.Operation, r *nethttp.Request) error {
	header := "If-Match"
	switch {
	case tagged(o):
		return nil
	case r.Header[header] != nil:
	case r.Header["If-None-Match"] != nil && o.Method != nethttp.MethodGet:
		header = "If-None-Match"
	default:
		return nil
	}
	if slices.Contains(versioned, o.Name) {
		return domain.Invalidf("%s: %s does not hold it; give the version in the body: the next after the one that you have read, "+
			"which is a conflict where somebody else has made it", header, o.Name)
	}
	return domain.Invalidf("%s: %s cannot hold it in one step with what it does; leave it out", header, o.Name)
}
