package work

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/internal/pause"
)

// This file looks at addresses that jobs name as prerequisites. Who may submit a
// job may have the node knock at a door, so: only where the egress rules allow
// it, seldom, and without telling what is behind a door that does not open. For
// whoever watches the job, an address that is closed by the rules, that nobody
// listens at, that stays silent, says no, or does not exist leaves the same
// record and the same alarm at the same instants. When a look is made, and by
// whom, is in check.go.

const (
	// reachTime bounds the look at one address.
	reachTime = 5 * time.Second
	// reachAtOnce is how many addresses of one job are looked at in one look;
	// of more each look takes others.
	reachAtOnce = 16
	// reachHeader bounds what is read of an answer, in bytes.
	reachHeader = 16 << 10
)

// reach looks at addresses.
type reach struct {
	dialer *egress.Dialer
	client *http.Client
	took   time.Duration // the time of a look: reachTime
}

func newReach(dialer *egress.Dialer, took time.Duration) *reach {
	transport := &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: reachHeader,
		Proxy: nil, // none: neither that of the environment
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a redirect is no 2xx
	return &reach{dialer: dialer, took: took, client: &http.Client{Transport: transport, CheckRedirect: stay}}
}

// isAddress reports whether the node connects to something for a prerequisite.
func isAddress(p string) bool {
	k := prerequisiteKind(p)
	return k == kindHTTP || k == kindTCP
}

// addressHint is what people are told of addresses that are not met: one text
// for all, whatever the reason is.
func addressHint(unmet []string) string {
	if !slices.ContainsFunc(unmet, isAddress) {
		return ""
	}
	return " (an address is met once it answers within 5s, http with a status 2xx, and lies where this node may connect to: see egress in the config file)"
}

// conceal waits until a look that began then would have ended without an answer.
func (r *reach) conceal(ctx context.Context, began time.Time) {
	pause.For(ctx, r.took-time.Since(began))
}

// look looks at addresses all at once. More than reachAtOnce are not looked at,
// and count as not met; which ones is left to chance.
func (r *reach) look(ctx context.Context, list []string) []bool {
	ctx, cancel := context.WithTimeout(ctx, r.took)
	defer cancel()
	ok := make([]bool, len(list))
	var wg sync.WaitGroup
	for _, i := range rand.Perm(len(list))[:min(len(list), reachAtOnce)] {
		wg.Go(func() { ok[i] = r.answers(ctx, list[i]) })
	}
	wg.Wait()
	return ok
}

func (r *reach) answers(ctx context.Context, p string) bool {
	if address, tcp := strings.CutPrefix(p, "tcp:"); tcp {
		c, err := r.dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return false
		}
		c.Close()
		return true
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p, http.NoBody)
	if err != nil {
		return false
	}
	res, err := r.client.Do(req)
	if err != nil {
		return false
	}
	res.Body.Close() // unread; its connection is closed
	return res.StatusCode/100 == 2
}
