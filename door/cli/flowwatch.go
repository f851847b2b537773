package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// barWidth is how many characters a step's bar has.
const barWidth = 24

// flowWatch shows how a flow goes.
type flowWatch struct {
	screen *screen
	// told is the status of each step that was written as a line.
	told map[string]string

	mu   sync.Mutex
	last api.FlowView
}

// watchFlow shows a flow until it has ended. Where it is own, Ctrl-C cancels it.
//
// Errors: an exit code where it did not succeed.
func (a *app) watchFlow(ctx context.Context, n *client.Client, id domain.FlowID, own bool) error {
	var notes io.Writer = a.std.Err
	w := &flowWatch{screen: newScreen(a.std.Out, notes), told: map[string]string{}}
	drawing, stop := context.WithCancel(ctx)
	var drawer sync.WaitGroup
	if w.screen.live() {
		drawer.Go(func() { w.keepDrawn(drawing) })
	}
	v, err := n.WatchFlow(ctx, a.tenant(), id, w.saw)
	stop()
	drawer.Wait()
	w.screen.draw(nil)
	if err != nil && ctx.Err() != nil && own {
		return a.cancelFlow(ctx, n, id, w)
	}
	if err != nil {
		return err
	}
	if err := a.printFlowEnd(&v, w.screen.live()); err != nil {
		return err
	}
	return flowFailure(&v)
}

// cancelFlow cancels the flow of a command that was interrupted, and waits
// until nothing of it runs.
func (a *app) cancelFlow(ctx context.Context, n *client.Client, id domain.FlowID, w *flowWatch) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer done()
	w.screen.note("ramet: interrupted, cancelling " + domain.FlowKey(id))
	if _, err := n.CancelFlow(ctx, a.tenant(), id); err != nil {
		a.complain(err.Error())
	} else if _, err := n.WatchFlow(ctx, a.tenant(), id, nil); err != nil {
		a.complain(fmt.Sprintf("%s is cancelled but has not stopped yet: %v", domain.FlowKey(id), err))
	}
	return &exitError{code: exitInterrupted, text: "cancelled: " + domain.FlowKey(id)}
}

// printFlowEnd writes how the flow ended: all of it for programs; for people
// its steps where they saw bars that are gone, and the result.
func (a *app) printFlowEnd(v *api.FlowView, live bool) error {
	if a.output != outTable {
		return a.print(v, nil)
	}
	if live {
		for i := range v.Steps {
			fmt.Fprintln(a.std.Err, visible(stepLine(&v.Steps[i], nameWidth(v), time.UnixMilli(v.FinishedMs))))
		}
	}
	return a.print(v, func(t *table) {
		t.field("flow", v.Key())
		t.field("result", string(v.Reason)+" in "+flowTook(&v.Flow))
		t.field("error", v.Error)
		resultFields(t, v.Result)
	})
}

// flowFailure is the exit code of a command that waited for a flow.
func flowFailure(v *api.FlowView) error {
	if v.Final() && v.Status != domain.FlowFinished {
		return &exitError{code: exitFailed, text: fmt.Sprintf("%s %s", v.Key(), v.Reason)}
	}
	return nil
}

// saw takes in how the flow stands. Where no bars are drawn, each change of a
// step's status is a line.
func (w *flowWatch) saw(v api.FlowView) error {
	w.mu.Lock()
	w.last = v
	w.mu.Unlock()
	if w.screen.live() {
		return nil
	}
	for i := range v.Steps {
		s := &v.Steps[i]
		if w.told[s.Name] == string(s.Status) || w.told[s.Name] == "" && s.Status == "dormant" {
			continue
		}
		w.told[s.Name] = string(s.Status)
		line := fmt.Sprintf("%s: %s", s.Name, s.Status)
		if s.Total > 1 || s.Endless {
			line += ", " + doneText(s) + " done"
		}
		if s.Text != "" {
			line += ": " + s.Text
		}
		w.screen.note(visible(line))
	}
	return nil
}

// keepDrawn draws the bars until ctx ends.
func (w *flowWatch) keepDrawn(ctx context.Context) {
	draw := time.NewTicker(drawEvery)
	defer draw.Stop()
	for {
		w.mu.Lock()
		v := w.last
		w.mu.Unlock()
		w.screen.draw(flowLines(&v, time.Now()))
		select {
		case <-draw.C:
		case <-ctx.Done():
			return
		}
	}
}

// flowLines are a line for each step, and one for all.
func flowLines(v *api.FlowView, now time.Time) []string {
	if v.ID == 0 {
		return nil
	}
	width := nameWidth(v)
	lines := make([]string, 0, len(v.Steps)+1)
	for i := range v.Steps {
		lines = append(lines, stepLine(&v.Steps[i], width, now))
	}
	all := fmt.Sprintf("%s  %s", v.Key(), v.Status)
	if v.Progress != "" {
		all += "  " + v.Progress + " %"
	}
	if v.Paused {
		all += "  paused"
	}
	if v.StartedMs > 0 {
		all += "  " + span(now.Sub(time.UnixMilli(v.StartedMs)))
	}
	return append(lines, all)
}

// nameWidth is the width of the longest name of a step.
func nameWidth(v *api.FlowView) (width int) {
	for i := range v.Steps {
		width = max(width, len(v.Steps[i].Name))
	}
	return min(width, 32)
}

// stepLine is a step's bar, with counts and times.
func stepLine(s *api.StepView, width int, now time.Time) string {
	full := int(s.Progress*barWidth + 0.5)
	bar := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	if s.Endless {
		bar = strings.Repeat("▒", barWidth)
	}
	line := fmt.Sprintf("%-*s %s %-10s", width, s.Name, bar, s.Status)
	if s.Total > 1 || s.Endless {
		line += " " + doneText(s)
	}
	if s.Bad > 0 && s.Total != 1 {
		line += fmt.Sprintf(", %d bad", s.Bad)
	}
	if s.SinceMs > 0 {
		end := now
		if s.EndMs > 0 {
			end = time.UnixMilli(s.EndMs)
		}
		line += " " + span(max(0, end.Sub(time.UnixMilli(s.SinceMs))))
	}
	if s.Text != "" {
		line += "  " + s.Text
	}
	return line
}

// flowTook is how long a flow took.
func flowTook(f *domain.Flow) string {
	if f.StartedMs == 0 || f.FinishedMs == 0 {
		return ""
	}
	return span(time.Duration(f.FinishedMs-f.StartedMs) * time.Millisecond)
}
