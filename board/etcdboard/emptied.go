package etcdboard

import (
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/ramet-run/ramet/domain"
)

// This file notices that somebody has deleted the keys of the board under the node. What
// is there afterwards is a new board: it would give out the same numbers again, and what
// was acknowledged is gone.
//
// The key that every transaction writes is made once and never deleted by a node. So the
// revision at which it was made tells the board from every later one under the same
// prefix. Each transaction compares it; the follower sees it go, and a read that it is
// gone. That some keys were deleted and this one was not is seen by nobody.

// meet is told of the head as etcd has it. It is called under the mutex.
func (b *Board) meet(head *mvccpb.KeyValue, gone bool) {
	if !gone {
		b.written = max(b.written, head.ModRevision)
	}
	switch {
	case b.born == 0 && !gone:
		b.born = head.CreateRevision
		b.sayTime()
	case b.gone != nil || b.born == 0 || !gone && head.CreateRevision == b.born:
	default:
		b.gone = domain.Unavailablef("the board that this node knew is gone from etcd at %s: its keys were deleted; "+
			"restore its data and restart each node, or restart each node once with --accept-loss, to go on with the board that is there now", b.addr)
		b.log.Error("the keys of the board were deleted from etcd; nothing is done until the node is restarted")
	}
}

// sameBoard refuses an etcd in which the head is another than the board's, or was written before what was seen
// when it was asked for, by what was read of it at a revision. What is older than the board says nothing.
func (b *Board) sameBoard(rev int64, head []*mvccpb.KeyValue, at sight) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.born == 0 || rev < b.born:
	case len(head) == 0:
		b.meet(nil, true)
	default:
		if b.meet(head[0], false); head[0].ModRevision < at.head {
			b.setBack(head[0].ModRevision, at.head)
		}
	}
	return b.gone
}

// since is the revision at which the board began, 0 where that is not known yet.
func (b *Board) since() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.born
}
