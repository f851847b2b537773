package flow

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file is how the steps of a large flow lie on the board: each in a field of one of
// the flow's step records, so that a round reads and writes those that it is about. A
// step that is as all begin has no field. What changes more steps than one commit should
// write is written as one field beside the rest of the state, and put to the steps after
// that; until then it goes over what these say. See docs/decisions/0035.

const (
	// wholeSteps is up to how many steps a flow's state is one field, with all of them.
	wholeSteps = 32
	// recordSteps is how many steps lie in a record at least, maxStepRecords how many
	// records a flow has at most: they go in one batch.
	recordSteps    = 32
	maxStepRecords = 512
	// commitSteps is how many steps a round writes where they lie at most, commitBytes how
	// many bytes of them.
	commitSteps = 200
	commitBytes = 256 << 10
	// unfoldRecords is how many records one commit of [tending.unfold] writes.
	unfoldRecords = 64
)

// spreading is how the engine has steps lie: the constants above, but for tests.
type spreading struct{ whole, record, commit int }

// recordSize is how many of a flow's steps lie in one record.
func recordSize(steps, least int) int {
	size := least
	for steps > size*maxStepRecords {
		size *= 2
	}
	return size
}

// records is how many records the steps have.
func (s *Sums) records() int { return (s.Steps + s.Size - 1) / s.Size }

// spreadFields are the fields of a state whose steps lie for themselves: what is to be
// put to these beside the rest.
func (e *Engine) spreadFields(p *Plan, s State) []board.Field {
	head, changed := e.spreadState(p, s)
	fields := headFields(head)
	if len(changed) > 0 {
		fields = append(fields, board.Field{Name: layout.FlowStateChanged, Value: pack(jsonText(changed))})
	}
	return fields
}

// spreadState parts a state into its head and the steps that are not as all begin.
func (e *Engine) spreadState(p *Plan, s State) (head State, changed map[int]*StepState) {
	head, steps := spread(p, s)
	head.Sums.Steps, head.Sums.Size = len(steps), recordSize(len(steps), e.spread.record)
	changed = map[int]*StepState{}
	for i := range steps {
		if st := &steps[i]; stepText(st) != stepText(&StepState{Status: domain.StepDormant}) {
			changed[i] = st
		}
	}
	return head, changed
}

// headFields are those of a state whose steps lie for themselves.
func headFields(head State) []board.Field {
	return []board.Field{
		{Name: layout.FlowStateData, Value: stateText(head)},
		{Name: layout.FlowStateRecords, Value: strconv.Itoa(head.Sums.records())},
	}
}

func stepText(st *StepState) string { return string(jsonText(st)) }

// known are the states of a flow's steps, as far as a round has read them.
type known struct {
	whole   whole // all of them, of a small flow
	size    int   // of a record
	records map[int]board.Record
	steps   map[int]*StepState
	reads   int
	bad     error // why a step cannot be read
}

func newKnown(s *stored) *known {
	if s.Sums == nil {
		return &known{whole: s.Steps, steps: map[int]*StepState{}}
	}
	return &known{size: s.Sums.Size, records: map[int]board.Record{}, steps: map[int]*StepState{}}
}

// At implements [Steps].
func (k *known) At(i int) *StepState {
	if k.records == nil {
		return k.whole.At(i)
	}
	if st := k.steps[i]; st != nil {
		return st
	}
	r, read := k.records[i/k.size]
	if !read {
		return nil
	}
	st := &StepState{Status: domain.StepDormant}
	if text, there := r.Lookup(strconv.Itoa(i)); there {
		if err := json.Unmarshal([]byte(text), st); err != nil && k.bad == nil {
			k.bad = domain.Invalidf("what is known of step %d cannot be read: %v", i, err)
		}
	}
	k.steps[i] = st
	return st
}

// know reads the records of steps. Who asks again in the same round asks for what follows
// from what it was given: each time twice as many records are read behind those.
func (t *tending) know(ctx context.Context, s *seen, steps []int) error {
	k := s.known
	if k.records == nil {
		return nil
	}
	wanted := marks(nil)
	for _, i := range steps {
		if _, read := k.records[i/k.size]; !read {
			if wanted == nil {
				wanted = newMarks(s.Sums.records())
			}
			wanted.add(i / k.size)
		}
	}
	if wanted == nil {
		return nil
	}
	var records []int
	for n, behind := 0, 0; n < s.Sums.records(); n++ {
		if wanted.has(n) {
			behind = 1 << min(k.reads, 16)
		}
		if _, read := k.records[n]; !read && behind > 0 {
			records = append(records, n)
		}
		behind--
	}
	k.reads++
	return t.readSteps(ctx, t.ref, k, records)
}

// fits reports whether the state is one of the plan's: somebody else may have written it.
//
// Errors: [domain.ErrInvalid].
func (s *seen) fits(plan *Plan) error {
	n := len(plan.Steps)
	if s.Sums == nil && len(s.Steps) == 0 {
		s.Steps = make([]StepState, n)
		for i := range s.Steps {
			s.Steps[i].Status = domain.StepDormant
		}
		s.known = newKnown(&s.stored)
	}
	if s.Sums == nil && len(s.Steps) == n || s.Sums != nil && s.Sums.Steps == n && s.Sums.within(len(plan.phases)) {
		return nil
	}
	return domain.Invalidf("the state of flow %d is not one of its %d steps", s.flow.ID, n)
}

// within reports whether the sums name nothing but steps, and one of so many phases.
func (s *Sums) within(phases int) bool {
	for _, ranks := range []Ranges{s.Ready, s.Made, s.Stopped, s.Waiting} {
		if len(ranks) > 0 && (ranks[0].Start < 0 || ranks[len(ranks)-1].End >= int64(s.Steps)) {
			return false
		}
	}
	return 0 <= s.Phase && s.Phase < phases && !slices.ContainsFunc(s.Told, func(i int) bool { return i < 0 || i >= s.Steps })
}

func (e *Engine) readSteps(ctx context.Context, p ref, k *known, records []int) error {
	keys := make([]string, len(records))
	for at, n := range records {
		keys[at] = layout.FlowSteps(p.id, n)
	}
	recs, err := e.board.Get(ctx, p.space, keys...)
	if err != nil {
		return err
	}
	for at, n := range records {
		k.records[n] = recs[at]
	}
	return nil
}

// readTries bounds how often a state is read again that changed between its parts.
const readTries = 5

// readState reads the state of a flow with all its steps.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) readState(ctx context.Context, p ref) (s stored, there bool, err error) {
	recs, err := e.board.Get(ctx, p.space, layout.FlowState(p.id))
	if err != nil || recs[0] == nil {
		return s, false, err
	}
	for range readTries {
		if s, err = decodeState(p.id, recs[0]); err != nil || s.Sums == nil {
			return s, true, err
		}
		round := s.Sums.Round
		if err = e.gatherSteps(ctx, p, &s); err != nil {
			return s, true, err
		}
		if recs, err = e.board.Get(ctx, p.space, layout.FlowState(p.id)); err != nil || recs[0] == nil {
			return s, false, err
		}
		if now, err := decodeState(p.id, recs[0]); err != nil || now.Sums == nil || now.Sums.Round == round {
			return s, true, err
		}
	}
	return s, true, nil // it moves too quickly: some steps are a little newer than others
}

// gatherSteps puts the steps to a state of which they lie for themselves.
func (e *Engine) gatherSteps(ctx context.Context, p ref, s *stored) error {
	k := newKnown(s)
	all := make([]int, s.Sums.records())
	for n := range all {
		all[n] = n
	}
	if err := e.readSteps(ctx, p, k, all); err != nil {
		return err
	}
	s.Steps = make([]StepState, s.Sums.Steps)
	for i := range s.Steps {
		s.Steps[i] = *k.At(i)
	}
	for i, text := range s.changed {
		var st StepState
		if err := json.Unmarshal(text, &st); err != nil && k.bad == nil {
			k.bad = domain.Invalidf("what is known of step %d cannot be read: %v", i, err)
		}
		if i >= 0 && i < len(s.Steps) {
			s.Steps[i] = st
		}
	}
	s.Sums = nil
	return k.bad
}

// putSteps adds to b the state as it is now, with the steps that have changed.
func (t *tending) putSteps(b *board.Batch, s *seen, next State, changed map[int]*StepState) {
	set := func(fields ...board.Field) { b.Set(t.claimed.Item, fields...) }
	if s.Sums == nil {
		next.Sums, next.Steps = nil, slices.Clone(s.Steps)
		for i := range changed {
			next.Steps[i] = *changed[i]
		}
		set(board.Field{Name: layout.FlowStateData, Value: stateText(next)})
		return
	}
	sums := *next.Sums
	sums.Round++
	next.Sums = &sums
	set(board.Field{Name: layout.FlowStateData, Value: stateText(next)})
	bytes := 0
	texts := make(map[int]string, len(changed))
	for i, st := range changed {
		text := stepText(st)
		if was, _ := s.known.records[i/sums.Size].Lookup(strconv.Itoa(i)); text != was {
			texts[i] = text
			bytes += len(text)
		}
	}
	if len(texts) > t.spread.commit || bytes > commitBytes {
		raw := make(map[int]json.RawMessage, len(texts))
		for i, text := range texts {
			raw[i] = json.RawMessage(text)
		}
		set(board.Field{Name: layout.FlowStateChanged, Value: pack(jsonText(raw))})
		return
	}
	putRecords(b, t.ref.id, sums.Size, texts)
}

// putRecords adds to b the texts of steps, where they lie.
func putRecords(b *board.Batch, id domain.FlowID, size int, texts map[int]string) {
	fields := map[int][]board.Field{}
	for _, i := range slices.Sorted(maps.Keys(texts)) {
		fields[i/size] = append(fields[i/size], board.Field{Name: strconv.Itoa(i), Value: texts[i]})
	}
	for _, n := range slices.Sorted(maps.Keys(fields)) {
		b.Set(layout.FlowSteps(id, n), fields[n]...)
	}
}

// spreadOut has the steps of a large flow lie for themselves that was written whole, by
// an earlier version or from the archive.
func (t *tending) spreadOut(ctx context.Context, plan *Plan, s *seen) error {
	b := t.batch()
	b.Set(t.claimed.Item, t.spreadFields(plan, s.State)...)
	return t.board.Commit(ctx, b)
}

// unfold puts what has changed to the steps, where they lie. A keeper that died in the
// middle is followed by one that does it all once more: until the last commit, nobody
// reads of these steps but what is put to them.
func (t *tending) unfold(ctx context.Context, s *seen) error {
	size := s.Sums.Size
	of := map[int][]int{}
	for i := range s.changed {
		of[i/size] = append(of[i/size], i)
	}
	for records := range slices.Chunk(slices.Sorted(maps.Keys(of)), unfoldRecords) {
		if err := t.renew(ctx); err != nil {
			return err
		}
		texts, bytes := map[int]string{}, 0
		b := t.batch()
		for _, n := range records {
			for _, i := range of[n] {
				texts[i] = string(s.changed[i])
				bytes += len(texts[i])
			}
			if bytes > commitBytes {
				putRecords(&b, t.ref.id, size, texts)
				if err := t.board.Commit(ctx, b); err != nil {
					return err
				}
				texts, bytes, b = map[int]string{}, 0, t.batch()
			}
		}
		putRecords(&b, t.ref.id, size, texts)
		if err := t.board.Commit(ctx, b); err != nil {
			return err
		}
	}
	b := t.batch()
	b.Unset(t.claimed.Item, layout.FlowStateChanged)
	return t.board.Commit(ctx, b)
}
