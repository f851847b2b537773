package identity

import (
	"context"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/layout"
)

// linksKept is how long the link keys of a node that says nothing are kept.
const linksKept = 30 * 24 * time.Hour

// Links are the link keys of a node, by their public halves.
type Links struct {
	Node, Bus, Stream string
}

// AnnounceLinks says on the board by which keys the node of a keyring logs in,
// for the servers inside its other nodes and for cards. It is done at each start
// and again at times.
func (r *Registry) AnnounceLinks(ctx context.Context, k *Keyring) error {
	var b board.Batch
	key := layout.Link(k.Node.Pubkey())
	b.Set(key, board.Field{Name: layout.LinkBus, Value: k.Bus.Pubkey()}, board.Field{Name: layout.LinkStream, Value: k.Stream.Pubkey()})
	b.Expire(key, linksKept)
	return r.board.Commit(ctx, b)
}

// maxLinks bounds the nodes of a board whose link keys are read.
const maxLinks = 10_000

// Links are those of all nodes of the board.
func (r *Registry) Links(ctx context.Context) (list []Links, err error) {
	for cursor := ""; len(list) < maxLinks; {
		keys, next, err := r.board.Keys(ctx, 0, layout.LinkPrefix, cursor, 500)
		if err != nil {
			return nil, err
		}
		recs, err := board.Readable(r.board.Get(ctx, 0, keys...))
		if err != nil {
			return nil, err
		}
		for i, rec := range recs {
			if rec != nil {
				list = append(list, Links{strings.TrimPrefix(keys[i], layout.LinkPrefix), rec.Get(layout.LinkBus), rec.Get(layout.LinkStream)})
			}
		}
		if cursor = next; next == "" {
			break
		}
	}
	return list, nil
}
