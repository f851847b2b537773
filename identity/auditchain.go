package identity

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file writes the chains of the audit log: each line has a number and the hash of the
// one before, and the last line of each commit is signed by the node, for all before it.
// The head of a chain is a record beside its list, which every commit of it guards and
// moves on; docs/decisions/0043 says why there is one chain for a list of a context and
// not one for each node.

const (
	// chainTries bounds how often a commit is made again because another node has written
	// a line in between.
	chainTries = 100
	// chainLocks is into how many groups spaces fall of which one commit is made at a time:
	// the commits of one process need not fail on each other.
	chainLocks = 64
	// chainSlack is how many lines a list may have over its limit before it is cut: a cut is
	// a commit of its own.
	chainSlack = 512
	// chainCut bounds the lines of one cut.
	chainCut = 1000
)

// chains are what a process needs to write them.
type chains struct {
	key     Key // the zero key signs nothing
	keep    AuditKeep
	writing [chainLocks]sync.Mutex

	mu    sync.Mutex
	known map[chainName]int64 // the last number that this process knows of
}

// chainName is where a chain lies.
type chainName struct {
	space board.Space
	list  string
}

// knownMost bounds of how many chains a process remembers the last number.
const knownMost = 10_000

// AuditKeep says how much of each list of the audit log stays.
type AuditKeep struct {
	// Most is how many lines. Default: [layout.AuditMost].
	Most int
	// For is for how long. Default: for ever, as far as Most allows.
	For time.Duration
}

// SetAuditKeep says how much of the audit logs stays, before the node is at work.
func (r *Registry) SetAuditKeep(k AuditKeep) { r.chains.keep = k }

func (k AuditKeep) most() int {
	if k.Most > 0 {
		return k.Most
	}
	return layout.AuditMost
}

// commit commits a batch with the lines of its entries.
//
// Errors: those of the board; a guard that failed is one of the batch.
func (d *directory) commit(ctx context.Context, b noted) error {
	if len(b.entries) == 0 {
		return d.board.Commit(ctx, b.Batch)
	}
	lock := &d.chains.writing[b.Space%chainLocks]
	lock.Lock()
	defer lock.Unlock()
	for range chainTries {
		batch, heads, err := d.chained(ctx, b)
		if err != nil {
			return err
		}
		err = d.board.Commit(ctx, batch)
		if failed := (*board.GuardError)(nil); errors.As(err, &failed) && failed.Index >= len(b.Guards) {
			continue // another node has written a line
		}
		if err != nil {
			return err
		}
		for name, to := range heads {
			d.chains.note(name, to.seq)
			if to.seq/chainSlack != to.from/chainSlack {
				// Best effort: it is tried again with one of the next lines, and now and then anyway.
				_ = d.trim(ctx, name, d.board.Now())
			}
		}
		return nil
	}
	return domain.Unavailablef("the audit log of context %d is written by others all the time; try again", b.Space)
}

// stretch is from where to where a commit goes on with a chain.
type stretch struct{ from, seq int64 }

// chained is the batch with its lines, and guards behind its own that the chains are as
// they were read.
func (d *directory) chained(ctx context.Context, b noted) (board.Batch, map[chainName]stretch, error) {
	batch := b.Batch
	batch.Guards, batch.Ops = slices.Clone(b.Guards), slices.Clone(b.Ops)
	heads := map[chainName]stretch{}
	for _, list := range layout.AuditLists {
		entries := slices.DeleteFunc(slices.Clone(b.entries), func(e domain.AuditEntry) bool { return layout.AuditLogList(e.Outcome) != list })
		if len(entries) == 0 {
			continue
		}
		name := chainName{b.Space, list}
		head, err := d.head(ctx, name)
		if err != nil {
			return batch, nil, err
		}
		if lost, is := d.chains.lost(name, head.Seq); is {
			entries = slices.Insert(entries, 0, lostEntry(entries[0], lost, head.Seq))
		}
		was := head
		lines, err := d.chains.lines(name, &head, entries)
		if err != nil {
			return batch, nil, err
		}
		guardHead(&batch, list, was)
		batch.Append(list, layout.AuditRoom, lines...).Set(layout.AuditHead(list), layout.EncodeAuditHead(head)...)
		heads[name] = stretch{was.Seq, head.Seq}
	}
	return batch, heads, nil
}

// guardHead lets a batch fail where a chain has gone on, or was cut.
func guardHead(b *board.Batch, list string, was domain.AuditHead) {
	text := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	key := layout.AuditHead(list)
	if was.Seq == 0 && was.Dropped == 0 {
		b.Absent(key)
		return
	}
	seq := strconv.FormatInt(was.Seq, 10) // it is 0 where only lines of before the chain were cut
	b.Equal(key, layout.AuditHeadSeq, seq).Equal(key, layout.AuditHeadDropped, text(was.Dropped))
}

func (d *directory) head(ctx context.Context, name chainName) (domain.AuditHead, error) {
	recs, err := d.board.Get(ctx, name.space, layout.AuditHead(name.list))
	if err != nil {
		return domain.AuditHead{}, err
	}
	return layout.DecodeAuditHead(name.list, recs[0])
}

// lines writes entries as lines of a chain, moves its head on, and signs the last.
func (c *chains) lines(name chainName, head *domain.AuditHead, entries []domain.AuditEntry) ([]string, error) {
	lines := make([]string, len(entries))
	for i, e := range entries {
		e = e.Cut()
		e.Seq = head.Seq + 1
		l := layout.AuditLine{AuditEntry: e, Prev: head.Hash}
		if i == len(entries)-1 {
			if err := c.sign(name, &l); err != nil {
				return nil, err
			}
		}
		lines[i] = layout.EncodeAuditLine(l)
		head.Seq, head.Hash = e.Seq, layout.AuditHash(lines[i])
	}
	return lines, nil
}

// canSign is whether there is a key.
func (c *chains) canSign() bool { return c.key.private != nil }

func (c *chains) sign(name chainName, l *layout.AuditLine) error {
	if !c.canSign() {
		return nil
	}
	l.Key = c.key.Pubkey()
	sig, err := sign(c.key.private, aLine, lineBody(name, *l))
	l.Signature = hex.EncodeToString(sig)
	return err
}

// lineBody is what is signed of a line: where it lies, and all of it but the signature.
func lineBody(name chainName, l layout.AuditLine) []byte {
	l.Signature = ""
	return fmt.Appendf(nil, "%d %s\n%s", name.space, name.list, layout.EncodeAuditLine(l))
}

func anchorBody(name chainName, a domain.AuditAnchor) []byte {
	a.Signature = ""
	text, _ := json.Marshal(a) // numbers and texts can always be written
	return fmt.Appendf(nil, "%d %s\n%s", name.space, name.list, text)
}

// note remembers the last number of a chain.
func (c *chains) note(name chainName, seq int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= knownMost || c.known == nil {
		c.known = map[chainName]int64{}
	}
	c.known[name] = seq
}

// lost says up to which line a chain had come, as far as this process knows, where it is
// not that far any more.
func (c *chains) lost(name chainName, seq int64) (known int64, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known = c.known[name]
	return known, known > seq
}

// lostEntry says in a chain that its end was taken away: by somebody, or by a store that
// has lost what it had acknowledged.
func lostEntry(like domain.AuditEntry, known, now int64) domain.AuditEntry {
	return domain.AuditEntry{AtMs: like.AtMs, Verb: "lose", Object: "audit log", Context: like.Context, Outcome: like.Outcome, Node: like.Node,
		Detail: fmt.Sprintf("this node has seen line %d, and line %d is the last now: what was behind it is gone", known, now)}
}

// TrimAuditLog cuts old lines of a context's audit log, or where tenant is 0 of the node's,
// as far as there are too many or they are too old, and signs for the last one.
func (r *Registry) TrimAuditLog(ctx context.Context, tenant domain.TenantID) error {
	space := layout.SpaceOf(tenant)
	lock := &r.chains.writing[space%chainLocks]
	lock.Lock()
	defer lock.Unlock()
	for _, list := range layout.AuditLists {
		if err := r.trim(ctx, chainName{space, list}, r.board.Now()); err != nil {
			return err
		}
	}
	return nil
}

// trim cuts one list until it is as it should be.
func (d *directory) trim(ctx context.Context, name chainName, now time.Time) error {
	for ctx.Err() == nil {
		more, err := d.cut(ctx, name, now)
		if errors.Is(err, domain.ErrConflict) {
			continue // another node has written a line, or cuts too
		}
		if err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

// cut takes the oldest lines away, and reports whether there may be more to take.
func (d *directory) cut(ctx context.Context, name chainName, now time.Time) (more bool, err error) {
	head, err := d.head(ctx, name)
	if err != nil {
		return false, err
	}
	lens, err := d.board.Len(ctx, name.space, name.list)
	if err != nil || lens[0] == 0 {
		return false, err
	}
	over := lens[0] - d.chains.keep.most()
	if over <= 0 && d.chains.keep.For <= 0 {
		return false, nil
	}
	lines, err := d.board.List(ctx, name.space, name.list, 0, chainCut)
	if err != nil {
		return false, err
	}
	n := d.chains.keep.old(lines, over, now)
	if n == 0 {
		return false, nil
	}
	was := head
	head.Dropped += int64(n)
	for _, line := range slices.Backward(lines[:n]) {
		if l, ok := layout.DecodeAuditLine(line); ok && l.Seq > 0 {
			head.Anchor, err = d.anchor(name, l.Seq, line, now)
			break
		}
	}
	if err != nil {
		return false, err
	}
	b := board.Batch{Space: name.space}
	guardHead(&b, name.list, was)
	b.TrimLeft(name.list, n).Set(layout.AuditHead(name.list), layout.EncodeAuditHead(head)...)
	return n == len(lines), d.board.Commit(ctx, b)
}

// old is how many of the first lines of a list are too many or too old. Lines of several
// nodes are not quite in the order of their times: the first that is young ends it.
func (k AuditKeep) old(lines []string, over int, now time.Time) (n int) {
	for n < len(lines) {
		if n >= over {
			if k.For <= 0 {
				break
			}
			e, ok := layout.DecodeAuditEntry(lines[n])
			if ok && now.Sub(time.UnixMilli(e.AtMs)) < k.For {
				break
			}
		}
		n++
	}
	return n
}

// anchor signs that all up to a line was cut.
func (d *directory) anchor(name chainName, seq int64, line string, now time.Time) (*domain.AuditAnchor, error) {
	a := domain.AuditAnchor{Seq: seq, Hash: layout.AuditHash(line), AtMs: now.UnixMilli(), Node: d.node}
	if !d.chains.canSign() {
		return &a, nil
	}
	a.Key = d.chains.key.Pubkey()
	sig, err := sign(d.chains.key.private, anAnchor, anchorBody(name, a))
	a.Signature = hex.EncodeToString(sig)
	return &a, err
}
