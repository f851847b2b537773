package etcdboard

import (
	"context"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Unreadable implements [board.Board]. Names are keys of etcd; they may have
// NULs and must be quoted for people.
func (b *Board) Unreadable(ctx context.Context) (out []board.Unreadable, err error) {
	err = b.read(ctx, func(m *mirror, _ int64) error {
		for key := range m.strange {
			_, n, _ := parseKey(key)
			out = append(out, board.Unreadable{Name: b.prefix + key, Space: n.space, Key: n.key})
		}
		return nil
	})
	slices.SortFunc(out, func(x, y board.Unreadable) int { return strings.Compare(x.Name, y.Name) })
	return out, err
}

// Discard implements [board.Board]. With the head of a list or set go its items.
func (b *Board) Discard(ctx context.Context, name string) error {
	if err := b.fresh(ctx); err != nil {
		return err
	}
	key := strings.TrimPrefix(name, b.prefix)
	var missing error
	r := newRequest(ctx)
	r.judge = func(t *tx) bool {
		missing = nil
		room, n, _ := parseKey(key)
		_, strange := t.m.strange[key]
		switch t.get(key); {
		case !strange:
			missing = domain.NotFoundf("%q is nothing that cannot be read", name)
		case room == roomHead:
			t.remove(n)
		default:
			t.del(key)
		}
		return true
	}
	if err := b.doAll(ctx, &r); err != nil {
		return err
	}
	return missing
}
