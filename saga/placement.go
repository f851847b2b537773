package saga

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file has who serves which partition. Each worker says on the board, by
// a lease in space 0, that it is there and what it serves; all compute from
// that the same answer: of those who may, each partition goes to the one with
// the highest hash of both names. When a worker comes or goes, no partitions
// move but those that it wins, or had.

// Placement says what a worker serves.
type Placement struct {
	// Tenants are contexts by number or alias. None: all.
	Tenants []string `json:"tenants,omitzero"`
	// Sagas are names. None: all.
	Sagas []string `json:"sagas,omitzero"`
	// Partitions are numbers. None: all.
	Partitions []int `json:"partitions,omitzero"`
}

// serves reports whether a partition is among those; name is its tenant's.
func (p Placement) serves(s shardOf, name string) bool {
	return (len(p.Tenants) == 0 || slices.Contains(p.Tenants, name) || slices.Contains(p.Tenants, strconv.FormatUint(uint64(s.tenant), 10))) &&
		(len(p.Sagas) == 0 || slices.Contains(p.Sagas, s.saga)) &&
		(len(p.Partitions) == 0 || slices.Contains(p.Partitions, s.partition))
}

// Keys of placement, in space 0.
const (
	// memberPrefix begins the records of workers that are there.
	memberPrefix = "ramet:saga:worker:"
	memberServes = "serves" // JSON of its Placement
)

// member is a worker that is there.
type member struct {
	owner  string
	serves Placement
}

// members are the workers that are there now; gone is told of others that were.
func (e *Engine) members(ctx context.Context, gone func(key string, lease board.Lease, held bool)) ([]member, error) {
	var list []member
	for cursor := ""; ; {
		keys, next, err := e.board.Keys(ctx, 0, memberPrefix, cursor, 500)
		if err != nil {
			return nil, err
		}
		recs, err := board.Readable(e.board.Get(ctx, 0, keys...))
		if err != nil {
			return nil, err
		}
		for i, key := range keys {
			lease, held, err := e.board.LeaseOf(ctx, 0, key)
			if err != nil {
				return nil, err
			}
			if !held || lease.Over() {
				gone(key, lease, held)
				continue
			}
			m := member{owner: strings.TrimPrefix(key, memberPrefix)}
			if json.Unmarshal([]byte(recs[i].Get(memberServes)), &m.serves) == nil {
				list = append(list, m)
			}
		}
		if cursor = next; cursor == "" {
			return list, nil
		}
	}
}

// forget clears away what a worker left that has been gone for long.
func (w *Worker) forget(ctx context.Context, key string, lease board.Lease, held bool) {
	if held && time.Since(lease.Until) < time.Minute {
		return
	}
	b := board.Batch{}
	_ = w.e.board.Commit(ctx, *b.Free(key).Delete(key)) // somebody else will
}

// join says that this worker is there.
func (w *Worker) join(ctx context.Context) error {
	key := memberPrefix + w.cfg.Owner
	if _, err := w.e.board.Occupy(ctx, 0, key, w.cfg.Owner, w.cfg.Lease); err != nil {
		return err
	}
	w.joined = true
	// Others may have cleared it away: this worker was away for long.
	recs, err := w.e.board.Get(ctx, 0, key)
	if err != nil {
		return err
	}
	serves := plainJSON(w.placement())
	if recs[0].Get(memberServes) == serves {
		return nil
	}
	b := board.Batch{}
	return w.e.board.Commit(ctx, *b.Set(key, board.Field{Name: memberServes, Value: serves}))
}

// leave takes that back.
func (w *Worker) leave(ctx context.Context) {
	if !w.joined {
		return
	}
	b := board.Batch{}
	_ = w.e.board.Commit(ctx, *b.Delete(memberPrefix + w.cfg.Owner)) // or it runs out
	w.joined = false
}

// claim is a saga that is to be served, or one of its partitions.
type claim struct {
	shardOf
	name  string // its tenant's
	entry string // that the index has of it
}

// served are all sagas that are to be served.
func (e *Engine) served(ctx context.Context) ([]claim, error) {
	var list []claim
	for after := ""; ; {
		page, err := e.board.Members(ctx, 0, indexKey, after, 1000)
		if err != nil || len(page) == 0 {
			return list, err
		}
		for _, text := range page {
			if s, ok := parseIndexed(text); ok {
				list = append(list, claim{shardOf: s, entry: text})
			}
		}
		after = page[len(page)-1]
	}
}

// Unserved finds the sagas of a context of a board that no node serves, or not all
// partitions of them, and those whose gateway takes nothing, for a node that has no streams of its own.
func Unserved(ctx context.Context, b board.Board, names Names, tenant domain.TenantID) ([]domain.Finding, error) {
	found, _, err := New(b, nil, Config{Names: names}).unserved(ctx, tenant)
	return found, err
}

// unserved finds the sagas of a context of which a partition is nobody's: no worker is
// there that may have it, or none has come to have it; and those whose gateway takes nothing. Of the rest, and
// of these, it is not known why they are behind.
func (e *Engine) unserved(ctx context.Context, tenant domain.TenantID) (found []domain.Finding, rest []claim, err error) {
	all, err := e.served(ctx)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(all, func(c claim) bool { return c.tenant != tenant })
	if found, err = e.unlisted(ctx, tenant, all); err != nil || len(all) == 0 {
		return found, nil, err
	}
	name, err := e.cfg.Names.TenantName(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	there, err := e.members(ctx, func(string, board.Lease, bool) {})
	if err != nil {
		return nil, nil, err
	}
	short, cancel := context.WithTimeout(ctx, lagWithin)
	defer cancel()
	for _, c := range all {
		text, unseen := lacks(c.shardOf, name, there), ""
		if text == "" {
			text, unseen = e.unheld(short, c.shardOf, name)
		}
		if text != "" {
			found = append(found, domain.Finding{Key: "saga " + c.saga, Text: text})
			continue
		}
		for _, text := range []string{unseen, e.refusing(short, c.shardOf, name)} {
			if text != "" {
				found = append(found, domain.Finding{Key: "saga " + c.saga, Text: text})
			}
		}
		rest = append(rest, c)
	}
	return found, rest, nil
}

// unlisted finds the sagas of a context that are stored and not among those that are to be
// served: who applied them did not come to say so, or who deletes them to the end.
func (e *Engine) unlisted(ctx context.Context, tenant domain.TenantID, served []claim) (found []domain.Finding, err error) {
	for after := ""; ; {
		page, next, err := e.store.List(ctx, tenant, after, 200)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			// What is younger may be about to be.
			if e.board.Now().Sub(time.UnixMilli(s.UpdatedMs)) < auditAge || slices.ContainsFunc(served, func(c claim) bool { return c.saga == s.Name }) {
				continue
			}
			found = append(found, domain.Finding{Key: "saga " + s.Name, Text: "it is stored, and no node was told to serve it, so that its events wait: " +
				"whoever applied it, or was deleting it, did not come to the end; do that again"})
		}
		if after = next; after == "" {
			return found, nil
		}
	}
}

// Attended reports whether a worker of sagas is there, whatever it serves.
func Attended(ctx context.Context, b board.Board) (bool, error) {
	there, err := New(b, nil, Config{}).members(ctx, func(string, board.Lease, bool) {})
	return len(there) > 0, err
}

// lacks says of a saga who is not there to serve it; "" where each of its partitions has
// somebody.
func lacks(s shardOf, name string, there []member) string {
	var without []string
	for p := range s.of {
		if s.partition = p; best(s, name, there) == "" {
			without = append(without, strconv.Itoa(p))
		}
	}
	switch {
	case len(without) == 0:
		return ""
	case len(there) == 0:
		return "no node that is alive and on duty serves sagas, so that its events wait: start one with streams, or see `ramet duty show`"
	case len(without) == s.of:
		return "no node that is alive and on duty serves this saga, so that its events wait: see sagas.tenants and sagas.names in the config files"
	}
	return fmt.Sprintf("no node that is alive and on duty serves its %s, so that their events wait: see sagas.partitions in the config files",
		partitionsText(without, s.of))
}

// partitionsText names some partitions of a saga, whose numbers begin at 0: "1 of 2" would be half of them.
func partitionsText(numbers []string, of int) string {
	if of == 1 {
		return "one partition"
	}
	noun := "partition"
	if len(numbers) > 1 {
		noun = "partitions"
	}
	return fmt.Sprintf("%s %s (it has 0 to %d)", noun, strings.Join(numbers, ", "), of-1)
}

// best is who should hold a partition; "" when nobody may.
func best(s shardOf, name string, members []member) (owner string) {
	var most uint64
	text := s.String()
	for i := range members {
		m := &members[i]
		if !m.serves.serves(s, name) {
			continue
		}
		// FNV's high bits hardly differ for texts that end alike.
		if n := mix(fnv1a(fnv1a(fnvOffset, m.owner)*fnvPrime, text)); owner == "" || n > most || n == most && m.owner > owner {
			owner, most = m.owner, n
		}
	}
	return owner
}

// FNV-1a, as in hash/fnv, without turning texts into bytes: a worker may look at
// some ten thousand pairs every second.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

func fnv1a(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * fnvPrime
	}
	return h
}

// mix spreads what differs in a few bits over all (the finisher of SplitMix64).
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
