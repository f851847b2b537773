package http

import (
	"fmt"
	nethttp "net/http"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has requests for paths, or by methods, that there are not: they are told what
// comes nearest, and where all of them are listed.

// Reference is the page of a node that lists the operations.
const Reference = "/docs"

// noSuchPath answers as the mux has, but with a problem.
func (d *Door) noSuchPath(w *response, r *nethttp.Request) {
	if w.nowhere != nethttp.StatusMethodNotAllowed {
		near := ""
		if p := d.nearest(r.Method, r.URL.Path); p != "" {
			near = "; the nearest is " + p
		}
		path := domain.PlainText(r.URL.Path, maxNear)
		d.fail(w, r, domain.NotFoundf("there is no path %q%s; all of them are listed at %s", path, near, Reference))
		return
	}
	allow := w.Header().Get("Allow")
	d.fail(w, r, &notAllowed{domain.PlainText(r.Method, 20), domain.PlainText(r.URL.Path, maxNear), allow})
}

// notAllowed is an ErrInvalid whose status is 405.
type notAllowed struct{ method, path, allow string }

func (e *notAllowed) Error() string {
	return fmt.Sprintf("method %s is not for %s; use %s, or see %s", e.method, e.path, e.allow, Reference)
}
func (e *notAllowed) Unwrap() error { return domain.ErrInvalid }
func (e *notAllowed) status() int   { return nethttp.StatusMethodNotAllowed }

// route is a path that there is, with its method.
type route struct {
	method, path string
	segments     []string
}

// handle puts a path of the door into the mux.
func (d *Door) handle(method, path string, h nethttp.HandlerFunc) {
	d.pattern(method+" "+path, h)
	d.routes = append(d.routes, route{method, path, segmentsOf(path)})
}

// pattern puts a handler into the mux. What the mux answers by itself is known by no handler's
// having been found.
func (d *Door) pattern(pattern string, h nethttp.HandlerFunc) {
	d.mux.HandleFunc(pattern, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.(*response).routing = false
		h(w, r)
	})
}

func segmentsOf(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

const (
	// maxNear is how long a path may be to have a nearest one, in bytes: whoever asks
	// need not be known.
	maxNear = 256
	// A segment that is another costs farOff, one that is nearly the same closeBy.
	farOff  = 3
	closeBy = 1
)

// nearest is the method and path of what there is that comes nearest to what was asked
// for; "" where all is far: where more than one segment would have to be other, or half
// of them.
func (d *Door) nearest(method, path string) string {
	if len(path) > maxNear {
		return ""
	}
	asked := segmentsOf(strings.ToLower(path))
	best, least := "", min(farOff*len(asked), 2*farOff+2)
	for _, p := range d.routes {
		if longer := len(asked) - len(p.segments); longer < -1 || longer > 1 {
			continue
		}
		// Among paths that come equally near, that of the method.
		cost := 2 * apart(asked, p.segments)
		if p.method != method {
			cost++
		}
		if cost < least {
			best, least = p.method+" "+p.path, cost
		}
	}
	return best
}

// apart is what it costs to make one list of segments of another, by the distance of
// Levenshtein over segments.
func apart(asked, there []string) int {
	row := make([]int, len(there)+1)
	for j := range row {
		row[j] = j * farOff
	}
	for i, a := range asked {
		before := row[0]
		row[0] = (i + 1) * farOff
		for j, t := range there {
			cost := min(before+segmentApart(a, t), row[j]+farOff, row[j+1]+farOff)
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(there)]
}

// segmentApart is what one segment costs for another: nothing where it stands for any.
func segmentApart(asked, there string) int {
	switch {
	case asked == there, there[0] == '{' && asked != "":
		return 0
	case oneSlip(asked, there):
		return closeBy
	}
	return farOff
}

// oneSlip reports whether texts are one apart: a letter too much, too few, another, or
// two that have changed places.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a):
		return true
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
