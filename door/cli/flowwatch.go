package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

const (
	// maxBroken bounds the jobs whose last words are shown, maxWords the lines
	// of each.
	maxBroken, maxWords = 5, 5
)

// flowWatch shows how a flow goes.
type flowWatch struct {
	screen *screen
	// told is the status of each step that was written as a line.
	told map[string]string

	mu   sync.Mutex
	last domain.FlowView
}

func (a *app) flowWait() *cobra.Command {
	var p patience
	c := a.onFlow("wait", "Wait until a flow has ended, and show its result", func(ctx context.Context, n *client.Client, id domain.FlowID, _ []string) error {
		a.noteIdle()
		waiting, cancel := p.within(ctx)
		defer cancel()
		stop := a.tellLater(waiting, domain.FlowKey(id), func(ctx context.Context) string {
			if x, err := n.ExplainFlow(ctx, a.tenant(), id); err == nil && x.Standing != domain.StandingWorking {
				return x.Text
			}
			return ""
		})
		v, err := n.WatchFlow(waiting, a.tenant(), id, nil)
		stop()
		if p.over(ctx, waiting, err) {
			x, _ := n.ExplainFlow(ctx, a.tenant(), id)
			return notEnded(domain.FlowKey(id), "flow", p, x.Text)
		}
		if err != nil {
			return err
		}
		if err := a.printFlowEnd(&v); err != nil {
			return err
		}
		return flowFailure(&v)
	})
	c.Example = "  ramet flow wait 31 --timeout 1h"
	return p.endedInTime(c, "0 it succeeded, 1 it did not", "the flow")
}

// watchFlow shows a flow until it has ended. Where it is own, Ctrl-C cancels it.
//
// Errors: an exit code where it did not succeed.
func (a *app) watchFlow(ctx context.Context, n *client.Client, id domain.FlowID, own bool) error {
	a.noteIdle()
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
	if w.screen.live() {
		width, height := w.screen.size()
		for _, line := range stepLines(&v, time.UnixMilli(v.FinishedMs), width, height-4) {
			w.screen.note(line)
		}
	}
	a.lastWords(ctx, n, &v, w.screen)
	if err := a.printFlowEnd(&v); err != nil {
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

// lastWords shows what jobs wrote to standard error at their end that ended
// badly: on a throw-away node nobody can look it up later.
func (a *app) lastWords(ctx context.Context, n *client.Client, v *domain.FlowView, out *screen) {
	for _, b := range brokenJobs(v) {
		key, err := domain.ParseJobKey(b.key)
		if err != nil {
			continue
		}
		j, err := n.Job(ctx, a.tenant(), key)
		if err != nil {
			continue // it is no error not to know
		}
		lines := strings.Split(strings.TrimRight(j.Result["stderr"], "\n"), "\n")
		for _, line := range lines[max(0, len(lines)-maxWords):] {
			if line != "" {
				out.note(b.name + " │ " + visible(line))
			}
		}
	}
}

// broken is a job that ended badly, with what to call it.
type broken struct{ name, key string }

// brokenJobs are the first jobs of a flow that ended badly by themselves.
func brokenJobs(v *domain.FlowView) (list []broken) {
	for i := range v.Steps {
		s := &v.Steps[i]
		if !endedBadly(s) {
			continue
		}
		found := []broken{{s.Name, s.Job}}
		if !s.Kind.One() {
			found = nil
			for _, u := range s.Units {
				if u.Job != "" && (u.Outcome == "failed" || u.Outcome == "errored") {
					found = append(found, broken{s.Name + " " + cmp.Or(u.Key, strconv.FormatInt(u.ID, 10)), u.Job})
				}
			}
		}
		list = append(list, found...)
	}
	return list[:min(len(list), maxBroken)]
}

// printFlowEnd writes how the flow ended: all of it for programs, the result
// for people.
func (a *app) printFlowEnd(v *domain.FlowView) error {
	return a.printEnd(v, func(t *table) {
		t.field("flow", v.Key())
		t.field("result", string(v.Reason)+" in "+flowTook(&v.Flow))
		t.field("error", v.Error)
		resultFields(t, v.Result)
	})
}

// flowFailure is the exit code of a command that waited for a flow.
func flowFailure(v *domain.FlowView) error {
	if v.Final() && v.Status != domain.FlowFinished {
		return &exitError{code: exitFailed, text: fmt.Sprintf("%s %s", v.Key(), v.Reason)}
	}
	return nil
}

// saw takes in how the flow stands. Where no bars are drawn, each change of a
// step's status is a line.
func (w *flowWatch) saw(v domain.FlowView) error {
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
		width, height := w.screen.size()
		w.screen.draw(flowLines(&v, time.Now(), width, height-2))
		select {
		case <-draw.C:
		case <-ctx.Done():
			return
		}
	}
}

// flowTook is how long a flow took.
func flowTook(f *domain.Flow) string {
	if f.StartedMs == 0 || f.FinishedMs == 0 {
		return ""
	}
	return span(time.Duration(f.FinishedMs-f.StartedMs) * time.Millisecond)
}
