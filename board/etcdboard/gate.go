package etcdboard

import (
	"context"
	"time"

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

// runAlone judges requests anew under the gate, and makes the transaction.
func (b *Board) runAlone(t *tx, rs []*request) {
	b.settle(t, true)
	hold, rev, err := b.takeGate()
	if err != nil || rev == 0 {
		b.conclude(t, rs, false, 0, err)
		return
	}
	defer b.dropGate(hold)
	if err := b.reach(b.closing, rev); err != nil {
		b.conclude(t, rs, false, 0, err)
		return
	}
	t, rs = b.judgeAgain(rs)
	won, rev, err := b.transactAlone(t, rev)
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
func (b *Board) takeGate() (clientv3.LeaseID, int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	hold, err := b.client.Grant(ctx, gateTTL)
	if err != nil {
		return 0, 0, b.translate(err)
	}
	key := b.prefix + gateName
	resp, err := b.client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
		Then(clientv3.OpPut(key, b.name, clientv3.WithLease(hold.ID)), b.putHead()).
		Commit()
	if err != nil || !resp.Succeeded {
		b.dropGate(hold.ID)
		return 0, 0, b.translate(err)
	}
	return hold.ID, resp.Header.Revision, nil
}

// dropGate ends the hold on the gate. Should it fail, the gate goes by itself.
func (b *Board) dropGate(hold clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.Background(), b.answer)
	defer cancel()
	if _, err := b.client.Revoke(ctx, hold); err != nil {
		b.log.Debug("the gate goes only with its lease", "seconds", gateTTL, "error", err)
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
