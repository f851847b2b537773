package http

import (
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has requests that hold under a condition. What is read has a tag, the hash of
// its bytes: who has read it before is told in a few bytes that it is the same still, and
// who must not read anything else is told that it is not.
//
// What changes one thing that can be read holds that thing as its caller has read it: by
// the tag that reading it gave. Package service makes that exact: to compare here and to
// change there would let two callers pass who both were first. What can hold nothing
// refuses a condition, and never ignores it.

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

// otherwise is an ErrConflict whose status is 412. tag is what is there now.
type otherwise struct{ tag string }

func (e *otherwise) Error() string {
	switch e.tag {
	case "":
		return "what is there now is not what If-Match names; read it without, and decide again"
	case gone:
		return "what If-Match names is not there, or no longer"
	}
	return "what is there now is not what the request names, its ETag is " + e.tag + "; read it, and decide again"
}
func (*otherwise) Unwrap() error { return domain.ErrConflict }
func (*otherwise) status() int   { return nethttp.StatusPreconditionFailed }

// gone stands for the tag of what is not there.
const gone = "-"

// conditioned reports whether a request is to be done under a condition that the operation
// holds.
func conditioned(o *service.Operation, r *nethttp.Request) bool {
	return o.Holds != "" && (r.Header["If-Match"] != nil || r.Header["If-None-Match"] != nil)
}

// asRead says whether what reading answers now is what a request names: one of the tags of
// If-Match, or with If-None-Match: * nothing.
func asRead(r *nethttp.Request) func(answer any) error {
	return func(answer any) error {
		match := r.Header["If-Match"]
		if answer == nil {
			if match != nil {
				return &otherwise{gone}
			}
			return nil
		}
		tag := tagOf(encoded(answer), false)
		if match == nil || !has(match, tag, false) {
			return &otherwise{tag}
		}
		return nil
	}
}

// mayCondition refuses a condition that nothing would hold.
//
// Errors: [domain.ErrInvalid].
func mayCondition(o *service.Operation, r *nethttp.Request) error {
	header := "If-Match"
	none := r.Header["If-None-Match"]
	switch {
	case tagged(o):
		return nil
	case o.Holds != "" && none != nil && (len(none) != 1 || strings.TrimSpace(none[0]) != "*"):
		return domain.Invalidf("If-None-Match: %s holds * only, that there is nothing yet; by If-Match it holds what is there", o.Name)
	case o.Holds != "" && none != nil && r.Header[header] != nil:
		return domain.Invalidf("If-Match and If-None-Match: want one of them")
	case o.Holds != "":
		return nil
	case r.Header[header] != nil:
	case none != nil && o.Method != nethttp.MethodGet:
		header = "If-None-Match"
	default:
		return nil
	}
	return domain.Invalidf("%s: %s cannot hold it in one step with what it does; leave it out", header, o.Name)
}
