package etcdboard

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ramet-run/ramet/domain"
)

// This file makes transactions, and finds out what came of one whose answer was
// lost. A board makes one after the other. Each writes its id under a key of the
// board's own, and holds only if that key is still as the one before has left
// it. So whoever writes that key knows two things at once: whether the
// transaction in question has happened, and that it will not happen later.

// outcome is what came of a transaction.
type outcome int

const (
	won     outcome = iota // it has happened
	lost                   // it has not: another node was first
	refused                // it has not, and never will: etcd does not take it
	unknown                // it may have happened: etcd cannot be asked
)

// idsName begins the keys under which boards write their ids. They come after all
// others: nobody follows them.
const idsName = "~id/"

// keepIDs is after how long the id of a board that was not closed is cleared away.
const keepIDs = 24 * time.Hour

func (b *Board) idKey() string { return b.prefix + idsName + b.name }

// newID is what the next transaction writes. It tells when, for who clears away
// the keys of boards that are no more.
func (b *Board) newID() string {
	b.serial++
	return strconv.FormatUint(b.serial, 10) + " " + strconv.FormatInt(time.Now().Unix(), 10)
}

// idTime is when an id was written; false for what is none.
func idTime(id string) (time.Time, bool) {
	unix, err := strconv.ParseInt(id[strings.LastIndexByte(id, ' ')+1:], 10, 64)
	return time.Unix(unix, 0), err == nil
}

// clearIDs takes away what boards have left that were not closed. One that lives
// still, and has written nothing for so long, begins again.
func (b *Board) clearIDs(ctx context.Context) {
	resp, err := b.client.Get(ctx, b.prefix+idsName, clientv3.WithPrefix())
	if err != nil {
		return // whoever opens a board next will do it
	}
	for _, kv := range resp.Kvs {
		if at, ok := idTime(string(kv.Value)); !ok || time.Since(at) > keepIDs {
			_ = b.takeAway(ctx, string(kv.Key), kv.ModRevision)
		}
	}
}

// transact makes one transaction. It returns the revision at which it has
// happened, or at which that was seen which was in its way; 0 where nothing is
// written.
func (b *Board) transact(cmps []clientv3.Cmp, ops []clientv3.Op) (outcome, int64, error) {
	seen, err := b.seen()
	if err != nil {
		return refused, 0, err
	}
	if b.unsettled != "" {
		// What is compared from now on hangs on what became of it.
		if what, _, err := b.resolve(b.unsettled); what == unknown {
			return unknown, 0, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	id := b.newID()
	if born := b.since(); born != 0 {
		cmps = append(cmps, clientv3.Compare(clientv3.CreateRevision(b.prefix+headName), "=", born))
	}
	resp, err := b.client.Txn(ctx).
		If(append(cmps, clientv3.Compare(clientv3.ModRevision(b.idKey()), "=", b.last))...).
		Then(slices.Concat(ops, []clientv3.Op{clientv3.OpPut(b.idKey(), id), b.putHead()}, b.beginClock())...).
		Else(b.getHead(), clientv3.OpGet(b.idKey())).
		Commit()
	switch {
	case err == nil && resp.Succeeded:
		b.last = resp.Header.Revision
		return won, b.last, nil
	case err == nil:
		if err := b.sameAs(resp.Header, seen); err != nil {
			return refused, 0, err
		}
		if err := b.sameBoard(resp.Header.Revision, keysOf(resp, 0), seen); err != nil {
			return refused, 0, err
		}
		_, b.last = found(resp, 1) // as it was, unless somebody has cleared it away
		_, rev := found(resp, 0)
		return lost, rev, nil
	case decided(err):
		return refused, 0, b.translate(err)
	}
	return b.resolve(id)
}

// resolve finds out what came of the transaction with an id, and sees to it
// that nothing comes of it any more. Nor does the board keep its place in the
// line.
func (b *Board) resolve(id string) (what outcome, rev int64, err error) {
	b.unsettled = id
	late, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	for {
		what, rev, err = b.resolveOnce(late, id)
		if what != unknown || b.sleep(late, b.answer/100, nil) != nil {
			return what, rev, err
		}
	}
}

func (b *Board) resolveOnce(ctx context.Context, id string) (outcome, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.answer/4)
	defer cancel()
	never := "not " + id
	resp, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(b.idKey()), "=", b.last)).
		Then(append(b.beginClock(), clientv3.OpPut(b.idKey(), never), clientv3.OpDelete(b.placeKey()), b.putHead())...).
		Else(clientv3.OpGet(b.idKey()), clientv3.OpDelete(b.placeKey())).
		Commit()
	if err != nil {
		return unknown, 0, b.translate(err)
	}
	b.unsettled = ""
	if resp.Succeeded {
		b.last = resp.Header.Revision
		return lost, b.last, nil
	}
	var value string
	value, b.last = found(resp, 0)
	switch value {
	case id:
		return won, b.last, nil
	case never:
		return lost, b.last, nil // by an earlier try, whose answer was lost, too
	}
	return unknown, 0, domain.Unavailablef("what came of the last transaction cannot be told: somebody has removed %q from etcd", b.idKey())
}

// decided reports whether an error of etcd says that a transaction has not
// happened and will not.
func decided(err error) bool {
	var known rpctypes.EtcdError
	code := status.Code(err)
	if errors.As(err, &known) {
		code = known.Code()
	}
	switch code {
	case codes.ResourceExhausted, codes.InvalidArgument, codes.FailedPrecondition, codes.NotFound, codes.OutOfRange,
		codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return true
	}
	return false
}

// look asks whether nothing of what was read has changed, where nothing is to
// be written. An answer that is lost is as good as a race that is lost.
func (b *Board) look(cmps []clientv3.Cmp) (outcome, int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	seen, err := b.seen()
	if err != nil {
		return refused, 0, err
	}
	// A read of the head, or else etcd would compare with what may be old.
	resp, err := b.client.Txn(ctx).If(cmps...).Then(b.getHead()).Else(b.getHead()).Commit()
	switch {
	case err != nil && decided(err):
		return refused, 0, b.translate(err)
	case err != nil:
		return unknown, 0, b.translate(err)
	}
	if err := b.sameAs(resp.Header, seen); err != nil {
		return refused, 0, err
	}
	if err := b.sameBoard(resp.Header.Revision, keysOf(resp, 0), seen); err != nil {
		return refused, 0, err
	}
	_, rev := found(resp, 0)
	if resp.Succeeded {
		return won, rev, nil
	}
	return lost, rev, nil
}

func (b *Board) getHead() clientv3.Op { return clientv3.OpGet(b.prefix + headName) }
func (b *Board) putHead() clientv3.Op { return clientv3.OpPut(b.prefix+headName, b.name) }

// found is what a read of one key as part of a transaction has found, and the
// revision that wrote it; 0 for nothing.
func found(resp *clientv3.TxnResponse, i int) (value string, mod int64) {
	if kvs := keysOf(resp, i); len(kvs) > 0 {
		return string(kvs[0].Value), kvs[0].ModRevision
	}
	return "", 0
}

// keysOf is what a read as part of a transaction has found.
func keysOf(resp *clientv3.TxnResponse, i int) []*mvccpb.KeyValue {
	return resp.Responses[i].GetResponseRange().GetKvs()
}

// ops are the writes of what was kept.
func (b *Board) ops(t *tx) []clientv3.Op {
	ops := make([]clientv3.Op, 0, len(t.kept.writes)+3)
	for key, v := range t.kept.writes {
		if v == nil {
			ops = append(ops, clientv3.OpDelete(b.prefix+key))
		} else {
			ops = append(ops, clientv3.OpPut(b.prefix+key, string(encode(v))))
		}
	}
	return ops
}

// nested is how many operations lie in each inner transaction of a large one.
// etcd takes off the outer one's operations from what the inner may have.
const nested = 64

// maxNested is how many operations a large transaction may have; some of the
// outer ones are our own.
const maxNested = (128 - nested - 4) * nested

// nest packs operations so that more go into one transaction than etcd allows
// on one level: it stays one transaction.
func nest(ops []clientv3.Op) ([]clientv3.Op, error) {
	if len(ops) <= maxWrites {
		return ops, nil
	}
	if len(ops) > maxNested {
		return nil, domain.Invalidf("the batch needs %d operations of etcd, which takes %d in one transaction with its --max-txn-ops of 128",
			len(ops), maxNested)
	}
	var outer []clientv3.Op
	for from := 0; from < len(ops); from += nested {
		outer = append(outer, clientv3.OpTxn(nil, ops[from:min(from+nested, len(ops))], nil))
	}
	return outer, nil
}
