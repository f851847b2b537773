package http

import (
	nethttp "net/http"
	"net/url"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has pages of other origins (CORS): which of them a browser lets read what the
// door answers. Nothing is allowed by default, and never all origins. A page shows a token
// of its own in Authorization; the door knows no other credentials that a browser would
// add, and never allows them.
//
// Source: the Fetch standard, "HTTP-CORS protocol".

const (
	// pageMethods and pageHeaders are what a page may send. Which methods a path has is
	// said to the request itself, in a problem that the page can read.
	pageMethods = "GET, HEAD, POST, PUT, DELETE"
	pageHeaders = "Authorization, Content-Type, Content-Encoding, If-Match, If-None-Match, Cache-Control, Last-Event-ID, traceparent, tracestate, " +
		KeyHeader + ", " + IDHeader + ", " + TenantHeader
	// pageReads are headers of answers that it may read.
	pageReads = "ETag, Retry-After, RateLimit, RateLimit-Policy, WWW-Authenticate, " + IDHeader + ", " + ReplayedHeader
	// preflightFor is how long a browser may remember what it was allowed, in seconds.
	preflightFor = "600"
)

// CheckOrigins looks at [Config.Origins] before a node starts.
//
// Errors: [domain.ErrInvalid] naming what is no origin.
func CheckOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		switch {
		case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Scheme+"://"+u.Host != o, strings.Contains(o, "*"):
			return domain.Invalidf("doors.cors_origins %q: want the origin of a page such as https://console.example.com, without a path and never *", o)
		case strings.ToLower(o) != o, u.Scheme == "http" && u.Port() == "80", u.Scheme == "https" && u.Port() == "443":
			return domain.Invalidf("doors.cors_origins %q: browsers send it in lower case and without the usual port", o)
		}
	}
	return nil
}

// toPage says whether the page that asks may read the answer. done reports that it was a
// browser which only asked for that.
func (d *Door) toPage(w *response, r *nethttp.Request) (done bool) {
	if len(d.origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !d.origins[origin] {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method != nethttp.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", pageReads)
		return false
	}
	h.Set("Access-Control-Allow-Methods", pageMethods)
	h.Set("Access-Control-Allow-Headers", pageHeaders)
	h.Set("Access-Control-Max-Age", preflightFor)
	w.WriteHeader(nethttp.StatusNoContent)
	return true
}
