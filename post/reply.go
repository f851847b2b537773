package post

import (
	"context"
	"sync"
)

// This file sends receipts back, without holding up who takes messages in: a
// node that does not answer is its own trouble.

// maxPending bounds the receipts that wait for one node. What finds no room is
// left out: the message comes again, and so does its receipt.
const maxPending = 8 * maxParcelItems

// replies are the receipts that wait, by node. Each node that has any has a
// goroutine of its own, which sends what there is until there is none.
type replies struct {
	all     sync.WaitGroup
	mu      sync.Mutex
	waiting map[string]*pending
}

// pending are the receipts for one node: those for messages that were taken, and
// refusals, which go in parcels of their own because the other side keeps them
// as proof.
type pending struct{ taken, refused []receipt }

// reply sends receipts to a node, soon.
func (s *Supervisor) reply(ctx context.Context, node string, taken, refused []receipt) {
	r := &s.replies
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.waiting[node]
	if p == nil {
		p = &pending{}
		r.waiting[node] = p
		r.all.Go(func() { s.sendReplies(ctx, node, p) })
	}
	if len(p.taken) < maxPending {
		p.taken = append(p.taken, taken...)
	}
	if len(p.refused) < maxPending {
		p.refused = append(p.refused, refused...)
	}
}

// sendReplies sends what waits for a node until nothing does.
func (s *Supervisor) sendReplies(ctx context.Context, node string, p *pending) {
	for {
		receipts := s.replies.next(node, p)
		if receipts == nil {
			return
		}
		way, err := s.routeOf(ctx, node, 0)
		if err == nil && !way.local {
			err = s.push(ctx, way, parcel{Receipts: receipts})
		}
		if err != nil {
			s.log.Debug("receipts not sent; the messages come again", "node", node, "err", err)
		}
	}
}

// next takes what goes into the next parcel for a node; nil where nothing
// waits: then the node has no goroutine any more.
func (r *replies) next(node string, p *pending) []receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := &p.taken
	if len(*list) == 0 {
		list = &p.refused
	}
	if len(*list) == 0 {
		delete(r.waiting, node)
		return nil
	}
	n := min(len(*list), maxParcelItems)
	some := (*list)[:n]
	*list = (*list)[n:]
	return some
}
