package budget

import (
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Quota is what somebody may have of one thing, and how much of that is left: by the
// name that its bound has in the config.
type Quota struct {
	Name        string
	Limit, Left int64
	// Reset is when all of it is there again; 0 where that is when it is given back.
	Reset time.Duration
}

// Quota is an actor's part of the pool. Where there is less than that for anybody, it is
// that which is left.
func (p *Pool) Quota(who domain.ActorID) Quota {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Quota{Name: whats[p.what] + "_per_actor", Limit: p.each, Left: max(min(p.each-p.by[who], p.all-p.used), 0)}
}

// Quota is how many proofs of the connection's address may still turn out not to be good;
// ok is false where that is not counted.
func (s *Seat) Quota() (q Quota, ok bool) {
	if s == nil || s.local || !s.from.IsValid() {
		return Quota{}, false
	}
	t := &s.b.refused
	t.mu.Lock()
	defer t.mu.Unlock()
	ahead := min(max(time.Until(t.until[s.from]), 0), refusedTime)
	return Quota{Name: whats[proofs], Limit: int64(s.b.cfg.Refused), Left: int64((refusedTime - ahead) / s.b.refusalCost()), Reset: ahead}, true
}
