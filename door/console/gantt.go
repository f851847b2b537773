package console

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// ganttWidth is that of all time of a flow, in the units of a row's drawing, which the
// browser stretches to the width there is.
const ganttWidth = 1000.0

// gantt shows when what of a flow waited and ran.
type gantt struct {
	Rows  []ganttRow
	Ticks []tick
	Now   float64 // 0: it has ended
}

// ganttRow is a step, or a job of one.
type ganttRow struct {
	Name, Link string
	State      state
	Took       string
	Job        bool
	Bars       []bar
	// Critical says that the flow would have ended earlier with a shorter step.
	Critical bool
}

// bar is a stretch of time.
type bar struct {
	X, Width float64
	Class    string // waiting, backoff, or that of the state
	Title    string
}

// tick is an instant of the axis.
type tick struct {
	X    float64
	Text string
}

// percent is where a tick stands, for its text, which is not stretched.
func (t tick) percent() string { return strconv.FormatFloat(t.X/ganttWidth*100, 'f', 2, 64) + "%" }

// Last reports whether a tick's text would reach over the edge.
func (t tick) Last() bool { return t.X > 0.95*ganttWidth }

// ganttOf reads the times of the steps that are shown of a flow, and of their jobs.
func (v *visit) ganttOf(f, whole *domain.FlowView) (*gantt, error) {
	jobs, err := v.flowJobs(f)
	if err != nil {
		return nil, err
	}
	from, to := cmp.Or(f.StartedMs, int64(f.CreatedAt)*1000), cmp.Or(f.FinishedMs, v.now.UnixMilli())
	for _, j := range jobs {
		if j.QueuedMs != 0 {
			from = min(from, j.QueuedMs)
		}
	}
	g := &gantt{}
	scale := func(ms int64) float64 {
		return ganttWidth * float64(min(max(ms, from), to)-from) / float64(max(1, to-from))
	}
	byStep := map[string][]*domain.Job{}
	for _, j := range jobs {
		byStep[j.Step] = append(byStep[j.Step], j)
	}
	critical := criticalSteps(whole)
	for i := range f.Steps {
		s := &f.Steps[i]
		own := byStep[s.Name]
		row := ganttRow{Name: s.Name, Link: v.path("flows/%d", f.ID) + query("step", s.Name), State: v.stepState(s), Took: v.took(s.SinceMs, s.EndMs),
			Critical: critical[f.StepsFrom-whole.StepsFrom+i]}
		if s.Kind.One() && len(own) == 1 {
			row.Bars = v.jobBars(own[0], scale)
		} else if s.SinceMs != 0 {
			row.Bars = []bar{barOf(scale(s.SinceMs), scale(cmp.Or(s.EndMs, to)), row.State.Class, row.State.Word+" "+row.Took)}
		}
		g.Rows = append(g.Rows, row)
		if !s.Kind.One() {
			g.Rows = append(g.Rows, v.ganttJobs(own, scale)...)
			if n := neverBegan(s); n > 0 && s.SinceMs != 0 {
				g.Rows = append(g.Rows, ganttRow{Name: strconv.FormatInt(n, 10) + " never began", Link: row.Link, State: state{"never began", skipped}, Job: true})
			}
		}
	}
	if !f.Final() {
		g.Now = scale(v.now.UnixMilli())
	}
	g.Ticks = ticks(to - from)
	return g, nil
}

// criticalSteps are the steps by their index that lead to the one that ended last, or still
// goes on: of what each needs, the one that ended last, and without needs the one that ended
// last before it began, for phases follow each other.
func criticalSteps(f *domain.FlowView) map[int]bool {
	end := func(i int) int64 {
		s := &f.Steps[i]
		if s.SinceMs != 0 && s.EndMs == 0 {
			return math.MaxInt64 // it goes on
		}
		return s.EndMs
	}
	index := map[string]int{}
	last := -1
	for i := range f.Steps {
		index[f.Steps[i].Name] = i
		if f.Steps[i].SinceMs != 0 && (last < 0 || end(i) > end(last)) {
			last = i
		}
	}
	list := map[int]bool{}
	for last >= 0 && !list[last] {
		list[last] = true
		at, before := last, -1
		for _, need := range f.Steps[at].Needs {
			if i, known := index[need]; known && f.Steps[i].SinceMs != 0 && (before < 0 || end(i) > end(before)) {
				before = i
			}
		}
		for i := range f.Steps {
			if len(f.Steps[at].Needs) == 0 && f.Steps[i].Phase < f.Steps[at].Phase && f.Steps[i].SinceMs != 0 && (before < 0 || end(i) > end(before)) {
				before = i
			}
		}
		last = before
	}
	if len(list) < 2 {
		return nil // there is no way to show
	}
	return list
}

// ganttJobs are the rows of a step's jobs, in the order in which they began.
func (v *visit) ganttJobs(jobs []*domain.Job, scale func(int64) float64) (rows []ganttRow) {
	slices.SortFunc(jobs, func(a, b *domain.Job) int {
		return cmp.Or(cmp.Compare(a.QueuedMs, b.QueuedMs), cmp.Compare(a.ID, b.ID))
	})
	for _, j := range jobs {
		rows = append(rows, ganttRow{Name: cmp.Or(shardName(j.Shard), j.Pack, strconv.Itoa(int(j.ID))), Link: v.path("jobs/%d/%d", j.CallerID, j.ID),
			State: jobState(j), Took: v.took(j.StartedMs, j.FinishedMs), Job: true, Bars: v.jobBars(j, scale)})
	}
	return rows
}

// jobBars are a job's time before its last attempt, in its queue, and in that attempt, and
// its pause before the next.
func (v *visit) jobBars(j *domain.Job, scale func(int64) float64) (bars []bar) {
	now := v.now.UnixMilli()
	made := int64(j.CreatedAt)*1000 + 999 // of a second, no more is known
	if j.Attempt > 1 && j.QueuedMs > made {
		bars = append(bars, barOf(scale(made), scale(j.QueuedMs), "backoff", plural(int(j.Attempt)-1, "attempt")+" before, and the pauses between: "+
			span(time.Duration(j.QueuedMs-made)*time.Millisecond)))
	}
	if j.NextRetryMs > now && !j.Final() {
		from := max(j.QueuedMs, j.StartedMs)
		if s := j.Suspended; s != nil {
			return append(bars, barOf(scale(from), scale(now), "backoff", fmt.Sprintf("attempt %d, then suspended in %s %s", j.Attempt, s.Kind, s.Name)))
		}
		return append(bars, barOf(scale(from), scale(now), "backoff", fmt.Sprintf("attempt %d, then a pause until the next in %s", j.Attempt,
			v.at(j.NextRetryMs).Ago)))
	}
	if j.QueuedMs != 0 {
		began := cmp.Or(j.StartedMs, j.FinishedMs, now)
		if began > j.QueuedMs {
			bars = append(bars, barOf(scale(j.QueuedMs), scale(began), waiting, "waited "+span(time.Duration(began-j.QueuedMs)*time.Millisecond)))
		}
	}
	if j.StartedMs != 0 {
		st := jobState(j)
		bars = append(bars, barOf(scale(j.StartedMs), scale(cmp.Or(j.FinishedMs, now)), st.Class, st.Word+" "+v.took(j.StartedMs, j.FinishedMs)))
	}
	return bars
}

// barOf is a bar that can be seen however short it is.
func barOf(from, to float64, class, title string) bar {
	return bar{X: min(from, ganttWidth-3), Width: max(3, to-from), Class: class, Title: title}
}

// tickSteps are the lengths between ticks that people read easily.
var tickSteps = []time.Duration{time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// ticks are up to six round instants of a length of time.
func ticks(ms int64) (list []tick) {
	all := time.Duration(max(1, ms)) * time.Millisecond
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if all/s <= 5 {
			step = s
			break
		}
	}
	for at := time.Duration(0); at <= all && len(list) < 7; at += step {
		list = append(list, tick{ganttWidth * float64(at) / float64(all), span(at)})
	}
	return list
}
