package memstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// window is how long the ID of a message is remembered.
const window = 2 * time.Minute

// store is one stream: its messages, and who reads them.
type store struct {
	name     domain.StreamName
	created  time.Time
	messages []stream.Message // by sequence
	last     uint64
	bytes    uint64

	ids    map[string]bool
	recent []seen // oldest first

	readers map[string]*reader // who has it, by durable
	queues  map[string]*queue
}

// seen is an ID that is remembered.
type seen struct {
	id string
	at time.Time
}

func newStore(name domain.StreamName) *store {
	return &store{name: name, created: time.Now(), ids: map[string]bool{}, readers: map[string]*reader{}, queues: map[string]*queue{}}
}

// put stores a message, unless its ID was seen lately.
func (s *store) put(m stream.Message, now time.Time) {
	for len(s.recent) > 0 && now.Sub(s.recent[0].at) >= window {
		delete(s.ids, s.recent[0].id)
		s.recent = s.recent[1:]
	}
	if m.ID != "" {
		if s.ids[m.ID] {
			return
		}
		s.ids[m.ID] = true
		s.recent = append(s.recent, seen{m.ID, now})
	}
	s.last++
	m = clone(m)
	m.Seq, m.Time = s.last, now
	s.messages = append(s.messages, m)
	s.bytes += size(m)
}

func (s *store) putTrouble(t stream.Trouble, now time.Time) {
	data, err := json.Marshal(t)
	if err != nil {
		panic(fmt.Sprintf("BUG: trouble %+v: %v", t, err))
	}
	s.put(stream.Message{Stream: domain.WorkflowTroubles, Subject: fmt.Sprintf("trouble.%s.%s", t.Stream, t.Consumer), Data: data}, now)
}

// from returns what there is from a sequence on.
func (s *store) from(seq uint64) []stream.Message {
	i := sort.Search(len(s.messages), func(i int) bool { return s.messages[i].Seq >= seq })
	return s.messages[i:]
}

// get returns one message, if it is still there.
func (s *store) get(seq uint64) (stream.Message, bool) {
	if rest := s.from(seq); len(rest) > 0 && rest[0].Seq == seq {
		return clone(rest[0]), true
	}
	return stream.Message{}, false
}

// count is how many match from a sequence on.
func (s *store) count(filters []string, from uint64) (n uint64) {
	for _, m := range s.from(from) {
		if stream.Matches(filters, m.Subject) {
			n++
		}
	}
	return n
}

func (s *store) trim(subject string, seq uint64) {
	kept := make([]stream.Message, 0, len(s.messages))
	for _, m := range s.messages {
		if m.Seq <= seq && (subject == "" || stream.Match(subject, m.Subject)) {
			s.bytes -= size(m)
		} else {
			kept = append(kept, m)
		}
	}
	s.messages = kept
	for _, q := range s.queues {
		q.forget()
	}
}

func (s *store) stats() stream.Stats {
	st := stream.Stats{
		First: s.last + 1, Last: s.last, Messages: uint64(len(s.messages)), Bytes: s.bytes,
		Replicas: 1, Subjects: s.name.Subjects(), Created: s.created,
	}
	if len(s.messages) > 0 {
		st.First = s.messages[0].Seq
	}
	return st
}

// expire ends the holds whose time is over, and tells what was given up.
func (s *store) expire(now time.Time) (troubles []stream.Trouble) {
	for _, durable := range slices.Sorted(maps.Keys(s.queues)) {
		troubles = append(troubles, s.queues[durable].expire(now)...)
	}
	return troubles
}

func size(m stream.Message) uint64 {
	n := len(m.Subject) + len(m.ID) + len(m.Data)
	for k, v := range m.Header {
		n += len(k) + len(v)
	}
	return uint64(n)
}

// clone is a copy that its owner may write to.
func clone(m stream.Message) stream.Message {
	m.Header, m.Data = maps.Clone(m.Header), bytes.Clone(m.Data)
	return m
}
