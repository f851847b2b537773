package pebbleboard

import (
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/board"
)

// written is a group in the store that is on its way to the disk.
type written struct {
	batch   *pebble.Batch // nil: it changed nothing, and is answered in its turn
	answers []*request
	told    []ident
}

// runSyncer waits for groups to be durable and answers them in order. The
// committer works on the next group meanwhile; several may be under way.
func (b *Board) runSyncer() {
	for g := range b.groups {
		if err := b.sync(g); err != nil {
			b.fail(err)
			break
		}
		for _, r := range g.answers {
			r.answer()
		}
		for _, id := range g.told {
			b.watchers.Tell(id.space, id.name)
		}
	}
	for range b.groups { // failed: who waits has been told
	}
}

func (b *Board) sync(g *written) error {
	if g.batch == nil {
		return nil
	}
	if err := g.batch.SyncWait(); err != nil {
		return err
	}
	return g.batch.Close()
}

// hot is the records that are leased by a claim log only: what the store has
// of them is older. It is what readers need to know of the committer's memory.
type hot struct {
	mu      sync.RWMutex
	records map[ident]hotRecord
}

type hotRecord struct {
	body  []byte
	lease *lease // only what never changes is used
}

func (h *hot) update(hotter []*object, colder []ident) {
	if len(hotter)+len(colder) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range colder {
		delete(h.records, id)
	}
	for _, o := range hotter {
		if o.overlaid {
			h.records[o.id] = hotRecord{o.body, o.lease}
		}
	}
}

func (h *hot) get(id ident) (hotRecord, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	r, ok := h.records[id]
	return r, ok
}

// frontiers are the frontiers of each space's live index.
type frontiers struct {
	mu      sync.Mutex
	bySpace map[board.Space]*frontier // of the spaces somebody has looked at
}

func (f *frontiers) of(s board.Space) *frontier {
	f.mu.Lock()
	defer f.mu.Unlock()
	fr := f.bySpace[s]
	if fr == nil {
		fr = newFrontier()
		f.bySpace[s] = fr
	}
	return fr
}

func (f *frontiers) add(earliest map[board.Space]int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s, at := range earliest {
		if fr := f.bySpace[s]; fr != nil {
			fr.add(at)
		}
	}
}
