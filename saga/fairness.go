package saga

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// This file has what keeps one instance with very many events from delaying the
// others of its partition. Of each round an instance has a share. Events that are
// over it are put aside: the partition reads on, and deals with them beside what
// it reads, a share in each round, and all that fits where nothing else is there.
// An instance of which something is put aside has all its later events put aside
// too, so that its order holds, until the last of them was dealt with.
//
// What is put aside stays where it is, in the stream: it is read from there a
// second time. Only how many there are of which instance is written down, beside
// the position and in the same commit.

const (
	// asideMost is of how many instances a partition puts events aside; those of
	// others are dealt with as they come.
	asideMost = 32
	// keptBytes is how large the messages that were put aside may be together which are
	// kept in memory, with keptEach for what is beside the data of each: those need
	// not be read again.
	keptBytes, keptEach = 8 << 20, 1 << 10
	// lateEvery is after how many new messages those that were put aside have their turn
	// though there are more, and lateShares how many shares that is. Rounds in which all
	// is put aside change nothing on the board: others are come to without a commit.
	lateEvery, lateShares = 8 * roundMost, 8
)

// progress is how far a partition has come in a stream. It is a value: what is
// made of one leaves it as it was.
type progress struct {
	back  uint64 // up to here all was dealt with
	front uint64 // up to here all was dealt with but for what was put aside
	aside map[string]aside
}

// aside is what was put aside of one instance.
type aside struct {
	From uint64 `json:"from"` // the first of them
	N    int    `json:"n"`    // how many wait
}

// upTo is up to where all events of an instance were dealt with, and none
// behind it. "" is no instance.
func (p progress) upTo(id string) uint64 {
	if a, there := p.aside[id]; there {
		return max(p.back, a.From-1)
	}
	return p.front
}

// waiting is how many events were put aside.
func (p progress) waiting() (n int) {
	for _, a := range p.aside {
		n += a.N
	}
	return n
}

// past is the progress behind a message that was read for the first time.
func (p progress) past(seq uint64) progress {
	if p.front = seq; len(p.aside) == 0 {
		p.back, p.aside = seq, nil
	}
	return p
}

// put is the same where the message was put aside.
func (p progress) put(id string, seq uint64) progress {
	all := maps.Clone(p.aside)
	if all == nil {
		all = map[string]aside{}
	}
	a := all[id]
	if a.N++; a.N == 1 {
		a.From = seq
	}
	all[id] = a
	return progress{back: p.back, front: seq, aside: all}
}

// took is the progress behind a message that had been put aside.
func (p progress) took(id string, seq uint64) progress {
	all := maps.Clone(p.aside)
	a := all[id]
	if a.N--; a.N > 0 {
		all[id] = a
	} else {
		delete(all, id)
	}
	return progress{back: seq, front: p.front, aside: all}.past(p.front)
}

// with is the progress behind a message that was dealt with.
func (p progress) with(t *pending) progress {
	switch {
	case !t.late:
		return p.past(t.seq)
	case t.correlation != "":
		return p.took(t.correlation, t.seq)
	case len(p.aside) > 0:
		p.back = t.seq
	}
	return p
}

// written is how it is written down.
func (p progress) written() written {
	w := written{position: sequence(p.back)}
	if len(p.aside) > 0 {
		w.aside = plainJSON(asideText{p.front, p.aside})
	}
	return w
}

type asideText struct {
	Front uint64           `json:"front"`
	Aside map[string]aside `json:"aside"`
}

// parseProgress reads a position and what is written beside it.
func parseProgress(back uint64, text string) progress {
	var t asideText
	// What cannot be read nobody of us wrote. Marks tell what was dealt with.
	if text == "" || json.Unmarshal([]byte(text), &t) != nil || t.Front < back || len(t.Aside) == 0 {
		return progress{back: back, front: back}
	}
	return progress{back: back, front: t.Front, aside: t.Aside}
}

// isAside says what is put aside of the messages that a round has read for the
// first time, and forgets of those that had been which are of others.
func (r *round) isAside(t *pending) bool {
	at := t.from.seen
	if t.late {
		if a, there := at.aside[t.correlation]; !there || t.seq < a.From {
			t.correlation, t.bad, t.mine = "", nil, false // it was dealt with at its time
		}
		return false
	}
	if t.correlation == "" {
		return false
	}
	of := asideOf{t.from, t.correlation}
	_, before := at.aside[t.correlation]
	if before || r.over[of] {
		return true
	}
	if r.s.catching {
		return false // what is put aside is out of order
	}
	if r.had[of]++; r.had[of] <= r.s.e.cfg.Share || len(at.aside)+r.more[t.from] >= asideMost {
		return false
	}
	r.over[of] = true
	r.more[t.from]++
	return true
}

// asideOf is an instance, for a stream.
type asideOf struct {
	from *source
	id   string
}

// keep has a message that is put aside at hand, if all are that were before it. at
// is the progress up to there.
func (src *source) keep(t *pending, at progress) {
	switch {
	case t.seq <= src.keptTo || src.keptTo < at.front && len(at.aside) > 0:
		return
	case t.aside && src.keptSize+t.size() > keptBytes:
		return
	case t.aside:
		src.keepPending(*t)
	}
	src.keptTo = t.seq
}

func (t *pending) size() int { return len(t.m.Data) + keptEach }

func (src *source) keepPending(t pending) {
	t.late = true
	src.kept, src.keptSize = append(src.kept, t), src.keptSize+t.size()
}

// forget lets go of messages at hand that were dealt with: behind the last one that was
// put aside there may be others, which were read with it.
func (src *source) forget() {
	n := 0
	for n < len(src.kept) && src.kept[n].seq <= src.seen.back {
		src.keptSize -= src.kept[n].size()
		n++
	}
	clear(src.kept[:n])
	src.kept = src.kept[n:]
}

// putAside reports whether something was.
func (s *shard) putAside() bool {
	return slices.ContainsFunc(s.sources, func(src *source) bool { return len(src.seen.aside) > 0 })
}

// late takes up to most of the messages that were put aside, of each stream. ready is
// whether all can be had now.
func (s *shard) late(ctx context.Context, most int) (todo []pending, ready bool, err error) {
	ready = true
	for _, src := range s.sources {
		if len(src.seen.aside) == 0 {
			continue
		}
		if len(src.kept) == 0 {
			list, err := s.e.log.Scan(ctx, src.name, src.subjects, src.seen.back+1, stream.MaxFetch)
			if err != nil && !errors.Is(err, domain.ErrUnavailable) {
				return nil, false, err
			}
			if err != nil {
				s.e.text.Warn("events that were put aside cannot be read; it is tried again", "context", uint32(s.tenant), "saga", s.saga,
					"partition", s.partition, "stream", src.name, "err", err)
				ready = false
				continue
			}
			if src.hold(list); len(src.kept) == 0 {
				s.e.text.Warn("events that were put aside are in their stream no more", "context", uint32(s.tenant), "saga", s.saga,
					"partition", s.partition, "stream", src.name, "events", src.seen.waiting())
				src.seen = progress{back: src.seen.front, front: src.seen.front}
				continue
			}
		}
		n := min(most, len(src.kept))
		for i := range src.kept[:n] {
			src.keptSize -= src.kept[i].size()
		}
		todo = append(todo, src.kept[:n]...)
		clear(src.kept[:n])
		src.kept = src.kept[n:]
	}
	return todo, ready, nil
}

// hold keeps messages that were read again, up to where new ones begin.
func (src *source) hold(list []stream.Message) {
	src.keptTo = src.seen.front
	if len(list) == stream.MaxFetch {
		src.keptTo = min(src.keptTo, list[len(list)-1].Seq)
	}
	for i := range list {
		if list[i].Seq > src.keptTo {
			break
		}
		src.keepPending(pending{from: src, m: list[i], seq: list[i].Seq})
	}
}
