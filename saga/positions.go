package saga

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has how far a saga has come in its streams: the record of its
// checkpoint.
//
// A position is that of a partition, and says: what is up to here and was mine
// is dealt with. What is dealt with behind it stands beside it; see fairness.go. So it means something else as soon as events go to other
// partitions, or to other instances. Then a new generation begins, with
// positions of its own. Those of the ones before stay as they are, because every
// commit is guarded by the list of generations; by them a new partition knows
// of each event whether it was dealt with. Nothing is lost by that and nothing
// done twice, whenever the last worker notices.

// generation is a time in which a saga's events went the same ways.
type generation struct {
	N  int `json:"n"` // from 1 on
	Of int `json:"of"`
	// Version is that of the definition with which it began, Route what of it
	// decides which events are read and where they go.
	Version int    `json:"version"`
	Route   string `json:"route"`
	// Reads is what is read, also for instances of older versions; only the
	// last generation has it.
	Reads subjects `json:"reads,omitzero"`
	// Begin is where streams begin that were not read before, or are to be read
	// again: what earlier generations had of them counts no more.
	Begin map[domain.StreamName]uint64 `json:"begin,omitzero"`
}

// Fields of a checkpoint beside positions.
const (
	generations  = "generations" // JSON of all that are needed
	generationNo = "generation"  // the number of the last
)

// maxGenerations bounds what is kept of them: each change of an eager operator
// adds one until all partitions have come past the last.
const maxGenerations = 100

// positions are how far a saga has come.
type positions struct {
	list []generation
	no   string // the number of the last, as it stands on the board
	rec  board.Record
}

// positions reads them.
//
// Errors: [domain.ErrUnavailable], [domain.ErrInvalid] for what is no record of
// ours.
func (e *Engine) positions(ctx context.Context, tenant domain.TenantID, name, saga string) (*positions, error) {
	key := layout.SagaKeys{Tenant: name}.Checkpoint(saga)
	recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return nil, err
	}
	p := &positions{rec: recs[0], no: recs[0].Get(generationNo)}
	if p.no == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(p.rec.Get(generations)), &p.list); err != nil || len(p.list) == 0 {
		return nil, domain.Invalidf("%s: field %s cannot be read: %v", key, generations, err)
	}
	return p, nil
}

// now is the generation that there is.
func (p *positions) now() *generation { return &p.list[len(p.list)-1] }

// anew are the streams that the present generation does not read: the next one begins them.
func (p *positions) anew() []domain.StreamName {
	return slices.DeleteFunc(slices.Clone(read), func(n domain.StreamName) bool { return len(p.list) > 0 && len(p.now().Reads[n]) > 0 })
}

// fieldOf is the field with the position of a partition.
func fieldOf(g *generation, n domain.StreamName, partition int) string {
	return layout.CheckpointField(string(n), partition) + "/" + strconv.Itoa(g.N)
}

// asideField is what the field of what was put aside has behind that of the position.
const asideField = "/aside"

// written is what stands on the board of a partition of the ith generation.
func (p *positions) written(i int, n domain.StreamName, partition int) written {
	f := fieldOf(&p.list[i], n, partition)
	return written{p.rec.Get(f), p.rec.Get(f + asideField)}
}

// at is how far a partition of the ith generation has come.
func (p *positions) at(i int, n domain.StreamName, partition int) progress {
	return p.atOr(i, n, partition, func() uint64 { return p.begin(i, n) })
}

// atOr is the same, where begin is known.
func (p *positions) atOr(i int, n domain.StreamName, partition int, begin func() uint64) progress {
	w := p.written(i, n, partition)
	back, err := strconv.ParseUint(w.position, 10, 64)
	if err != nil {
		begin := begin()
		return progress{back: begin, front: begin}
	}
	return parseProgress(back, w.aside)
}

// begin is where the ith generation begins to read a stream: where the last
// partition of the one before had come.
func (p *positions) begin(i int, n domain.StreamName) uint64 {
	if seq, there := p.list[i].Begin[n]; there || i == 0 {
		return seq
	}
	least, _ := p.span(i-1, n)
	return least
}

// span is up to where all partitions of the ith generation have dealt with all,
// and up to where any has dealt with something.
func (p *positions) span(i int, n domain.StreamName) (least, most uint64) {
	begin := sync.OnceValue(func() uint64 { return p.begin(i, n) })
	for q := range p.list[i].Of {
		at := p.atOr(i, n, q, begin)
		if q == 0 || at.back < least {
			least = at.back
		}
		most = max(most, at.front)
	}
	return least, most
}

// dealt is up to where any partition of the kth generation had dealt with a
// stream, as far as that counts for the ith.
func (p *positions) dealt(k, i int, n domain.StreamName) uint64 {
	for _, g := range p.list[k+1 : i+1] {
		if _, anew := g.Begin[n]; anew {
			return 0
		}
	}
	_, most := p.span(k, n)
	return most
}

// needed is the first generation that still says something: all before were
// overtaken by every partition of a later one.
func (p *positions) needed() int {
	for i := len(p.list) - 1; i > 0; i-- {
		past := true
		for _, n := range read {
			if len(p.now().Reads[n]) == 0 {
				continue
			}
			least, _ := p.span(i, n)
			for k := range i {
				if most := p.dealt(k, i, n); most > least {
					past = false
				}
			}
			for q := range p.list[i].Of {
				// What is not written is computed from those before.
				past = past && p.written(i, n, q).position != ""
			}
		}
		if past {
			return i
		}
	}
	return 0
}

// indexes are the sets in which the outboxes of all partitions that there were
// can be.
func (p *positions) indexes(keys layout.SagaKeys, saga string) []string {
	most := 1
	for i := range p.list {
		most = max(most, p.list[i].Of)
	}
	list := make([]string, most)
	for q := range list {
		list[q] = keys.OutboxIndex(saga, q)
	}
	return list
}

// earlier is a generation before the present one, for a shard.
type earlier struct {
	of   int
	m    *compiled                        // by whose rules events went
	at   map[domain.StreamName][]progress // of partitions
	most map[domain.StreamName]uint64
}

// earlier finds out what the generations before have dealt with.
func (s *shard) earlier(ctx context.Context) error {
	p := s.positions
	last := len(p.list) - 1
	for i := range last {
		m, err := s.e.defs.get(ctx, s.tenant, s.saga, p.list[i].Version)
		if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
			m, err = s.newest, nil
		}
		if err != nil {
			return err
		}
		g := earlier{p.list[i].Of, m, map[domain.StreamName][]progress{}, map[domain.StreamName]uint64{}}
		for _, n := range read {
			for q := range g.of {
				g.at[n] = append(g.at[n], p.at(i, n, q))
			}
			g.most[n] = p.dealt(i, last, n)
		}
		s.before = append(s.before, g)
	}
	return nil
}

// dealtWith reports whether a partition of an earlier generation has dealt with
// a message. bad is why it is no event.
func (s *shard) dealtWith(t *pending, bad error) bool {
	for i := range s.before {
		g, n := &s.before[i], t.from.name
		if t.seq > g.most[n] {
			continue
		}
		var id string
		mine, err := true, bad
		if bad == nil {
			id, mine, err = goesTo(g.m, t.ev)
		}
		q := 0 // which makes a dead letter of what is no event
		if err == nil {
			q = partitionOf(id, g.of)
		}
		if !mine || t.seq <= g.at[n][q].upTo(id) {
			return true
		}
	}
	return false
}

// routeOf is what of a definition decides where its events go, hashed.
func routeOf(def *domain.SagaDefinition) string {
	sum := sha256.Sum256([]byte(plainJSON([]any{max(def.Partitions, 1), def.Correlation, def.CorrelationHeader, def.Triggers, def.Events, wanted(def)})))
	return hex.EncodeToString(sum[:8])
}

// follow reports whether they are those of a definition.
func (p *positions) follow(def *domain.SagaDefinition) bool {
	return len(p.list) > 0 && p.now().Route == routeOf(def)
}

// settle has positions and index say what the newest definition wants. Whoever
// finds that they do not does it.
//
// A definition is stored with its positions, but for those of earlier versions of Ramet.
// Where they are not there, from says where its streams begin; now is when it was stored.
//
// Errors: [domain.ErrConflict] where others apply it all the time;
// [domain.ErrUnavailable].
func (e *Engine) settle(ctx context.Context, tenant domain.TenantID, name, saga string, from beginning) error {
	for range 20 {
		newest, err := e.store.Get(ctx, tenant, saga, 0)
		if err != nil {
			return err
		}
		p, err := e.positions(ctx, tenant, name, saga)
		if err != nil {
			return err
		}
		if !p.follow(newest.Definition) {
			b, begin := board.Batch{Space: layout.SpaceOf(tenant)}, from
			if begin.now() {
				begin.at = time.UnixMilli(newest.UpdatedMs)
			}
			if err = e.beginGeneration(ctx, name, newest.Definition, newest.Version, p, begin, &b); err == nil {
				err = e.board.Commit(ctx, b)
			}
			if err != nil && !errors.Is(err, domain.ErrConflict) {
				return err
			}
			continue // and look again
		}
		if err := e.list(ctx, tenant, saga, p.indexed(tenant, saga, newest.Version)); err != nil {
			return err
		}
		// Somebody may have applied another one since.
		if again, err := e.defs.newest(ctx, tenant, saga); err != nil || again == newest.Version {
			return err
		}
	}
	return domain.Conflictf("saga %s: others apply it at the same time; try again", saga)
}

// beginGeneration adds to a commit that one begins for a version of a definition.
//
// Errors: those of [beginning.of] and [positions.add].
func (e *Engine) beginGeneration(ctx context.Context, name string, def *domain.SagaDefinition, version int, p *positions,
	from beginning, b *board.Batch) error {
	next := generation{Of: max(def.Partitions, 1), Version: version, Route: routeOf(def), Reads: wanted(def), Begin: map[domain.StreamName]uint64{}}
	for _, n := range p.anew() {
		var err error
		if next.Begin[n], err = from.of(ctx, e.log, n); err != nil {
			return err
		}
	}
	return p.add(b, layout.SagaKeys{Tenant: name}.Checkpoint(def.Name), next)
}

// add adds to a commit that a generation begins behind those that there are, and leaves out
// those that are not needed any more. The commit is refused where somebody else was quicker.
//
// Errors: [domain.ErrExhausted] where there are too many.
func (p *positions) add(b *board.Batch, key string, next generation) error {
	b.Equal(key, generationNo, p.no)
	next.N = 1
	var list []generation
	if len(p.list) > 0 {
		next.N = p.now().N + 1
		next.Reads = next.Reads.with(p.now().Reads)
		first := p.needed()
		var gone []string
		for i := range p.list[:first] {
			for _, n := range read {
				for q := range p.list[i].Of {
					f := fieldOf(&p.list[i], n, q)
					for _, f := range []string{f, f + asideField} {
						if p.rec.Get(f) != "" {
							gone = append(gone, f)
						}
					}
				}
			}
		}
		if len(gone) > 0 {
			b.Unset(key, gone...)
		}
		list = slices.Clone(p.list[first:])
		list[len(list)-1].Reads = nil
	}
	if len(list) >= maxGenerations {
		return domain.Exhaustedf("%s: the saga was changed %d times before all its partitions could follow: see that all are served", key, len(list))
	}
	b.Set(key, board.Field{Name: generations, Value: plainJSON(append(list, next))}, board.Field{Name: generationNo, Value: strconv.Itoa(next.N)})
	return nil
}

// indexKey is the set, in space 0, of all sagas that are served:
// "<context>:<saga>:<partitions>:<version>:<generation>". Workers begin anew
// with a saga when that becomes another.
const indexKey = "ramet:saga:index"

// indexed is a saga as member of the index.
func (p *positions) indexed(tenant domain.TenantID, saga string, version int) string {
	return fmt.Sprintf("%s%d:%d:%d", indexedPrefix(tenant, saga), p.now().Of, version, p.now().N)
}

func indexedPrefix(tenant domain.TenantID, saga string) string {
	return fmt.Sprintf("%d:%s:", tenant, saga)
}

// parseIndexed reads a member of the index.
func parseIndexed(text string) (s shardOf, ok bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 5 {
		return s, false
	}
	tenant, err := strconv.ParseUint(parts[0], 10, 32)
	of, errOf := strconv.Atoi(parts[2])
	if err != nil || errOf != nil || of < 1 || of > domain.MaxSagaPartitions {
		return s, false
	}
	return shardOf{tenant: domain.TenantID(tenant), saga: parts[1], of: of}, true
}

// list has the index say this of a saga, and nothing else; "" takes it out.
func (e *Engine) list(ctx context.Context, tenant domain.TenantID, saga, member string) error {
	prefix := indexedPrefix(tenant, saga)
	there, err := e.board.Members(ctx, 0, indexKey, prefix, 100)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(there, func(m string) bool { return !strings.HasPrefix(m, prefix) })
	if slices.Equal(others, []string{member}) {
		return nil
	}
	b := board.Batch{}
	if others = slices.DeleteFunc(others, func(m string) bool { return m == member }); len(others) > 0 {
		b.Exclude(indexKey, others...)
	}
	if member != "" {
		b.Include(indexKey, member)
	}
	if len(b.Ops) == 0 {
		return nil
	}
	return e.board.Commit(ctx, b)
}
