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
	tellQuotas(w.Header(), policed{w.pool.Quota(w.held.Who), `;qu="concurrent-requests"`}, policed{w.held.Pool.Quota(w.held.Who), `;qu="content-bytes"`})
}

// tellTries tells a caller who is not known how often it may still be wrong.
func tellTries(h nethttp.Header, r *nethttp.Request) {
	if q, counted := seatOf(r).Quota(); counted {
		tellQuotas(h, policed{q, ";w=60"})
	}
}

// policed is a quota and what its policy has besides.
type policed struct {
	budget.Quota
	more string
}

// tellQuotas adds quotas to the headers. Every answer has them, so each header is put
// together in one piece.
func tellQuotas(h nethttp.Header, quotas ...policed) {
	var room [2][96]byte
	policy, left := room[0][:0], room[1][:0]
	if before := h[policyHeader]; before != nil {
		policy, left = append(append(policy, before[0]...), ", "...), append(append(left, h[leftHeader][0]...), ", "...)
	}
	for i, q := range quotas {
		if i > 0 {
			policy, left = append(policy, ", "...), append(left, ", "...)
		}
		policy = append(strconv.AppendInt(append(strconv.AppendQuote(policy, q.Name), ";q="...), q.Limit, 10), q.more...)
		left = strconv.AppendInt(append(strconv.AppendQuote(left, q.Name), ";r="...), q.Left, 10)
		if q.Reset > 0 {
			left = strconv.AppendInt(append(left, ";t="...), int64((q.Reset+time.Second-1)/time.Second), 10)
		}
	}
	h[policyHeader], h[leftHeader] = []string{string(policy)}, []string{string(left)}
}
