package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// This file has what ended in the last hour, minute by minute, as the archive counts it:
// whichever node or worker it was that did it.

const (
	hourMinutes = 60
	// hourAsks is how many minutes are counted for one page at least, and hourPatience for how
	// long others are beside these: where counting is dear, an hour of which nothing is known
	// yet takes some pages.
	hourAsks     = 4
	hourPatience = 10 * time.Millisecond
	// hourSettles is how long after a minute has passed its count may still change: what has
	// ended is on its way to the archive.
	hourSettles = 2 * time.Minute
	// hourFresh is for how long a count is shown that may still change, and hourPart how many
	// times as long as counting took at least: a page that changes many times a second does not
	// count thousands of records each time.
	hourFresh = time.Second
	hourPart  = 20
	// hoursMost bounds the contexts of which counts are kept.
	hoursMost = 1000
	// barWidth and barsHeight are those of the drawing, in pixels.
	barWidth   = 3
	barsHeight = 28.0
)

// hours are the counts of contexts.
type hours struct {
	mu sync.Mutex
	of map[domain.TenantID]*[hourMinutes]minute
}

// minute is how many jobs and flows ended in a minute.
type minute struct {
	number    int64 // minutes since 1970; 0: not counted
	well, bad int
	settled   bool
	asked     time.Time // when it was counted
	keep      time.Duration
}

// lastHour counts the last hour's minutes, oldest first: those of which it does not know
// are not counted yet. It is nil where there is no archive, it may not be asked, or does not answer.
func (v *visit) lastHour() ([]minute, error) {
	if !v.may(api.ArchiveSearch.Operation) {
		return nil, nil
	}
	h := &v.console.hours
	h.mu.Lock()
	if h.of == nil || len(h.of) > hoursMost {
		h.of = map[domain.TenantID]*[hourMinutes]minute{}
	}
	known := h.of[v.tenant.ID]
	if known == nil {
		known = &[hourMinutes]minute{}
		h.of[v.tenant.ID] = known
	}
	ring := *known
	h.mu.Unlock()
	now := v.now.Unix() / 60
	began, asks := time.Now(), 0
	for n := now; n > max(0, now-hourMinutes) && (asks < hourAsks || time.Since(began) < hourPatience); n-- {
		m := &ring[n%hourMinutes]
		if age := v.now.Sub(m.asked); m.number == n && (m.settled || age >= 0 && age < m.keep) {
			continue
		}
		asks++
		counting := v.console.cfg.Now()
		well, bad, ok, err := v.ends(n)
		if !ok || err != nil {
			return nil, err
		}
		*m = minute{n, well, bad, v.now.Sub(time.Unix((n+1)*60, 0)) > hourSettles, v.now, max(hourFresh, hourPart*v.console.cfg.Now().Sub(counting))}
	}
	h.mu.Lock()
	*known = ring
	h.mu.Unlock()
	list := make([]minute, 0, hourMinutes)
	for n := max(1, now-hourMinutes+1); n <= now; n++ {
		if m := ring[n%hourMinutes]; m.number == n {
			list = append(list, m)
		}
	}
	return list, nil
}

// withEnds are minutes in which at least so much ended in error as is known from elsewhere, by
// when it ended, in Unix milliseconds: the board tells of an end some seconds before the
// archive has it, and a page that shows what went wrong does not count none beside it.
func withEnds(list []minute, ends []int64) []minute {
	count := map[int64]int{}
	for _, ms := range ends {
		count[ms/60_000]++
	}
	list = slices.Clone(list)
	for i := range list {
		list[i].bad = max(list[i].bad, count[list[i].number])
	}
	return list
}

// rateText says how many ended in a minute, in its number since 1970: by the second where that is one or more. It
// names the minute, which is one of the clock: up to two minutes have passed since it began.
func rateText(list []minute, number int64) string {
	n := 0
	for _, m := range list {
		if m.number == number {
			n = m.well + m.bad
		}
	}
	in := " in the minute of " + time.Unix(number*60, 0).UTC().Format("15:04 MST")
	switch perSecond := float64(n) / 60; {
	case n == 0:
		return "none" + in
	case perSecond < 1:
		return strconv.Itoa(n) + in
	case perSecond < 10:
		return strconv.FormatFloat(perSecond, 'f', 1, 64) + " a second" + in
	default:
		return grouped(int(perSecond+0.5)) + " a second" + in
	}
}

// soFarText says how many have ended in the minute that goes on: the last full one is not what is now. "" where none has.
func soFarText(list []minute, number int64) string {
	for _, m := range list {
		if m.number == number && m.well+m.bad > 0 {
			return "; " + grouped(m.well+m.bad) + " in this one so far"
		}
	}
	return ""
}

// causesText says how those of flows and jobs went wrong that ended within the hour, most first: all of
// them, or the last ones of so many; "" where there are none.
func (v *visit) causesText(flows []domain.Flow, jobs []*domain.Job, all int) string {
	count, known := map[string]int{}, 0
	add := func(st state, endMs int64) {
		if v.now.UnixMilli()-endMs < hourMinutes*60_000 {
			count[st.Word]++
			known++
		}
	}
	for i := range flows {
		add(flowEnd(&flows[i]), flows[i].FinishedMs)
	}
	for _, j := range jobs {
		add(jobEnd(j), j.FinishedMs)
	}
	var parts []string
	for _, word := range slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) }) {
		parts = append(parts, grouped(count[word])+" "+word)
	}
	text := strings.Join(parts, ", ")
	if known > 0 && known < all {
		text = "of the last " + grouped(known) + ": " + text
	}
	return text
}

// neverRan are the reasons of jobs that others ended: these went in no way wrong themselves, and are not counted
// among what did.
var neverRan = []domain.Reason{domain.ReasonDependencyFailed, domain.ReasonFlowAborted}

// wrongLink leads to what the figure of the last hour's errors counts.
func (v *visit) wrongLink() string {
	var where []string
	for _, reason := range neverRan {
		where = append(where, fmt.Sprintf("record.reason != %q", string(reason)))
	}
	return v.path("archive") + with("status", string(domain.JobError), "since", "1h", "where", strings.Join(where, " && "))
}

// ends counts what ended well and badly in a minute, in its number since 1970. ok is as [visit.beside] has it.
func (v *visit) ends(number int64) (well, bad int, ok bool, err error) {
	var ended [2]int
	for i, status := range [...]domain.JobStatus{domain.JobFinished, domain.JobError} {
		found, ok, err := v.beside(api.ArchiveFilter{Status: string(status), FromMs: number * 60_000, ToMs: (number + 1) * 60_000, Count: true})
		if !ok || err != nil {
			return 0, 0, false, err
		}
		if found.Count != nil {
			ended[i] = found.Count.Matching
		}
	}
	for _, reason := range neverRan {
		if ended[1] == 0 {
			break
		}
		found, ok, err := v.beside(api.ArchiveFilter{Status: string(domain.JobError), Reason: string(reason), FromMs: number * 60_000,
			ToMs: (number + 1) * 60_000, Count: true})
		if !ok || err != nil {
			return 0, 0, false, err
		}
		if found.Count != nil {
			ended[1] = max(0, ended[1]-found.Count.Matching)
		}
	}
	return ended[0], ended[1], true, nil
}

// spark is a small drawing of the last hour.
type spark struct {
	Bars  []sparkBar
	Label string
}

// sparkBar is a minute.
type sparkBar struct {
	X                     int
	Y, Height             string // of what ended well
	BadY, BadHeight, Text string
}

// Width and Height are those of the drawing.
func (*spark) Width() int      { return hourMinutes * barWidth }
func (*spark) Height() float64 { return barsHeight }

// sparkOf draws minutes, as high as most of them had; bad alone where that is asked for.
func sparkOf(list []minute, now int64, bad bool) *spark {
	most, well, wrong := 1, 0, 0
	for _, m := range list {
		if bad {
			m.well = 0
		}
		most, well, wrong = max(most, m.well+m.bad), well+m.well, wrong+m.bad
	}
	s := &spark{Label: fmt.Sprintf("%s ended in the last hour, %s of them in error; at most %s in a minute", grouped(well+wrong), grouped(wrong), grouped(most))}
	pixels := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
	for _, m := range list {
		if bad {
			m.well = 0
		}
		if m.well+m.bad == 0 {
			continue
		}
		high := func(n int) float64 {
			if n == 0 {
				return 0
			}
			return max(1, barsHeight*float64(n)/float64(most))
		}
		w, b := high(m.well), high(m.bad)
		bar := sparkBar{X: barWidth * int(hourMinutes-1-(now-m.number)), Text: fmt.Sprintf("%s: %s ended, %s in error",
			time.Unix(m.number*60, 0).UTC().Format("15:04 MST"),
			grouped(m.well+m.bad), grouped(m.bad))}
		if w > 0 {
			bar.Y, bar.Height = pixels(max(0, barsHeight-b-w)), pixels(min(w, barsHeight-b))
		}
		if b > 0 {
			bar.BadY, bar.BadHeight = pixels(barsHeight-b), pixels(b)
		}
		s.Bars = append(s.Bars, bar)
	}
	return s
}

// grouped is a number as people read it: "12,345".
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
