package etcdboard

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/domain"
)

// loadPage is how many keys are read at once.
const loadPage = 1000

// load reads the whole board as it is at one revision. What the mirror has and
// etcd has not is taken out, so it serves to catch up, too.
func (b *Board) load(ctx context.Context) error {
	// An etcd that was restored may have everything read anew, too: what it has is not taken for what is new.
	if _, err := b.sameHead(ctx); err != nil {
		return err
	}
	seen := map[string]struct{}{}
	var out news
	var rev int64
	end := b.prefix + idsName
	for from := b.prefix; ; {
		resp, err := b.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(loadPage), clientv3.WithRev(rev))
		if err != nil {
			return b.translate(err)
		}
		if rev == 0 {
			rev = resp.Header.Revision
		}
		b.mu.Lock()
		for _, kv := range resp.Kvs {
			seen[strings.TrimPrefix(string(kv.Key), b.prefix)] = struct{}{}
			b.take(kv, false, false, &out)
		}
		b.mu.Unlock()
		if !resp.More {
			break
		}
		from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := seen[headName]; !there {
		b.meet(nil, true)
	}
	for key := range b.mirror.cells {
		if _, there := seen[key]; !there {
			delete(b.mirror.strange, key)
			b.mirror.put(key, nil, 0, &out)
		}
	}
	b.tell(&out, rev)
	return nil
}

// take takes up one key as etcd has it; live: it was written just now.
func (b *Board) take(kv *mvccpb.KeyValue, gone, live bool, out *news) {
	key := strings.TrimPrefix(string(kv.Key), b.prefix)
	if key == headName { // written with everything, and read by nobody
		b.meet(kv, gone)
		return
	}
	if strings.HasPrefix(key, clockName) {
		b.hear(kv, gone, live)
		return
	}
	if gone {
		delete(b.mirror.strange, key)
		b.mirror.put(key, nil, 0, out)
		return
	}
	if b.mirror.cells[key].mod == kv.ModRevision {
		return
	}
	room, _, _ := parseKey(key)
	v, ok := decode(room, kv.Value)
	if l, is := v.(*lease); is {
		l.until = b.mirror.tick() + l.ttl
	}
	b.mirror.put(key, v, kv.ModRevision, out)
	if ok {
		delete(b.mirror.strange, key)
		return
	}
	b.mirror.strange[key] = struct{}{}
	b.log.Error("a value in etcd cannot be read; somebody else writes under the prefix of the board", "key", string(kv.Key))
}

// tell does what follows from changes of the mirror: watchers are told, turns
// counted, and those woken who wait.
func (b *Board) tell(out *news, rev int64) {
	b.mirror.rev = max(b.mirror.rev, rev)
	for _, g := range b.mirror.count(out) {
		b.feed(g)
	}
	for _, n := range out.changed {
		b.watchers.Tell(n.space, n.key)
		b.recent.Note(n.space)
	}
	if out.earlier.alarm {
		b.alarmSet.fire()
	}
	if out.earlier.lapse {
		b.lapsed.fire()
	}
	b.moved.fire()
	if place := b.mirror.line.places[b.name]; place == 0 || place == b.mirror.line.first {
		b.turn.fire()
	}
}

// followLoop is the follower: it keeps the mirror at what etcd has.
func (b *Board) followLoop() {
	for b.closing.Err() == nil {
		err := b.follow()
		if b.closing.Err() != nil {
			return
		}
		b.log.Warn("lost sight of the board, looking again", "err", err)
		select {
		case <-time.After(100*time.Millisecond + rand.N(200*time.Millisecond)):
		case <-b.closing.Done():
		}
	}
}

// follow watches until the watch ends. What was compacted away before it could
// be seen is caught up by reading everything.
func (b *Board) follow() error {
	// Without a leader a member knows of nothing new: then look at another.
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(b.closing))
	defer cancel()
	b.mu.Lock()
	from := b.mirror.rev + 1
	b.mu.Unlock()
	for resp := range b.client.Watch(ctx, b.prefix, clientv3.WithRange(b.prefix+idsName), clientv3.WithRev(from)) {
		if resp.CompactRevision != 0 {
			b.log.Info("etcd was compacted past what was seen, reading the board anew", "revision", resp.CompactRevision)
			return b.load(ctx)
		}
		if err := resp.Err(); err != nil {
			return b.translate(err)
		}
		b.takeAll(resp.Events)
	}
	return domain.Unavailablef("etcd at %s has ended the watch", b.addr)
}

// takeAll takes up events. A transaction's come together.
func (b *Board) takeAll(events []*clientv3.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out news
	var rev int64
	for _, ev := range events {
		rev = max(rev, ev.Kv.ModRevision)
		b.take(ev.Kv, ev.Type == mvccpb.DELETE, true, &out)
	}
	b.tell(&out, rev)
}

// reapStep is how many expired keys one transaction removes.
const reapStep = 20

// reapLoop is the reaper: it removes keys whose instant has come. Reads and
// transactions take them for gone before, so it need not be punctual, and
// nodes do it at different moments.
func (b *Board) reapLoop() {
	for {
		select {
		case <-time.After(time.Second + rand.N(time.Second)):
		case <-b.closing.Done():
			return
		}
		_ = b.reap(b.closing) // the next round tries again
	}
}

// reap removes what has expired.
func (b *Board) reap(ctx context.Context) error {
	for {
		b.mu.Lock()
		first, ok := b.mirror.expiries.First()
		now := b.mirror.now()
		b.mu.Unlock()
		if !ok || first.at > now {
			return nil
		}
		r := newRequest(ctx)
		r.judge = func(t *tx) bool {
			n := 0
			for m := range t.m.expiries.All() {
				if m.at > t.now || n == reapStep {
					break
				}
				t.head(m.name)
				n++
			}
			return true
		}
		if err := b.doAll(ctx, &r); err != nil {
			return err
		}
		if err := b.fresh(ctx); err != nil {
			return err
		}
	}
}
