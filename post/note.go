package post

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// This file sends what remote jobs say to where they came from, while they run.
// It is a convenience: lines that get lost on the way come with the result, as
// far as that has room.

const (
	firstNote = time.Second // after a job was made
	nextNote  = time.Second // while it talks
	quietNote = 5 * time.Second
	// noteLines and noteBytes bound what one look sends.
	noteLines = 1000
	noteBytes = 256 << 10
	// maxNoteLine and maxNoteBytes bound what is kept of what comes: a line, and
	// all lines of a message.
	maxNoteLine  = 16 << 10
	maxNoteBytes = 1 << 20
	// tailLines bounds what a result brings of one job's log.
	tailLines = 1000
	tailBytes = 256 << 10
)

// sendNotes looks what the jobs of received messages have said since, and sends
// it.
func (s *Supervisor) sendNotes(ctx context.Context, claimed []board.Claimed) {
	together(len(claimed), abreast, func(i int) {
		c := &claimed[i]
		if err := s.sendNote(ctx, c); err != nil && !errors.Is(err, domain.ErrConflict) {
			s.log.Debug("log lines not sent; they come with the result", "item", c.Item, "err", err)
			s.letGo(ctx, c, nil)
		}
	})
}

func (s *Supervisor) sendNote(ctx context.Context, c *board.Claimed) error {
	key, ok := layout.ParseNotes(c.Item)
	if !ok {
		s.letGo(ctx, c, nil)
		return nil
	}
	b := s.heldBatch(c)
	m, rec, err := s.load(ctx, c.Space, key)
	if errors.Is(err, domain.ErrNotFound) || err == nil && (m.Final() || c.Record.Get(layout.NotesDone) != "") {
		b.Release(c.Item).Delete(c.Item)
		return s.board.Commit(ctx, b)
	} else if err != nil {
		return err
	}
	made, _ := layout.MadeOf(rec)
	lines, fields, err := s.news(ctx, m, made, c.Record)
	if err != nil {
		return err
	}
	next := quietNote
	if len(lines) > 0 {
		next = nextNote
		if err := s.pushNote(ctx, m, lines); err != nil {
			// The next look tries the same lines again.
			fields, next = nil, quietNote
		}
	}
	b.Equal(key.String(), layout.MessageStatus, rec.Get(layout.MessageStatus))
	if len(fields) > 0 {
		b.Set(c.Item, fields...)
	}
	b.Release(c.Item)
	b.SetAlarm(layout.MessageAlarm(layout.AlarmNotes, key), s.board.Now().Add(next))
	return s.board.Commit(ctx, b)
}

// news are the lines of a message's jobs that have not gone back yet, and the
// fields that say how far they have then.
func (s *Supervisor) news(ctx context.Context, m *domain.Message, made []layout.Made,
	noted board.Record) (lines []domain.Log, fields []board.Field, err error) {
	size := 0
	for _, d := range made {
		if d.Ours == 0 || d.Error != "" {
			continue
		}
		name := notedField(d.Ours)
		from, _ := strconv.Atoi(noted.Get(name))
		logs, err := s.cfg.Work.Logs(ctx, m.ContextID, domain.JobKey{Caller: m.CallerID, ID: d.Ours}, from, noteLines-len(lines))
		if err != nil {
			return nil, nil, err
		}
		n := 0
		for _, l := range logs {
			if size += len(l.Line) + 64; size > noteBytes {
				break
			}
			n++
			l.Job, l.N = d.Theirs, from+n
			lines = append(lines, l)
		}
		if n > 0 {
			fields = append(fields, board.Field{Name: name, Value: strconv.Itoa(from + n)})
		}
		if len(lines) >= noteLines || size > noteBytes {
			break
		}
	}
	return lines, fields, nil
}

// notedField is the field of a mark that says how many lines of a job have gone back.
func notedField(id domain.JobID) string { return "job" + strconv.FormatUint(uint64(id), 10) }

// pushNote sends lines to where a message came from.
func (s *Supervisor) pushNote(ctx context.Context, m *domain.Message, lines []domain.Log) error {
	n := note{Context: m.SrcContext, Key: m.Origin, Digest: identity.Digest(m), Lines: lines}
	way, err := s.routeOf(ctx, m.Node, 0)
	if err != nil {
		return err
	}
	if way.local {
		return s.takeNote(ctx, n)
	}
	return s.push(ctx, way, parcel{Notes: []note{n}})
}

// takeNotes keeps what jobs of ours have said elsewhere.
func (s *Supervisor) takeNotes(ctx context.Context, in parcel, d directory) error {
	for _, n := range in.Notes {
		key, err := domain.ParseMessageKey(n.Key)
		if err != nil {
			continue
		}
		m, _, err := s.load(ctx, space(n.Context), key)
		if passing(err) {
			return err
		} else if errors.Is(err, domain.ErrNotFound) {
			continue
		}
		if err != nil || m.Origin != "" || len(n.Lines) > noteLines || identity.Digest(m) != n.Digest || !d.same(m.DstNode, in.From) {
			s.dropParcel(causeForged, in.From, domain.Forbiddenf("log lines for %s, which was not sent there", n.Key))
			continue
		}
		if err := s.takeNote(ctx, n); passing(err) {
			return err
		}
	}
	return nil
}

// toldPrefix begins the fields of a message that say up to which line of a job
// its sender has them.
const toldPrefix = layout.MessageTold + "."

// takeNote appends lines to a message's log; those that are there are left out.
func (e *Engine) takeNote(ctx context.Context, n note) error {
	key, err := domain.ParseMessageKey(n.Key)
	if err != nil {
		return nil
	}
	for range storeTries {
		m, rec, err := e.load(ctx, space(n.Context), key)
		if errors.Is(err, domain.ErrNotFound) || err == nil && (m.Final() || m.MessageType != domain.MessageJob) {
			return nil
		} else if err != nil {
			return err
		}
		b := board.Batch{Space: space(n.Context)}
		b.Equal(n.Key, layout.MessageStatus, rec.Get(layout.MessageStatus))
		told := toldOf(rec)
		was := toldOf(rec)
		var items []string
		size, _ := strconv.Atoi(rec.Get(layout.MessageToldBytes))
		for _, l := range n.Lines {
			if l.N <= told[l.Job] || !has(m, l.Job) {
				continue
			}
			told[l.Job] = l.N
			l.Line = domain.CutText(l.Line, maxNoteLine)
			if size += len(l.Line); size > maxNoteBytes {
				break
			}
			items = append(items, layout.EncodeLog(l))
		}
		if len(items) == 0 {
			return nil
		}
		for job, upTo := range told {
			name := toldPrefix + strconv.FormatUint(uint64(job), 10)
			if was[job] != upTo {
				b.Equal(n.Key, name, rec.Get(name)).Set(n.Key, board.Field{Name: name, Value: strconv.Itoa(upTo)})
			}
		}
		b.Set(n.Key, board.Field{Name: layout.MessageToldBytes, Value: strconv.Itoa(size)})
		b.Append(layout.MessageLog(key), domain.MaxMessageLogs, items...)
		if err := e.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	return nil
}

// has reports whether a job is one of the message's.
func has(m *domain.Message, id domain.JobID) bool {
	for i := range m.Job {
		if m.Job[i].ID == id {
			return true
		}
	}
	return false
}

func toldOf(rec board.Record) map[domain.JobID]int {
	told := map[domain.JobID]int{}
	for _, f := range rec {
		id, found := strings.CutPrefix(f.Name, toldPrefix)
		job, err := strconv.ParseUint(id, 10, 32)
		if n, errN := strconv.Atoi(f.Value); found && err == nil && errN == nil {
			told[domain.JobID(job)] = n
		}
	}
	return told
}

// tailOf is the end of what the jobs of a message have said.
func (s *Supervisor) tailOf(ctx context.Context, m *domain.Message, made []layout.Made) (domain.List[domain.Log], error) {
	var tail domain.List[domain.Log]
	room := tailBytes
	for _, d := range made {
		if d.Ours == 0 || d.Error != "" {
			continue
		}
		key := domain.JobKey{Caller: m.CallerID, ID: d.Ours}
		length, err := s.board.Len(ctx, space(m.ContextID), layout.Logs(key))
		if err != nil {
			return nil, err
		}
		if length[0] == 0 {
			continue
		}
		from := max(0, length[0]-tailLines)
		logs, err := s.cfg.Work.Logs(ctx, m.ContextID, key, from, tailLines)
		if err != nil {
			return nil, err
		}
		for i := range logs {
			logs[i].Job, logs[i].N = d.Theirs, from+i+1
		}
		for len(logs) > 0 && sizeOf(logs) > room {
			logs = logs[len(logs)/2+1:]
		}
		room -= sizeOf(logs)
		tail = append(tail, logs...)
	}
	return tail, nil
}

func sizeOf(logs []domain.Log) int {
	n := 0
	for _, l := range logs {
		n += len(l.Line) + 96
	}
	return n
}

// allLogs is what is known of the log of a message's jobs: what came while they
// ran, and of the result's tail what did not, for notes get lost and overtake
// each other. Each job's lines stand in their order, those of different jobs by
// their time.
func (e *Engine) allLogs(ctx context.Context, tenant domain.TenantID, key domain.MessageKey, tail []domain.Log) ([]domain.Log, error) {
	logs, err := e.Logs(ctx, tenant, key)
	if err != nil {
		return nil, err
	}
	// The tail first: a node that died may have said other lines under a number.
	logs = merged(append(slices.Clone(tail), logs...))
	logs = logs[max(0, len(logs)-domain.MaxMessageLogs):]
	for len(logs) > 0 && sizeOf(logs) > board.MaxField/2 {
		logs = logs[len(logs)/2+1:]
	}
	return logs, nil
}

// merged puts lines in order and leaves out what is there twice.
func merged(logs []domain.Log) []domain.Log {
	slices.SortStableFunc(logs, func(a, b domain.Log) int { return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.N, b.N)) })
	logs = slices.CompactFunc(logs, func(a, b domain.Log) bool { return a.Job == b.Job && a.N == b.N })
	// Attempts of a job may have run by clocks that differ: no line counts as
	// earlier than the one before it.
	type timed struct {
		domain.Log
		atMs int64
	}
	list := make([]timed, len(logs))
	for i, l := range logs {
		list[i] = timed{l, l.AtMs}
		if i > 0 && l.Job == logs[i-1].Job {
			list[i].atMs = max(l.AtMs, list[i-1].atMs)
		}
	}
	slices.SortStableFunc(list, func(a, b timed) int { return cmp.Compare(a.atMs, b.atMs) })
	for i, l := range list {
		logs[i] = l.Log
	}
	return logs
}

// Logs reads what the jobs of a message have said so far, where they run.
func (e *Engine) Logs(ctx context.Context, tenant domain.TenantID, key domain.MessageKey) ([]domain.Log, error) {
	items, err := e.board.List(ctx, space(tenant), layout.MessageLog(key), 0, domain.MaxMessageLogs)
	if err != nil {
		return nil, err
	}
	logs := make([]domain.Log, 0, len(items))
	for _, it := range items {
		var l domain.Log
		if json.Unmarshal([]byte(it), &l) == nil {
			logs = append(logs, l)
		}
	}
	return logs, nil
}
