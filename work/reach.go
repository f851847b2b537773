package work

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/egress"
)

// This file looks at addresses that jobs name as prerequisites. Who may submit a
// job may have the node knock at a door, so: only where the egress rules allow
// it, seldom, and without telling what is behind a door that does not open. For
// whoever watches the job, an address that is closed by the rules, that nobody
// listens at, that stays silent, says no, or does not exist leaves the same
// record and the same alarm at the same instants.

const (
	// reachTime bounds the look at one address.
	reachTime = 5 * time.Second
	// reachJobs is how many jobs of one context may look at addresses within
	// reachTime, and reachNode how many at once on this node: fewer than alarms
	// are handled at once, so that doors that do not answer hold up nothing else.
	reachJobs = 16
	reachNode = 64
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

	mu     sync.Mutex
	now    int                 // looks in hand
	recent map[board.Space]int // looks within the last took
}

func newReach(dialer *egress.Dialer, took time.Duration) *reach {
	transport := &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: reachHeader,
		Proxy: nil, // none: neither that of the environment
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a redirect is no 2xx
	return &reach{dialer: dialer, took: took, client: &http.Client{Transport: transport, CheckRedirect: stay}, recent: map[board.Space]int{}}
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

// begin takes a place for a look; false: there is none now. The context's place
// is free again when a look that gets no answer would have ended, whenever end
// is called: else the room left would tell how long the others took.
func (r *reach) begin(space board.Space) (end func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now >= reachNode || r.recent[space] >= reachJobs {
		return nil, false
	}
	r.now++
	r.recent[space]++
	time.AfterFunc(r.took, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.recent[space]--; r.recent[space] == 0 {
			delete(r.recent, space)
		}
	})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now--
	}, true
}

// conceal waits until a look that began then would have ended without an answer.
func (r *reach) conceal(ctx context.Context, began time.Time) { pause(ctx, r.took-time.Since(began)) }

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

// reach looks at the addresses among what is not met. The alarm is moved on
// before that: what can be seen of the job does not depend on how long the look
// takes, and no other node looks meanwhile.
func (l *prereqLook) reach(ctx context.Context) error {
	if !slices.ContainsFunc(l.unmet, isAddress) {
		return nil
	}
	end, ok := l.e.reach.begin(l.alarm.Space)
	if !ok {
		return nil
	}
	defer end()
	next := l.next(l.e.reach.took + time.Second)
	b := board.Batch{Space: l.alarm.Space}
	b.AlarmAt(l.alarm.Name, l.alarm.At).SetAlarm(l.alarm.Name, next)
	if err := l.e.board.Commit(ctx, b); err != nil {
		return err
	}
	l.alarm.At, l.moved = next, true
	var addresses []string
	for _, p := range l.unmet {
		if isAddress(p) {
			addresses = append(addresses, p)
		}
	}
	ok2 := l.e.reach.look(ctx, addresses)
	still := unmetOf(addresses, ok2)
	l.unmet = slices.DeleteFunc(l.unmet, func(p string) bool { return isAddress(p) && !slices.Contains(still, p) })
	return nil
}
