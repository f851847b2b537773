package etcdboard

import (
	"context"
	"errors"
	"slices"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// This file tells whether an etcd is what it was, or was restored from a snapshot: it
// has lost then what came after.
//
// Each revision of etcd comes with one entry of its raft log at least. So by how much
// the revision is ahead of the log, its lead, never grows. A restore keeps the
// revision and begins a new log: the lead grows by all that the old log had. The
// board has the lead written down that was last seen.

// leadName is the key with the lead. It comes after what nodes follow.
const leadName = "~lead"

// skipAtOnce is how many counters one transaction changes.
const skipAtOnce = 50

// recognise begins a new epoch where etcd was restored since a board was opened on
// it last: counters go on beyond what they may have given out.
func (b *Board) recognise(ctx context.Context) error {
	resp, err := b.client.Get(ctx, b.prefix+leadName)
	if err != nil {
		return b.translate(err)
	}
	var was, mod int64
	for _, kv := range resp.Kvs {
		mod = kv.ModRevision
		if was, err = strconv.ParseInt(string(kv.Value), 10, 64); err != nil {
			return domain.Invalidf("etcd key %q cannot be read: remove it, if the etcd was not restored from a snapshot", kv.Key)
		}
	}
	least, most, ok := b.lead(ctx, max(mod, resp.Header.Revision))
	switch {
	case !ok:
		return nil
	case mod != 0 && least > was:
		if err := b.nextEpoch(ctx); err != nil {
			return err
		}
	case mod != 0 && most >= was:
		return nil
	}
	// Another node that opens the board has seen as much.
	_, err = b.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(b.prefix+leadName), "=", mod)).
		Then(clientv3.OpPut(b.prefix+leadName, strconv.FormatInt(most, 10))).Commit()
	return b.translate(err)
}

// lead is between which numbers the lead is, of a member that has come as far as a
// revision. It is not known where no member can or will say so.
func (b *Board) lead(ctx context.Context, rev int64) (least, most int64, ok bool) {
	for _, at := range b.client.Endpoints() {
		first, err := b.status(ctx, at)
		if err != nil || first.Header.Revision < rev {
			continue
		}
		second, err := b.status(ctx, at)
		if err != nil {
			continue
		}
		// A status is not of one instant: the revision is older than the log that is
		// committed, and the log that is applied may be older than the next revision.
		return first.Header.Revision - int64(first.RaftIndex), second.Header.Revision - int64(first.RaftAppliedIndex), true
	}
	b.log.Warn("no member of etcd says how far its log is: whether it was restored from a snapshot is not told")
	return 0, 0, false
}

func (b *Board) status(ctx context.Context, endpoint string) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	return b.client.Status(ctx, endpoint)
}

// nextEpoch has all counters go on far beyond what they have, and says so.
func (b *Board) nextEpoch(ctx context.Context) error {
	recs, err := b.Get(ctx, 0, board.EpochKey)
	if err != nil {
		return err
	}
	if err := b.skip(ctx); err != nil {
		return err
	}
	batch := new(board.Batch).Equal(board.EpochKey, "number", recs[0].Get("number"))
	err = b.Commit(ctx, *batch.NextEpoch(b.Now(), "etcd was restored from a snapshot: what came after it is lost"))
	if errors.Is(err, domain.ErrConflict) {
		return nil // another node was first
	}
	return err
}

// skip lets the counters go on beyond what may have been given out.
func (b *Board) skip(ctx context.Context) error {
	var counters []string
	b.mu.Lock()
	for key, c := range b.mirror.cells {
		if _, is := c.value.(counter); is {
			counters = append(counters, key)
		}
	}
	b.mu.Unlock()
	for some := range slices.Chunk(counters, skipAtOnce) {
		r := newRequest(ctx)
		r.judge = func(t *tx) bool {
			for _, at := range some {
				if last, is := t.get(at).(counter); is {
					t.put(at, last+board.EpochLeap)
				}
			}
			return true
		}
		if err := b.doAll(ctx, &r); err != nil {
			return err
		}
	}
	return nil
}

// sameAs refuses an etcd that is not the one that was seen at a revision: an answer of
// it is of before, though it was asked for later. What the mirror has is not what etcd
// has then, and revisions mean something else; a board that is opened anew reads all.
func (b *Board) sameAs(h *pb.ResponseHeader, at sight) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.Revision < at.rev || h.ClusterId != b.cluster {
		b.setBack(h.Revision, at.rev)
	}
	return b.gone
}

// setBack takes the etcd for one that was restored. It is called under the mutex.
func (b *Board) setBack(rev, seen int64) {
	if b.gone == nil {
		b.gone = domain.Unavailablef("etcd at %s has less than this node has seen in it: it was restored from a snapshot under the node; restart the node", b.addr)
		b.log.Error("etcd was restored from a snapshot, or is another one; restart the node", "revision", rev, "seen", seen)
	}
}

// sight is how far a board has seen etcd: up to which revision, and at which of them the head was written
// last. A restore may say that the revision is far ahead (etcdutl --bump-revision); the head stays as it was.
type sight struct{ rev, head int64 }

// seen is how far the board has seen etcd.
//
// Errors: that of sameAs, once etcd was another.
func (b *Board) seen() (sight, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return sight{b.mirror.rev, b.written}, b.gone
}

// sameHead asks for the head, and refuses an etcd of which that is not the board's, or was written before
// what this board has seen.
func (b *Board) sameHead(ctx context.Context) (head *mvccpb.KeyValue, err error) {
	at, err := b.seen()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	resp, err := b.client.Get(ctx, b.prefix+headName)
	if err != nil {
		return nil, b.translate(err)
	}
	if err := b.sameAs(resp.Header, at); err != nil {
		return nil, err
	}
	if err := b.sameBoard(resp.Header.Revision, resp.Kvs, at); err != nil {
		return nil, err
	}
	if len(resp.Kvs) == 0 {
		return nil, nil
	}
	return resp.Kvs[0], nil
}
