package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file shows what a context does now: what waits, who runs it, and what takes longest.

const (
	// topWaiting is how many waiting jobs are counted, topRows how many rows of each part
	// there are at the most.
	topWaiting = 500
	topRows    = 200
)

// topView is one look.
type topView struct {
	Context domain.TenantID `json:"context"`
	AtMs    int64           `json:"at_ms"`
	// Queues are those of script types; More says that there wait more than were counted.
	Queues  []topQueue       `json:"queues"`
	More    bool             `json:"more,omitzero"`
	Runners []topRunner      `json:"runners"`
	Flows   []domain.Flow    `json:"flows"`
	Slowest []*domain.Job    `json:"slowest"`
	failed  map[string]error // parts that could not be had
}

// topQueue is what waits of a script type, and who would take it.
type topQueue struct {
	Type    domain.ScriptType `json:"script_type"`
	Waiting int               `json:"waiting"`
	// OldestMs is since when the first of it waits, in Unix milliseconds.
	OldestMs int64 `json:"oldest_ms,omitzero"`
	// Running are jobs of the context; Slots are for all contexts.
	Running int `json:"running"`
	Slots   int `json:"slots"`
	Runners int `json:"runners"`
}

// topRunner is what one runner does of a type, for all contexts, as it said last.
type topRunner struct {
	Runner domain.RunnerID   `json:"runner"`
	Node   string            `json:"node"`
	Type   domain.ScriptType `json:"script_type"`
	Taken  int               `json:"taken"`
	Slots  int               `json:"slots"`
	// Why is why the type is not served; "" where it is.
	Why string `json:"why,omitzero"`
}

func (a *app) topCommand() *cobra.Command {
	every := watchEvery
	c := &cobra.Command{
		Use: "top", Short: "Show what a context does now: queues, runners, flows and the slowest jobs, live", Args: cobra.NoArgs,
		Example: "  ramet top --context 7\n  ramet top -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			if every < watchLeast {
				return domain.Invalidf("--every %v: want %v or more", every, watchLeast)
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.top(c.Context(), n, every) })
		},
	}
	c.Long = c.Short + `. On a terminal it goes on until q or Ctrl-C; elsewhere it is written once.

Keys: 1 queues, 2 runners, 3 flows, 4 slowest jobs, 0 all; space stops and goes on; + and - change how often; q ends.`
	c.Flags().DurationVar(&every, "every", every, "how often to look")
	return c
}

// top looks once, or on a terminal until somebody ends it.
func (a *app) top(ctx context.Context, n *client.Client, every time.Duration) error {
	f := newFrame(a.std.Out)
	view, err := lookTop(ctx, n, a.tenant(), time.Now())
	if err != nil {
		return err
	}
	if !f.live() || a.output != outTable {
		return a.print(view, func(t *table) { io.WriteString(a.std.Out, strings.Join(topLines(&view, 0, 0), "\n")+"\n") })
	}
	keys, restore := a.keys()
	defer restore()
	defer func() { io.WriteString(f.w, backScreen) }()
	s := topState{every: every}
	for {
		width, height := f.size()
		f.draw(append([]string{s.head(&view, err, width)}, topLines(&view, s.part, height-4)...))
		next := time.NewTimer(s.every)
		select {
		case <-ctx.Done():
			next.Stop()
			return nil
		case k, open := <-keys:
			next.Stop()
			if !open {
				keys = nil
			} else if s.press(k); s.ended {
				return nil
			}
			continue
		case <-next.C:
		}
		if s.stopped {
			continue
		}
		var newer topView
		if newer, err = lookTop(ctx, n, a.tenant(), time.Now()); err == nil {
			view = newer
		} else if ctx.Err() == nil && !passes(err) {
			return err
		}
	}
}

// keys are what is typed, one by one, until restore is called.
func (a *app) keys() (keys chan byte, restore func()) {
	keys, restore = make(chan byte, 16), func() {}
	in, ok := a.std.In.(*os.File)
	if ok && term.IsTerminal(int(in.Fd())) {
		if was, err := term.MakeRaw(int(in.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(in.Fd()), was) }
		}
	}
	if !ok {
		close(keys)
		return keys, restore
	}
	go func() { // ends with the process: nothing else is read after this
		defer close(keys)
		var one [1]byte
		for {
			if _, err := in.Read(one[:]); err != nil {
				return
			}
			keys <- one[0]
		}
	}()
	return keys, restore
}

// topState is what keys change.
type topState struct {
	part    int // 1 to 4; 0: all
	every   time.Duration
	stopped bool
	ended   bool
}

// interruptKey is what Ctrl-C sends to a program that reads each key.
const interruptKey = 3

func (s *topState) press(key byte) {
	switch key {
	case 'q', 'Q', interruptKey:
		s.ended = true
	case ' ':
		s.stopped = !s.stopped
	case '+':
		s.every = max(s.every/2, watchLeast)
	case '-':
		s.every = min(s.every*2, time.Minute)
	case '0', '1', '2', '3', '4':
		s.part = int(key - '0')
	}
}

// head is the first line.
func (s *topState) head(v *topView, err error, width int) string {
	text := fmt.Sprintf("context %d   %s   every %v   1-4 0 space + - q", v.Context, clock(v.AtMs), s.every)
	switch {
	case s.stopped:
		text = "STOPPED   " + text
	case err != nil:
		text = "no answer: " + err.Error()
	}
	return text
}

// lookTop asks for all parts at once. What the caller may not see is left out, and said.
//
// Errors: those of the jobs, without which there is nothing to show.
func lookTop(ctx context.Context, n *client.Client, tenant domain.TenantID, now time.Time) (topView, error) {
	v := topView{Context: tenant, AtMs: now.UnixMilli(), failed: map[string]error{}}
	var runners api.RunnerPage
	var waits, runs api.JobPage
	var flows api.FlowPage
	var none error
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		waits, err = n.Jobs(ctx, api.ListJobsParams{Context: tenant, JobFilter: api.JobFilter{Phase: domain.PhaseQueued}, Limit: topWaiting})
		return err
	})
	g.Go(func() (err error) {
		runs, err = n.Jobs(ctx, api.ListJobsParams{Context: tenant, JobFilter: api.JobFilter{Phase: domain.PhaseRunning}, Limit: topRows})
		return err
	})
	var noFlows error
	onBoard := now // the board's clock
	g.Go(func() error {
		if info, err := n.Info(ctx); err == nil && info.BoardMs != 0 {
			onBoard = time.UnixMilli(info.BoardMs)
		}
		runners, none = n.Runners(ctx, tenant)
		return nil
	})
	g.Go(func() error {
		flows, noFlows = n.Flows(ctx, api.ListFlowsParams{Context: tenant, FlowFilter: api.FlowFilter{Status: domain.FlowStarted}, Limit: topRows})
		return nil
	})
	if err := g.Wait(); err != nil {
		return v, err
	}
	if none != nil {
		v.failed["runners"] = none
	}
	if noFlows != nil {
		v.failed["flows"] = noFlows
	}
	v.Slowest = runs.Jobs
	slices.SortStableFunc(v.Slowest, func(a, b *domain.Job) int { return cmp.Compare(a.StartedMs, b.StartedMs) })
	v.Queues, v.Runners = topQueues(runners.Runners, waits.Jobs, v.Slowest, onBoard)
	v.More, v.Flows = waits.Next != "", flows.Flows
	return v, nil
}

// topQueues counts by script type what waits and runs, and who is there.
func topQueues(runners []domain.Runner, waits, runs []*domain.Job, now time.Time) (queues []topQueue, rows []topRunner) {
	by := map[domain.ScriptType]*topQueue{}
	of := func(t domain.ScriptType) *topQueue {
		if by[t] == nil {
			by[t] = &topQueue{Type: t}
		}
		return by[t]
	}
	for _, r := range runners {
		if r.Node != "" && !r.Alive(now) {
			continue
		}
		for _, s := range r.Serves {
			row := topRunner{Runner: r.ID, Node: cmp.Or(r.Node, r.Worker, r.Address), Type: s.ScriptType, Taken: s.Taken, Slots: s.Slots, Why: s.Why}
			rows = append(rows, row)
			if s.Served {
				q := of(s.ScriptType)
				q.Runners, q.Slots = q.Runners+1, q.Slots+s.Slots
			}
		}
	}
	for _, j := range waits {
		q := of(j.ScriptType)
		q.Waiting++
		if at := cmp.Or(j.QueuedMs, int64(j.CreatedAt)*1000); q.OldestMs == 0 || at < q.OldestMs {
			q.OldestMs = at
		}
	}
	for _, j := range runs {
		of(j.ScriptType).Running++
	}
	for _, t := range slices.Sorted(maps.Keys(by)) {
		queues = append(queues, *by[t])
	}
	slices.SortStableFunc(queues, func(a, b topQueue) int { return cmp.Or(b.Waiting-a.Waiting, b.Running-a.Running) })
	slices.SortStableFunc(rows, func(a, b topRunner) int { return cmp.Or(b.Taken-a.Taken, cmp.Compare(a.Why, b.Why)) })
	return queues, rows
}

// topLines are the parts as tables: one of them, or all (0), each with so many rows that
// they fit a height (0: any).
func topLines(v *topView, part, height int) (lines []string) {
	now := time.UnixMilli(v.AtMs)
	since := func(ms int64) string {
		if ms == 0 {
			return ""
		}
		return span(max(now.Sub(time.UnixMilli(ms)), 0))
	}
	parts := []struct {
		name, none string
		rows       [][]any
	}{
		{"QUEUE\tWAITING\tOLDEST\tRUNNING\tSLOTS\tRUNNERS", "nothing waits, and nobody serves a type", nil},
		{"RUNNER\tNODE\tTYPE\tRUNNING\tSLOTS\t", "no runner is there", nil},
		{"FLOW\tOF\tDONE\tSINCE", "no flow goes on", nil},
		{"JOB\tTYPE\tRUNNING\tATTEMPT\tBY", "no job runs", nil},
	}
	for _, q := range v.Queues {
		waiting := fmt.Sprint(q.Waiting)
		if v.More {
			waiting = "≥" + waiting
		}
		parts[0].rows = append(parts[0].rows, []any{q.Type, waiting, since(q.OldestMs), q.Running, q.Slots, q.Runners})
	}
	for _, r := range v.Runners {
		parts[1].rows = append(parts[1].rows, []any{r.Runner, r.Node, r.Type, r.Taken, r.Slots, r.Why})
	}
	for i := range v.Flows {
		f := &v.Flows[i]
		done := ""
		if f.Progress != "" {
			done = f.Progress + " %"
		}
		parts[2].rows = append(parts[2].rows, []any{f.ID, strings.TrimSuffix(f.Blueprint+" "+f.Trigger, " "), done,
			since(cmp.Or(f.StartedMs, int64(f.CreatedAt)*1000))})
	}
	for _, j := range v.Slowest {
		parts[3].rows = append(parts[3].rows, []any{j.Key(), j.ScriptType, since(j.StartedMs), j.Attempt, j.LeaseOwner})
	}
	if err := v.failed["runners"]; err != nil {
		parts[1].none = "not to be had: " + err.Error()
	}
	if err := v.failed["flows"]; err != nil {
		parts[2].none = "not to be had: " + err.Error()
	}
	each := topRows
	if part > 0 {
		parts = parts[part-1 : part]
	}
	if height > 0 {
		each = max(height/len(parts)-2, 1)
	}
	for _, p := range parts {
		var b bytes.Buffer
		t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		fmt.Fprintln(t, p.name)
		for _, row := range p.rows[:min(len(p.rows), each)] {
			for i, c := range row {
				if i > 0 {
					fmt.Fprint(t, "\t")
				}
				fmt.Fprint(t, cell(fmt.Sprint(c)))
			}
			fmt.Fprintln(t)
		}
		_ = t.Flush() // a buffer takes all
		if len(p.rows) == 0 {
			b.WriteString("  " + visible(p.none) + "\n")
		} else if more := len(p.rows) - each; more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
		lines = append(append(lines, strings.Split(strings.TrimRight(b.String(), "\n"), "\n")...), "")
	}
	return lines[:len(lines)-1]
}
