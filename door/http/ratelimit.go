package http

import (
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/internal/budget"
)

// This file tells callers how much they may hold of the node and how much of that is left,
// before they are refused. Most of it is what is held at once, so it comes back with the
// answer and has no window; refusals are the ones that are paid off by time.
//
// Source: draft-ietf-httpapi-ratelimit-headers-10.

const (
	policyHeader = "Ratelimit-Policy" // as the keys of a header are written; on the wire case says nothing
	leftHeader   = "Ratelimit"
)

// tellRoom tells a caller who is known what is left as the answer begins.
func (w *response) tellRoom() {
	if w.pool == nil {
		return
	}
	requests, bytes := w.pool.Quota(w.held.Who), w.held.Pool.Quota(w.held.Who)
	tellQuota(w.Header(), requests, `;qu="concurrent-requests"`)
	tellQuota(w.Header(), bytes, `;qu="content-bytes"`)
}

// tellTries tells a caller who is not known how often it may still be wrong.
func tellTries(h nethttp.Header, r *nethttp.Request) {
	if q, counted := seatOf(r).Quota(); counted {
		tellQuota(h, q, ";w=60")
	}
}

// tellQuota adds one quota to the headers; more is what its policy has besides.
func tellQuota(h nethttp.Header, q budget.Quota, more string) {
	name := `"` + q.Name + `"`
	left := name + ";r=" + strconv.FormatInt(q.Left, 10)
	if q.Reset > 0 {
		left += ";t=" + strconv.FormatInt(int64((q.Reset+time.Second-1)/time.Second), 10)
	}
	policy := name + ";q=" + strconv.FormatInt(q.Limit, 10) + more
	if before := h[policyHeader]; before != nil {
		policy, left = before[0]+", "+policy, h[leftHeader][0]+", "+left
	}
	h[policyHeader], h[leftHeader] = []string{policy}, []string{left}
}
