package listing

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
)

const (
	// gap is how many numbers in a row may be without a record until the rest is
	// looked for where an earlier epoch ended, and then by its keys: what is older has
	// been removed, mostly.
	gap = 1000
	// maxSeries bounds the series that are merged: each page looks at a part of each.
	maxSeries = 16
	// maxParts bounds the parts that epochs have made of them.
	maxParts = 4 * maxSeries
)

func timeOf(ms int64) time.Time { return time.UnixMilli(ms) }

// Numbers are records whose keys end in the numbers that a counter gives out.
type Numbers struct {
	// Name is what stands in the keys between the prefix and the number: "", or
	// "12:" of what actor 12 asked for.
	Name string
	// Counter is where the numbers come from.
	Counter string
}

// series is how far the numbers of one counter have been looked at: all from top
// down to at, without that. A counter has another one for each epoch: see [leap].
type series struct {
	name   string
	top    int64
	at     int64
	missed int // numbers in a row without a record, the last ones
}

func (s *series) done() bool { return s.at < 1 || s.missed >= gap }

// gapAt is the highest of the numbers without a record that were looked at last.
func (s *series) gapAt() int64 { return s.at + int64(s.missed) }

// has reports whether a number was looked at.
func (s *series) has(number int64) bool { return s.at < number && number <= s.top }

// Newest is a page of all records, newest first as far as they have numbers of the
// counters: those that a counter gave out last come first, and those of several
// counters by the instant in the field born. Behind a long gap in the numbers that no
// new epoch of the board has made, and for numbers above the counter, the order is the
// board's own. Which counters they
// are is settled by the first page.
func (r Records) Newest(ctx context.Context, numbers []Numbers, born, cursor string) (p Page, err error) {
	var list []series
	keys := ""
	if cursor == "" {
		list, err = r.begin(ctx, numbers)
	} else {
		list, keys, err = parseSeries(cursor)
	}
	if err != nil {
		return p, err
	}
	here := cursor
	if cursor == "" {
		here = seriesText(wayNumbers, list)
	}
	if here[0] == wayNumbers {
		if p, err = r.numbered(ctx, list, born); err != nil {
			return p, err
		}
		p.Here = here
		list = leap(list)
		if slices.ContainsFunc(list, func(s series) bool { return !s.done() }) {
			p.Next = seriesText(wayNumbers, list)
			return p, nil
		}
		if len(p.Keys) >= r.look() {
			p.Next = seriesText(wayRest, list) + "~"
			return p, nil
		}
	}
	rest, err := r.rest(ctx, list, keys)
	rest.Keys, rest.Records = append(p.Keys, rest.Keys...), append(p.Records, rest.Records...)
	rest.Looked, rest.Here = rest.Looked+p.Looked, here
	return rest, err
}

// Below is a cursor of [Records.Newest]: its page begins with the highest number below one,
// of the records whose keys have nothing between the prefix and the number.
func Below(number int64) string {
	return seriesText(wayNumbers, []series{{top: number - 1, at: number - 1}})
}

// leap adds to the series whose numbers have come to a gap that the counter may have made
// itself, when an epoch began, those below that gap. Where the gap is another, and there is
// nothing below it either, it is not gone on with.
func leap(list []series) []series {
	for i, s := range list {
		same := func(o series) bool { return o.name == s.name }
		below := s.gapAt() - board.EpochLeap
		wentOn, leapt := slices.ContainsFunc(list[i+1:], same), slices.ContainsFunc(list[:i], same)
		if s.missed < gap || below < 1 || wentOn || leapt && s.gapAt() == s.top || len(list) == maxParts {
			continue
		}
		list = append(list, series{name: s.name, top: below, at: below})
	}
	return list
}

// begin asks the counters how far they have come.
func (r Records) begin(ctx context.Context, numbers []Numbers) ([]series, error) {
	if len(numbers) > maxSeries {
		numbers = nil // merging so many would read most of what it reads for nothing
	}
	list := make([]series, len(numbers))
	for i, n := range numbers {
		next, err := r.Board.Next(ctx, r.Space, n.Counter, 0)
		if err != nil {
			return nil, err
		}
		list[i] = series{name: n.Name, top: next - 1, at: next - 1}
	}
	return list, nil
}

// window is what a page reads of a series: its records, highest number first.
type window struct {
	s       *series
	first   int // of its numbers, among those of the page
	n       int
	next    int // how many of them have been dealt with
	records []board.Record
}

// numbered is a page of the records that have numbers, merged from all series.
func (r Records) numbered(ctx context.Context, list []series, born string) (p Page, err error) {
	open := 0
	for i := range list {
		if !list[i].done() {
			open++
		}
	}
	if open == 0 {
		return p, nil
	}
	var keys []string
	var windows []*window
	for i := range list {
		if s := &list[i]; !s.done() {
			w := &window{s: s, first: len(keys), n: int(min(int64(max(1, r.look()/open)), s.at))}
			for k := range w.n {
				keys = append(keys, r.Prefix+s.name+strconv.FormatInt(s.at-int64(k), 10))
			}
			windows = append(windows, w)
		}
	}
	recs, err := r.read(ctx, keys)
	if err != nil {
		return p, err
	}
	for _, w := range windows {
		w.records = recs[w.first : w.first+w.n]
	}
	for {
		w := newest(windows, born)
		if w == nil {
			break
		}
		p.Keys, p.Records = append(p.Keys, keys[w.first+w.next]), append(p.Records, w.records[w.next])
		w.take()
	}
	p.Looked = len(p.Keys)
	return p, nil
}

// take goes past the record that the window is at.
func (w *window) take() {
	w.next++
	w.s.at--
	w.s.missed = 0
}

// skip goes past numbers without a record. It reports whether the window has a
// record; where it has none, more reports whether there may be some below it.
func (w *window) skip() (found, more bool) {
	for w.next < w.n && w.records[w.next] == nil {
		w.next++
		w.s.at--
		w.s.missed++
	}
	return w.next < w.n, w.s.at >= 1
}

// newest is the window that has the newest record; nil where there is none, or one
// of them is used up and what comes after it might be newer.
func newest(windows []*window, born string) (best *window) {
	when := int64(-1)
	for _, w := range windows {
		found, more := w.skip()
		switch {
		case !found && more:
			return nil
		case found && len(windows) == 1:
			return w
		case found:
			if at, _ := strconv.ParseInt(w.records[w.next].Get(born), 10, 64); best == nil || at > when {
				best, when = w, at
			}
		}
	}
	return best
}

// rest is a page of the keys that the numbers have not led to.
func (r Records) rest(ctx context.Context, list []series, cursor string) (p Page, err error) {
	keys, next, err := r.Board.Keys(ctx, r.Space, r.Prefix, cursor, r.look())
	if err != nil {
		return p, err
	}
	if next != "" {
		p.Next = seriesText(wayRest, list) + "~" + next
	}
	p.Keys = slices.DeleteFunc(keys, func(key string) bool {
		cut := max(len(r.Prefix), strings.LastIndexByte(key, ':')+1)
		name, digits := key[len(r.Prefix):cut], key[cut:]
		number, err := strconv.ParseInt(digits, 10, 64)
		return err == nil && digits == strconv.FormatInt(number, 10) &&
			slices.ContainsFunc(list, func(s series) bool { return s.name == name && s.has(number) })
	})
	p.Looked = len(p.Keys)
	p.Records, err = r.read(ctx, p.Keys)
	return p, err
}

// seriesText writes series as a cursor: "n12:.900.880.0,7:.5.0.0".
func seriesText(way byte, list []series) string {
	var b strings.Builder
	b.WriteByte(way)
	for i, s := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s.name + "." + strconv.FormatInt(s.top, 10) + "." + strconv.FormatInt(s.at, 10) + "." + strconv.Itoa(s.missed))
	}
	return b.String()
}

// parseSeries reads such a cursor, and the board's own that may stand behind it.
func parseSeries(cursor string) (list []series, keys string, err error) {
	text, keys, _ := strings.Cut(cursor[1:], "~")
	if text == "" {
		return nil, keys, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		f := strings.Split(part, ".")
		if len(f) != 4 || len(list) == maxParts {
			return nil, "", badCursor(cursor)
		}
		top, err1 := strconv.ParseInt(f[1], 10, 64)
		at, err2 := strconv.ParseInt(f[2], 10, 64)
		missed, err3 := strconv.Atoi(f[3])
		if cmp.Or(err1, err2, err3) != nil || at > top || at < 0 || top > 1<<40 || missed < 0 || !isName(f[0]) {
			return nil, "", badCursor(cursor)
		}
		list = append(list, series{name: f[0], top: top, at: at, missed: missed})
	}
	return list, keys, nil
}

// isName reports whether a text may stand in keys before a number: nothing, or a
// number and a colon.
func isName(s string) bool {
	digits, found := strings.CutSuffix(s, ":")
	_, err := strconv.ParseUint(digits, 10, 32)
	return s == "" || found && err == nil
}
