package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file lays out a flow on a terminal: a bar for each step, and a line for
// all of it.

const (
	// fullBar and leastBar are how many characters a bar has.
	fullBar, leastBar = 24, 8
	// longName is what a name may take before bars get shorter for it, leastName
	// what is kept of one, however narrow the terminal.
	longName, leastName = 30, 12
	// leastText is what must fit beside a bar to be worth it.
	leastText = 10
)

// flowLines are a bar for each step and a line for the flow, in up to room
// lines: where there are more steps, those that run and those that ended badly
// are shown, and the rest is counted.
func flowLines(v *domain.FlowView, now time.Time, width, room int) []string {
	if v.ID == 0 {
		return nil
	}
	return append(stepLines(v, now, width, room-1), flowLine(v, now))
}

func flowLine(v *domain.FlowView, now time.Time) string {
	line := v.Key() + "  " + string(v.Status)
	if v.Progress != "" {
		line += "  " + v.Progress + " %"
	}
	if v.Paused {
		line += "  paused"
	}
	if v.StartedMs > 0 {
		line += "  " + span(now.Sub(time.UnixMilli(v.StartedMs)))
	}
	return line
}

// stepRow is a step in words.
type stepRow struct {
	step   *domain.StepView
	detail string // counts and time
	lines  int    // how many it takes
}

// columns are the widths of a flow's rows.
type columns struct{ all, name, bar, status, detail int }

// stepLines are the bars of the steps, in up to room lines.
func stepLines(v *domain.FlowView, now time.Time, width, room int) (lines []string) {
	rows := make([]stepRow, len(v.Steps))
	for i := range v.Steps {
		rows[i] = stepRow{step: &v.Steps[i], detail: stepDetail(&v.Steps[i], now)}
	}
	c := columnsOf(rows, width)
	shown, rest := choose(rows, c, room)
	for i := range shown {
		lines = append(lines, shown[i].draw(c)...)
	}
	if rest != "" {
		lines = append(lines, rest)
	}
	return lines
}

// columnsOf shares out the width: long names give way first, then the bars,
// then the names again.
func columnsOf(rows []stepRow, width int) columns {
	c := columns{all: width, bar: fullBar}
	for i := range rows {
		r := &rows[i]
		c.name = max(c.name, len(r.step.Name))
		c.status = max(c.status, len(r.step.Status))
		c.detail = max(c.detail, len(r.detail))
	}
	over := c.name + c.bar + c.status + c.detail + 4 - width
	give := func(from *int, least int) {
		n := max(0, min(over, *from-least))
		*from -= n
		over -= n
	}
	give(&c.name, longName)
	give(&c.bar, leastBar)
	give(&c.name, leastName)
	return c
}

// stepDetail is how much of a step is done, and how long it took.
func stepDetail(s *domain.StepView, now time.Time) string {
	var parts []string
	if s.Total > 1 || s.Endless {
		parts = append(parts, doneText(s))
	}
	if s.Bad > 0 && s.Total != 1 {
		parts = append(parts, fmt.Sprintf("%d bad", s.Bad))
	}
	if s.SinceMs > 0 {
		if s.EndMs > 0 {
			now = time.UnixMilli(s.EndMs)
		}
		parts = append(parts, span(max(0, now.Sub(time.UnixMilli(s.SinceMs)))))
	}
	return strings.Join(parts, "  ")
}

// choose picks the rows that fit, and counts the others.
func choose(rows []stepRow, c columns, room int) (shown []stepRow, rest string) {
	all := 0
	for i := range rows {
		rows[i].lines = len(rows[i].draw(c))
		all += rows[i].lines
	}
	if all <= room {
		return rows, ""
	}
	room-- // for the line about the rest
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := rows[a].step, rows[b].step
		return cmp.Or(cmp.Compare(rank(x), rank(y)), cmp.Compare(y.EndMs, x.EndMs))
	})
	begun := slices.IndexFunc(order, func(i int) bool { return !endedBadly(rows[i].step) })
	if begun > newsMost {
		// Else what runs would not be seen any more.
		older := slices.Clone(order[newsMost:begun])
		order = append(append(order[:newsMost:newsMost], order[begun:]...), older...)
	}
	used, n := 0, 0
	for n < len(order) && used+rows[order[n]].lines <= room {
		used += rows[order[n]].lines
		n++
	}
	left := map[string]int{}
	for _, i := range order[n:] {
		left[string(rows[i].step.Status)]++
	}
	order = order[:n]
	slices.Sort(order)
	for _, i := range order {
		shown = append(shown, rows[i])
	}
	return shown, restText(len(rows)-n, left)
}

// newsMost is how many steps that ended badly go before those that run.
const newsMost = 4

// rank orders steps by how much somebody who looks wants to see them.
func rank(s *domain.StepView) int {
	switch {
	case endedBadly(s):
		return 0
	case s.Status.Begun():
		return 1
	case !s.Status.Done():
		return 2
	}
	return 3
}

// endedBadly reports whether a step did, by itself.
func endedBadly(s *domain.StepView) bool {
	return s.Status == "failed" || s.Status == "errored" || s.Status == "failed_accepted"
}

// restText counts steps that are not shown.
func restText(n int, by map[string]int) string {
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d %s", by[status], status))
	}
	return fmt.Sprintf("and %d more: %s", n, strings.Join(parts, ", "))
}

// draw writes the row. What there is to say about the step stands beside its
// bar; where it does not fit it is cut, or stands below, if the step runs or
// ended badly.
func (r *stepRow) draw(c columns) []string {
	s := r.step
	full := int(s.Progress*float64(c.bar) + 0.5)
	bar := strings.Repeat("█", full) + strings.Repeat("░", c.bar-full)
	if s.Endless && s.Status.Begun() {
		bar = strings.Repeat("▒", c.bar)
	}
	line := fmt.Sprintf("%-*s %s %-*s %s", c.name, shorten(s.Name, c.name), bar, c.status, s.Status, r.detail)
	text := []rune(visible(s.Text))
	if len(text) == 0 {
		return []string{strings.TrimRight(line, " ")}
	}
	room := c.all - (c.name + c.bar + c.status + c.detail + 6)
	switch {
	case len(text) <= room:
	case rank(s) < 2:
		return []string{strings.TrimRight(line, " "), "  " + string(text)}
	case room < leastText:
		text = nil
	default:
		text = append(text[:room-1], '…')
	}
	return []string{strings.TrimRight(fmt.Sprintf("%s%*s  %s", line, c.detail-len(r.detail), "", string(text)), " ")}
}

// shorten cuts the middle out of a name that is too long: its ends tell it
// from others.
func shorten(name string, width int) string {
	if len(name) <= width {
		return name
	}
	tail := (width - 1) / 2
	return name[:width-1-tail] + "…" + name[len(name)-tail:]
}
