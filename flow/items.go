package flow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file has the lists of steps that are done for each element of one.

// answerLists finds the lists that were asked for, as much as there is time for, and puts
// them on the board: a step is opened by how many elements there are and where they lie.
// What was put there for a step that is not opened, because the keeper dies before that,
// goes with the flow.
func (t *tending) answerLists(ctx context.Context, plan *Plan, s *seen, v *verdict, f *Facts, begun time.Time) error {
	for _, i := range v.AskList {
		if f.Later = f.Later || len(f.Lists)+len(f.Whens) > 0 && time.Since(begun) >= whenTime; f.Later {
			return nil
		}
		l, fault, err := t.listOf(ctx, plan, s, v, i)
		if err != nil {
			return err
		}
		f.Lists[i] = ListAnswer{Count: int64(len(l.items)), First: s.lists, Err: fault}
		if err := t.putItems(ctx, s, s.lists, l); err != nil {
			return err
		}
	}
	return nil
}

// hasList reports whether the flow keeps something for each unit of the step: its element,
// its child, what it leaves.
func hasList(s *domain.Step) bool { return s.Listed() || s.KindOr() == domain.StepFlow }

// list is what a step is done for: elements as JSON, and their names, where they have any.
type list struct{ items, names []string }

// listOf is the list of a step as it is now, or why there is none.
func (t *tending) listOf(ctx context.Context, plan *Plan, s *seen, v *verdict, i int) (l list, fault string, err error) {
	if !plan.Steps[i].Listed() {
		return list{items: []string{"null"}}, "", nil
	}
	needs, err := t.needed(ctx, plan, s, v, i, soughtByList(&plan.Steps[i]))
	if cannotBe(err) {
		return l, "each: " + err.Error(), nil
	} else if err != nil {
		return l, "", err
	}
	step, params := &plan.Steps[i], stepParams(plan, i, s.added)
	return makeList(step, func(text string) ([]string, string, error) { return t.list(ctx, text, params, needs) },
		func(items []string) ([]string, string, error) { return t.names(ctx, step.Key, items) })
}

// makeList makes the list of a step by what evaluates its expressions and its key, or says
// why there is none.
//
// Errors: those of eval and name.
func makeList(step *domain.Step, eval func(text string) (items []string, fault string, err error),
	name func(items []string) (names []string, fault string, err error)) (l list, fault string, err error) {
	field := "each: "
	if step.Matrix != nil {
		field = "matrix: "
		l.items, fault, err = product(step.Matrix, eval)
	} else {
		l.items, fault, err = eval(step.Each)
	}
	if fault == "" && err == nil {
		field = "key: "
		l.names, fault, err = name(l.items)
	}
	if fault != "" {
		return list{}, field + fault, err
	}
	return l, "", err
}

// list evaluates an expression whose value is a list, when it is the context's turn, and
// gives its elements as JSON, or says why there are none.
//
// Errors: the context's.
func (t *tending) list(ctx context.Context, text string, params map[string]string, needs map[string]needed) (items []string, fault string, err error) {
	done, err := t.turns.Take(ctx, t.tenant())
	if err != nil {
		return nil, "", err
	}
	defer done()
	items, fault = evalList(ctx, text, params, needs)
	return items, fault, nil
}

// evalList evaluates an expression whose value is a list.
func evalList(ctx context.Context, text string, params map[string]string, needs map[string]needed) (items []string, fault string) {
	c, err := blueprint.CompileEach(text)
	if err != nil {
		return nil, err.Error()
	}
	v, err := c.Value(ctx, condition.Texts(params), needsValue(needs))
	switch {
	case err != nil:
		return nil, err.Error()
	case !v.Is(value.ArrayKind):
		return nil, noList(v)
	}
	list := v.AsArray().Items
	if len(list) > domain.MaxEach {
		return nil, blueprint.TooManyElements(len(list))
	}
	items, total := make([]string, len(list)), 0
	for i := range list {
		item, err := value.AppendJSON(nil, list[i])
		if err != nil {
			return nil, fmt.Sprintf("element %d is no JSON: %v", i, err)
		}
		if len(item) > domain.MaxItemBytes {
			return nil, fmt.Sprintf("element %d has %d bytes as JSON, the limit is %d; hand on where it is instead", i, len(item), domain.MaxItemBytes)
		}
		if total += len(item); total > domain.MaxListBytes {
			return nil, fmt.Sprintf("its elements have more than %d bytes together as JSON; hand on where they are instead", domain.MaxListBytes)
		}
		items[i] = string(item)
	}
	return items, ""
}

// noList says that a value is no list, and how one is made of it.
func noList(v value.Value) string {
	text := "it is " + condition.Word(v) + ", want a list"
	switch {
	case v.Is(value.StringKind):
		text += "; parse_json(...) makes one of JSON, .split(\",\") of a text with commas"
	case v.Is(value.MapKind):
		text += "; .keys() and .values() are lists of what it has"
	case v.Is(value.UnitKind):
		text += "; is there what it names?"
	}
	return text
}

// listPart is how many records of a list go into one commit.
const listPart = 200

// putItems writes the elements of a list from a record on, some records at a time.
func (t *tending) putItems(ctx context.Context, s *seen, record int, l list) error {
	for from := 0; from < len(l.items); {
		b, bytes := t.batch(), 0
		for n := 0; from < len(l.items) && bytes < partBytes && n < listPart; from, n = from+layout.ListSize, n+1 {
			var fields []board.Field
			for i := from; i < min(from+layout.ListSize, len(l.items)); i++ {
				fields = append(fields, board.Field{Name: strconv.Itoa(i), Value: l.items[i]})
				bytes += len(l.items[i])
				if l.names != nil {
					fields = append(fields, board.Field{Name: strconv.Itoa(i) + itemName, Value: l.names[i]})
					bytes += len(l.names[i])
				}
			}
			b.Set(layout.FlowItems(t.ref.id, record), fields...)
			record++
		}
		s.lists = max(s.lists, record)
		b.Set(layout.FlowState(t.ref.id), board.Field{Name: layout.FlowStateLists, Value: strconv.Itoa(s.lists)})
		if err := t.renew(ctx); err != nil {
			return err
		}
		if err := t.board.Commit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// itemName ends the name of the field with an element's name.
const itemName = ".key"

// item is an element: JSON, and its name, where it has one.
type item struct{ text, name string }

// itemAt is an element of the list of a step.
type itemAt struct {
	step int
	at   int64
}

// itemsOf reads the elements that units are made for.
func (t *tending) itemsOf(ctx context.Context, plan *Plan, v *verdict, places []Place) (map[itemAt]item, error) {
	var items map[itemAt]item
	for i, ats := range eachOf(plan, v, places) {
		if items == nil {
			items = map[itemAt]item{}
		}
		read, err := t.readItems(ctx, v.changed[i].List, ats)
		if err != nil {
			return nil, err
		}
		for n, at := range ats {
			items[itemAt{i, at}] = read[n]
		}
	}
	return items, nil
}

// readItems reads elements of a list that lies from a record on; empty of one that is not there.
func (t *tending) readItems(ctx context.Context, first int, ats []int64) ([]item, error) {
	var keys []string
	for _, at := range ats {
		keys = append(keys, layout.FlowItems(t.ref.id, first+int(at/layout.ListSize)))
	}
	distinct := slices.Clone(keys)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	recs, err := board.Readable(t.board.Get(ctx, t.ref.space, distinct...))
	if err != nil {
		return nil, err
	}
	read := make([]item, len(ats))
	for n, at := range ats {
		k, _ := slices.BinarySearch(distinct, keys[n])
		name := strconv.FormatInt(at, 10)
		read[n] = item{recs[k].Get(name), recs[k].Get(name + itemName)}
	}
	return read, nil
}

// eachOf are the elements that units are for, by their steps.
func eachOf(plan *Plan, v *verdict, places []Place) map[int][]int64 {
	var of map[int][]int64
	for _, p := range places {
		if plan.Steps[p.Step].KindOr() == domain.StepEach {
			if of == nil {
				of = map[int][]int64{}
			}
			of[p.Step] = append(of[p.Step], v.changed[p.Step].Open[p.Open].ID)
		}
	}
	return of
}

// removeLists removes the elements of lists and the results of their jobs, some records at a
// time, while guards hold.
func (e *Engine) removeLists(ctx context.Context, p ref, lists int, guards ...board.Guard) error {
	for from := 0; from < lists; from += removePage {
		b := board.Batch{Space: p.space, Guards: slices.Clone(guards)}
		for n := from; n < min(from+removePage, lists); n++ {
			b.Delete(layout.FlowItems(p.id, n)).Delete(layout.FlowResults(p.id, n)).Delete(layout.FlowChildren(p.id, n))
		}
		if err := e.board.Commit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

const (
	// maxKeptLists bounds what the archive keeps of a flow's lists, in bytes, where it may be started
	// again, and maxKeptRecords how many records these have: they are put back in one commit. Of one
	// that has succeeded it keeps what another may take over; see [maxTakenLists].
	maxKeptLists   = 8 << 20
	maxKeptRecords = 256
)

// keptLists are the lists that a flow's steps are done for, as the archive keeps them of a
// flow that may be started again, or be taken over: records of elements, and of results.
type keptLists struct {
	Items   []map[string]string `json:"items"`
	Results []map[string]string `json:"results"`
	// Children are the numbers of flows that its steps have made.
	Children []map[string]string `json:"children,omitempty"`
	// Cut is set where they were too large to be kept.
	Cut bool `json:"cut,omitempty"`
}

// keepLists reads the lists of a flow, where they are not longer than most.
func (e *Engine) keepLists(ctx context.Context, p ref, lists, most int) (k keptLists, err error) {
	if lists > maxKeptRecords {
		return keptLists{Cut: true}, nil
	}
	bytes := 0
	fields := func(r board.Record) map[string]string {
		m := make(map[string]string, len(r))
		for _, f := range r {
			m[f.Name] = f.Value
			bytes += len(f.Value)
		}
		return m
	}
	for n := range lists {
		recs, err := board.Readable(e.board.Get(ctx, p.space, layout.FlowItems(p.id, n), layout.FlowResults(p.id, n), layout.FlowChildren(p.id, n)))
		if err != nil {
			return k, err
		}
		k.Items, k.Results, k.Children = append(k.Items, fields(recs[0])), append(k.Results, fields(recs[1])), append(k.Children, fields(recs[2]))
		if bytes > most {
			return keptLists{Cut: true}, nil
		}
	}
	return k, nil
}

// restore puts them back.
func (k *keptLists) restore(id domain.FlowID, put func(key string, fields ...board.Field) error) error {
	if k == nil {
		return nil
	}
	for n := range k.Items {
		records := map[string]map[string]string{layout.FlowItems(id, n): k.Items[n], layout.FlowResults(id, n): k.Results[n]}
		if n < len(k.Children) {
			records[layout.FlowChildren(id, n)] = k.Children[n]
		}
		for key, texts := range records {
			var fields []board.Field
			for name, value := range texts {
				fields = append(fields, board.Field{Name: name, Value: value})
			}
			if len(fields) == 0 {
				continue
			}
			if err := put(key, fields...); err != nil {
				return err
			}
		}
	}
	return nil
}
