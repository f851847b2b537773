package etcdboard

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/domain"
)

// This file has what is too large for a plain transaction, or loses too many
// races: it is done while the node has the board to itself. The gate is a key
// that every plain transaction wants absent. Who has put it there needs to
// compare nothing else, and packs its writes in two levels. The gate hangs on
// a lease of etcd, so that a node that dies with it does not lock the others out.

// gateTTL is how long the gate of a node that has died keeps others out, in seconds.
const gateTTL = 5

// runAlone judges requests anew under the gate, and makes the transaction,
// which takes the gate away.
func (b *Board) runAlone(t *tx, rs []*request) {
	b.settle(t, true)
	since, err := b.takeGate()
	if err != nil || since == 0 {
		b.conclude(t, rs, false, 0, err)
		return
	}
	if err := b.reach(b.closing, since); err != nil {
		b.conclude(t, rs, false, 0, err)
		return
	}
	t, rs = b.judgeAgain(rs)
	won, rev, err := b.transactAlone(t, since)
	if !won {
		b.dropGate(since)
	}
	b.conclude(t, rs, won, rev, err)
}

// judgeAgain judges requests by what the mirror has now.
func (b *Board) judgeAgain(rs []*request) (*tx, []*request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := newTx(b.mirror)
	var answered []*request
	for _, r := range rs {
		if r.judge(t) {
			answered = append(answered, r)
		} else {
			r.flying = false // a claim that waits again
		}
		t.keep()
	}
	return t, answered
}

// takeGate puts the gate there, and returns the revision of that; 0 when
// another node has it.
func (b *Board) takeGate() (since int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	key := b.prefix + gateName
	for {
		if err := b.keepHold(ctx); err != nil {
			return 0, err
		}
		resp, err := b.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, b.name, clientv3.WithLease(b.hold)), b.putHead()).
			Commit()
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			b.hold = 0 // it ran out while etcd could not be reached
		case err != nil:
			return 0, b.translate(err)
		case !resp.Succeeded:
			return 0, nil
		default:
			return resp.Header.Revision, nil
		}
	}
}

// keepHold sees to it that there is a lease of etcd for the gate to hang on,
// which lasts as long as this board.
func (b *Board) keepHold(ctx context.Context) error {
	if b.hold != 0 {
		return nil
	}
	grant, err := b.client.Grant(ctx, gateTTL)
	if err != nil {
		return b.translate(err)
	}
	kept, err := b.client.KeepAlive(b.closing, grant.ID)
	if err != nil {
		return b.translate(err)
	}
	b.loops.Go(func() {
		for range kept { // ends with the board, or when the lease is lost
		}
	})
	b.hold = grant.ID
	return nil
}

// dropGate takes the gate away when nothing came of it. Should it fail, etcd
// cannot be reached, and the gate goes with its lease.
func (b *Board) dropGate(since int64) {
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	key := b.prefix + gateName
	_, err := b.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", since)).Then(clientv3.OpDelete(key)).Commit()
	if err != nil {
		b.log.Debug("the gate goes only with its lease", "error", b.translate(err))
	}
}

// transactAlone makes the transaction of who has the gate since a revision.
func (b *Board) transactAlone(t *tx, since int64) (won bool, rev int64, err error) {
	ops, err := nest(b.ops(t))
	if err != nil {
		return false, 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	key := b.prefix + gateName
	resp, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(key), "=", since)).
		Then(append(ops, clientv3.OpDelete(key))...).
		Commit()
	if err != nil {
		return false, 0, b.translate(err)
	}
	if len(t.kept.writes) == 0 {
		return resp.Succeeded, 0, nil
	}
	return resp.Succeeded, resp.Header.Revision, nil
}

// awaitGate waits until no other node has the gate.
func (b *Board) awaitGate() {
	ctx, cancel := context.WithTimeout(b.closing, 2*gateTTL*time.Second)
	defer cancel()
	_ = b.until(ctx, func() bool {
		_, shut := b.mirror.cells[gateName]
		return !shut
	})
}

// nested is how many operations lie in each inner transaction of a large one.
// etcd takes off the outer one's operations from what the inner may have.
const nested = 64

// maxNested is how many operations a large transaction may have.
const maxNested = (128 - nested) * nested

// nest packs operations so that more go into one transaction than etcd allows
// on one level: it stays one transaction.
func nest(ops []clientv3.Op) ([]clientv3.Op, error) {
	if len(ops) <= maxWrites {
		return ops, nil
	}
	if len(ops) > maxNested {
		return nil, domain.Exhaustedf("the batch needs %d operations of etcd, which takes %d in one transaction with its --max-txn-ops of 128", len(ops), maxNested)
	}
	var outer []clientv3.Op
	for from := 0; from < len(ops); from += nested {
		outer = append(outer, clientv3.OpTxn(nil, ops[from:min(from+nested, len(ops))], nil))
	}
	return outer, nil
}
