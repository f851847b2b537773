package resp

import (
	"slices"

	"github.com/ramet-run/ramet/board"
)

// listLeaf is what a sheet knows of a list: windows of what lies on the board
// at both ends, how much of it is taken there, and what was pushed on top.
//
//	lefts (last first) | taken .. the board's items .. taken | rights
type listLeaf struct {
	n           int      // items on the board; -1: unknown
	left, right []string // the board's items that are known, counted from each end
	tookLeft    int
	tookRight   int
	lefts       []string // pushed on the left: the last is leftmost
	rights      []string // pushed on the right: the last is rightmost
}

// listOf is the leaf of a key that must be a list or nothing.
func (s *sheet) listOf(key string) (*leaf, error) {
	l, err := s.as(key, board.KindList)
	if err != nil {
		return nil, err
	}
	if l.list == nil {
		l.list = &listLeaf{n: -1}
		if l.gone {
			l.list.n = 0
		}
	}
	return l, nil
}

// size reads how many items the board has.
func (s *sheet) size(l *leaf) (int, error) {
	t := l.list
	if t.n >= 0 {
		return t.n, nil
	}
	s.one[0] = l.key
	ns, err := s.board.Len(s.ctx, s.space(), s.one[:]...)
	if err != nil {
		return 0, wrongKind(err)
	}
	s.learnSize(l, ns[0])
	return t.n, nil
}

func (s *sheet) learnSize(l *leaf, n int) {
	l.list.n = n
	if n > 0 && l.kind == "" {
		l.kind = board.KindList
	}
	if s.strict {
		s.batch.Length(l.key, n)
	}
}

// length is how many items the list has.
func (s *sheet) length(l *leaf) (int, error) {
	if l.list == nil {
		if l.gone {
			return 0, nil
		}
		l.list = &listLeaf{n: -1}
	}
	n, err := s.size(l)
	t := l.list
	return n - t.tookLeft - t.tookRight + len(t.lefts) + len(t.rights), err
}

// pinLength guards that the board's list is as long as was seen.
func (s *sheet) pinLength(l *leaf) {
	if !l.gone && !s.strict {
		s.batch.Length(l.key, l.list.n)
	}
}

// pinEmpty guards that the board's list has no more than was taken of it.
func (s *sheet) pinEmpty(l *leaf) error {
	if _, err := s.size(l); err != nil {
		return err
	}
	s.pinLength(l)
	return nil
}

// push puts items on one end.
func (s *sheet) push(l *leaf, left bool, items ...string) {
	for _, it := range items {
		s.bytes += len(it)
	}
	kind := board.OpPushRight
	if left {
		kind = board.OpPushLeft
		l.list.lefts = append(l.list.lefts, items...)
	} else {
		l.list.rights = append(l.list.rights, items...)
	}
	l.kind = board.KindList
	if n := len(s.pushed); n == 0 || s.pushed[n-1] != l.key {
		s.pushed = append(s.pushed, l.key)
	}
	if o := s.lastOp(kind, l.key); o != nil {
		o.Items = append(o.Items, items...)
		return
	}
	s.room()
	s.batch.Ops = append(s.batch.Ops, board.Op{Kind: kind, Key: l.key, Items: items})
}

// lastOp is the operation added last, if it is of this kind and on this key.
func (s *sheet) lastOp(kind board.OpKind, key string) *board.Op {
	if n := len(s.batch.Ops); n > 0 && s.batch.Ops[n-1].Kind == kind && s.batch.Ops[n-1].Key == key {
		return &s.batch.Ops[n-1]
	}
	return nil
}

// first is the item at one end.
func (s *sheet) first(l *leaf, left bool) (item string, there bool, err error) {
	t := l.list
	mine, theirs := t.rights, t.lefts
	if left {
		mine, theirs = t.lefts, t.rights
	}
	if len(mine) > 0 {
		return mine[len(mine)-1], true, nil
	}
	item, there, err = s.baseFirst(l, left)
	if there || err != nil || len(theirs) == 0 {
		return item, there, err
	}
	return theirs[0], true, nil
}

// baseFirst is the board's item at one end that is not taken yet.
func (s *sheet) baseFirst(l *leaf, left bool) (item string, there bool, err error) {
	t := l.list
	took, window := t.tookRight, &t.right
	if left {
		took, window = t.tookLeft, &t.left
	}
	if t.tookLeft > 0 && t.tookRight > 0 || t.n >= 0 || t.tookLeft+t.tookRight > took {
		// Taken from the other end too: the windows may meet.
		n, err := s.size(l)
		if err != nil || t.tookLeft+t.tookRight >= n {
			return "", false, err
		}
	}
	if took < len(*window) {
		return (*window)[took], true, nil
	}
	if err := s.widen(l, left, took+1); err != nil {
		return "", false, err
	}
	if took < len(*window) {
		return (*window)[took], true, nil
	}
	return "", false, nil
}

// widen reads at least n items of one end, and more where it goes on.
func (s *sheet) widen(l *leaf, left bool, n int) error {
	t := l.list
	want := n
	if n > 1 {
		want = n + min(3*n, itemsAtOnce) // all is read again: one more each time would be the square
	}
	if left {
		items, err := s.board.List(s.ctx, s.space(), l.key, 0, want)
		if err != nil {
			return wrongKind(err)
		}
		t.left = items
		s.short(l, len(items), want)
		return nil
	}
	items, err := s.board.List(s.ctx, s.space(), l.key, -want, want)
	if err != nil {
		return wrongKind(err)
	}
	slices.Reverse(items)
	t.right = items
	s.short(l, len(items), want)
	return nil
}

// short learns the length of a list that has less than was asked for.
func (s *sheet) short(l *leaf, got, want int) {
	if got > 0 && l.kind == "" {
		l.kind = board.KindList
	}
	if got < want && l.list.n < 0 {
		s.learnSize(l, got)
	}
}

// take takes the item at one end away, guarded to be the one that was seen.
func (s *sheet) take(l *leaf, left bool) (item string, there bool, err error) {
	item, there, err = s.first(l, left)
	if !there || err != nil {
		return "", false, err
	}
	t := l.list
	mine, theirs := &t.rights, &t.lefts
	kind := board.OpTrimRight
	if left {
		mine, theirs = theirs, mine
		kind = board.OpTrimLeft
	}
	base, err := s.baseLeft(l, left)
	switch {
	case err != nil:
		return "", false, err
	case len(*mine) > 0:
		*mine = (*mine)[:len(*mine)-1]
	case base && left:
		s.batch.ItemAt(l.key, t.tookLeft, item)
		t.tookLeft++
	case base:
		s.batch.ItemAt(l.key, -1-t.tookRight, item)
		t.tookRight++
	default:
		// Pushed on the other end of a list that has nothing else, as seen.
		if err := s.pinEmpty(l); err != nil {
			return "", false, err
		}
		*theirs = (*theirs)[1:]
	}
	s.trim(l, kind, 1)
	return item, true, nil
}

// baseLeft reports whether the board's own items are next at that end.
func (s *sheet) baseLeft(l *leaf, left bool) (bool, error) {
	mine := l.list.rights
	if left {
		mine = l.list.lefts
	}
	if len(mine) > 0 {
		return false, nil
	}
	_, there, err := s.baseFirst(l, left)
	return there, err
}

// trim adds the operation that takes n items off one end.
func (s *sheet) trim(l *leaf, kind board.OpKind, n int) {
	if o := s.lastOp(kind, l.key); o != nil {
		o.N += int64(n)
		return
	}
	s.batch.Ops = append(s.batch.Ops, board.Op{Kind: kind, Key: l.key, N: int64(n)})
}

// drop takes n items off one end without looking at them. The length is known
// and guarded.
func (s *sheet) drop(l *leaf, left bool, n int) {
	if n == 0 {
		return
	}
	t := l.list
	mine, theirs, took := &t.rights, &t.lefts, &t.tookRight
	kind := board.OpTrimRight
	if left {
		mine, theirs, took = &t.lefts, &t.rights, &t.tookLeft
		kind = board.OpTrimLeft
	}
	s.trim(l, kind, n)
	k := min(n, len(*mine))
	*mine = (*mine)[:len(*mine)-k]
	n -= k
	k = min(n, t.n-t.tookLeft-t.tookRight)
	*took += k
	n -= k
	*theirs = (*theirs)[n:]
}

// items reads the items from index from on, n of them at the most, which must
// be in range.
func (s *sheet) items(l *leaf, from, n int) ([]string, error) {
	t := l.list
	out := make([]string, 0, min(n, 1024))
	for i := from; i < from+n && i < len(t.lefts); i++ {
		out = append(out, t.lefts[len(t.lefts)-1-i])
	}
	base, err := s.size(l)
	if err != nil {
		return nil, err
	}
	base -= t.tookLeft + t.tookRight
	lo, hi := max(from-len(t.lefts), 0), min(from+n-len(t.lefts), base)
	if lo < hi {
		got, err := s.baseItems(l, t.tookLeft+lo, hi-lo)
		if err != nil {
			return nil, err
		}
		out = append(out, got...)
	}
	for i := max(from-len(t.lefts)-base, 0); i < from+n-len(t.lefts)-base && i < len(t.rights); i++ {
		out = append(out, t.rights[i])
	}
	return out, nil
}

// pageBytes is about what a page of a list has, so that one of large items is
// noticed before too much of it is in memory.
const pageBytes = 4 << 20

// baseItems reads items of the board's list.
//
// Errors: [errTooLarge].
func (s *sheet) baseItems(l *leaf, from, n int) ([]string, error) {
	out, err := s.pages(l, from, n)
	if s.strict {
		for i, it := range out {
			s.batch.ItemAt(l.key, from+i, it)
		}
	}
	return out, err
}

// pages reads items of the board's list, page by page. A list that changes
// between two pages is read as that may come out.
func (s *sheet) pages(l *leaf, from, n int) ([]string, error) {
	if n > maxAnswerItems {
		return nil, errTooLarge
	}
	var out []string
	page, bytes := itemsAtOnce, 0
	for len(out) < n {
		want := min(page, n-len(out))
		got, err := s.board.List(s.ctx, s.space(), l.key, from+len(out), want)
		if err != nil {
			return nil, wrongKind(err)
		}
		for _, it := range got {
			bytes += len(it)
		}
		if bytes > maxAnswer {
			return nil, errTooLarge
		}
		out = append(out, got...)
		if len(got) < want {
			break // it has become shorter meanwhile
		}
		page = max(16, min(itemsAtOnce, pageBytes/(1+bytes/len(out))))
	}
	return out, nil
}
