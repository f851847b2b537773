package http

import (
	"cmp"
	"fmt"
	"mime"
	nethttp "net/http"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// This file has the forms of what comes in and goes out. Problems go out in their own
// whatever the caller would take, for there is no other way to say what is wrong.

const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
	mediaEvents  = "text/event-stream"
)

// form finds out how an operation is to answer: by events, or in one piece. Events are
// asked for by name; of a caller who takes both as gladly, that is what is meant.
//
// Errors: a [notGiven].
func form(o *service.Operation, r *nethttp.Request) (follows bool, err error) {
	accept := r.Header["Accept"]
	if len(accept) == 0 {
		return false, nil
	}
	said := false
	var events, whole float64
	closest := -1 // how closely what was said names JSON
	for name, weight := range preferences(accept) {
		said = true
		if name == mediaEvents {
			events = weight
		}
		for i, pattern := range [...]string{"*/*", "application/*", cmp.Or(o.Bytes, mediaJSON)} {
			if name == pattern && i > closest {
				closest, whole = i, weight
			}
		}
	}
	switch {
	case o.Stream != nil && events > 0 && events >= whole:
		return true, nil
	case said && whole == 0:
		return false, &notGiven{op: o, accept: strings.Join(accept, ", ")}
	}
	return false, nil
}

// notGiven is an ErrInvalid whose status is 406.
type notGiven struct {
	op     *service.Operation
	accept string
}

func (e *notGiven) Error() string {
	gives := cmp.Or(e.op.Bytes, mediaJSON)
	if e.op.Stream != nil {
		gives += " or " + mediaEvents
	}
	return fmt.Sprintf("Accept %q: %s answers with %s", domain.PlainText(e.accept, 100), e.op.Name, gives)
}
func (e *notGiven) Unwrap() error { return domain.ErrInvalid }
func (e *notGiven) status() int   { return nethttp.StatusNotAcceptable }

// checkForm refuses a body that says it is something other than JSON. One that does not
// say what it is counts as that.
//
// Errors: an [unsupported].
func checkForm(w *response, r *nethttp.Request) error {
	said := r.Header.Get("Content-Type")
	if said == "" || r.ContentLength == 0 {
		return nil
	}
	name, parameters, err := mime.ParseMediaType(said)
	charset, has := parameters["charset"]
	if err == nil && name == mediaJSON && (!has || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	w.Header().Set("Accept", mediaJSON)
	hint := ""
	if name == "application/x-www-form-urlencoded" {
		hint = "; curl sends this for -d, and what is wanted for --json"
	}
	return &unsupported{fmt.Sprintf("Content-Type %q: want %s, in UTF-8%s", domain.PlainText(said, 100), mediaJSON, hint)}
}
