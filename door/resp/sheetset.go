package resp

import (
	"slices"

	"github.com/ramet-run/ramet/board"
)

// setLeaf is what a sheet knows of a set.
type setLeaf struct {
	known map[string]bool // members, and what is none
	// whole says that known has every member; empty that the board has none.
	whole bool
}

// setOf is the leaf of a key that must be a set or nothing.
func (s *sheet) setOf(key string) (*leaf, error) {
	l, err := s.as(key, board.KindSet)
	if err != nil {
		return nil, err
	}
	if l.set == nil {
		l.set = &setLeaf{known: map[string]bool{}, whole: l.gone}
	}
	return l, nil
}

// has reports whether m is a member.
func (s *sheet) has(l *leaf, m string) (bool, error) {
	if in, known := l.set.known[m]; known || l.set.whole {
		return in, nil
	}
	in, err := s.boardHas(l, m)
	if err != nil {
		return false, err
	}
	l.set.known[m] = in
	return in, nil
}

// boardHas looks on the board, from just before the member on: a set is read in
// lexical order.
func (s *sheet) boardHas(l *leaf, m string) (bool, error) {
	after := ""
	if n := len(m); n > 0 && m[n-1] > 0 {
		after = m[:n-1] + string([]byte{m[n-1] - 1, 0xff})
	} else if n > 0 {
		after = m[:n-1]
	}
	for {
		page, err := s.board.Members(s.ctx, s.space(), l.key, after, 16)
		if err != nil {
			return false, wrongKind(err)
		}
		if len(page) > 0 && l.kind == "" {
			l.kind = board.KindSet
		}
		if slices.Contains(page, m) {
			return true, nil
		}
		if len(page) < 16 || page[len(page)-1] > m {
			return false, nil
		}
		after = page[len(page)-1]
	}
}

// loadMembers reads all members.
//
// Errors: [errTooLarge].
func (s *sheet) loadMembers(l *leaf) error {
	const page = itemsAtOnce
	bytes, after := 0, ""
	for first := true; !l.set.whole; first = false {
		got, err := s.board.Members(s.ctx, s.space(), l.key, after, page)
		if err != nil {
			return wrongKind(err)
		}
		for _, m := range got {
			bytes += len(m)
			if _, known := l.set.known[m]; !known {
				l.set.known[m] = true
			}
		}
		if bytes > maxAnswer || len(l.set.known) > maxAnswerItems {
			return errTooLarge
		}
		if len(got) > 0 {
			l.kind = board.KindSet
		}
		l.set.whole = len(got) < page || !first && got[len(got)-1] == after
		if len(got) > 0 {
			after = got[len(got)-1]
		}
	}
	return nil
}

// members is all of them, in lexical order.
func (s *sheet) members(l *leaf) ([]string, error) {
	if err := s.loadMembers(l); err != nil {
		return nil, err
	}
	var out []string
	for m, in := range l.set.known {
		if in {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	return out, nil
}

// setThere reports whether the set has any member.
func (s *sheet) setThere(l *leaf) (bool, error) {
	removed := false
	if l.set == nil {
		return true, nil // known by its kind alone
	}
	for _, in := range l.set.known {
		if in {
			return true, nil
		}
		removed = true
	}
	if !removed && !l.set.whole {
		page, err := s.board.Members(s.ctx, s.space(), l.key, "", 1)
		return len(page) > 0, wrongKind(err)
	}
	all, err := s.members(l)
	return len(all) > 0, err
}

// include puts members in.
func (s *sheet) include(l *leaf, members ...string) {
	for _, m := range members {
		l.set.known[m] = true
		s.bytes += len(m)
	}
	l.kind = board.KindSet
	s.batch.Include(l.key, members...)
}

// exclude takes members out.
func (s *sheet) exclude(l *leaf, members ...string) {
	for _, m := range members {
		l.set.known[m] = false
	}
	s.batch.Exclude(l.key, members...)
}
