package node

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// Inspection is what was found of a node's runtimes.
type Inspection struct {
	services []domain.Service // of all, in their order
	served   []script.Runtime // those that work here
}

// Inspect asks every runtime what it is and whether it works here, all at once: each
// mostly waits for a process of its own. Who has more to open before [New] calls it
// beside that.
func Inspect(ctx context.Context, runtimes []script.Runtime, slots map[domain.ScriptType]int, log *slog.Logger) *Inspection {
	found := &Inspection{services: make([]domain.Service, len(runtimes))}
	faults := make([]error, len(runtimes))
	var all sync.WaitGroup
	for i, rt := range runtimes {
		all.Go(func() { found.services[i], faults[i] = inspect(ctx, rt, slots[rt.Type()]) })
	}
	all.Wait()
	for i, rt := range runtimes {
		if faults[i] == nil {
			found.served = append(found.served, rt)
			continue
		}
		if ctx.Err() != nil {
			continue // the start was given up, and with it what was asked: that is no fault of a command
		}
		log.Warn("script type not served", "script_type", string(rt.Type()), "err", faults[i])
	}
	return found
}

// inspect looks at one runtime. Its service says so too where it does not work.
func inspect(ctx context.Context, rt script.Runtime, slots int) (domain.Service, error) {
	s := domain.Service{ScriptType: rt.Type()}
	if err := rt.Check(ctx); err != nil {
		_, s.Unasked = errors.AsType[*script.Unasked](err)
		s.Why = err.Error()
		return s, err
	}
	info := rt.Info()
	s.Served, s.Summary = true, info.Summary
	s.Level, s.Levels, s.Refused = info.Level, info.Levels, info.Refused
	s.Slots = cmp.Or(slots, info.Slots)
	for _, m := range info.Isolation {
		s.Isolation, s.NotInForce = sortMeasure(m, s.Isolation, s.NotInForce)
	}
	return s, nil
}

// repairMin and repairMax bound the pause before a runtime is looked at again that did
// not work; it doubles. To look may start processes.
const (
	repairMin = 15 * time.Second
	repairMax = 10 * time.Minute
)

// serveRepaired looks at a runtime that did not work until it does, as what was not
// installed, or a wall that could not be made on a machine with no room, and serves it
// from then on until ctx ends.
func (n *Node) serveRepaired(ctx context.Context, i int) error {
	rt := n.cfg.Runtimes[i]
	for rest := repairMin; ; rest = min(2*rest, repairMax) {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return nil
		}
		s, err := inspect(ctx, rt, n.cfg.Slots[rt.Type()])
		if ctx.Err() != nil {
			return nil
		}
		var runner *work.Runner
		if err == nil {
			runner = n.newRunner(rt)
		}
		n.serving.Lock()
		n.services[i] = s
		if runner != nil {
			n.runners = append(n.runners, runner)
		}
		n.serving.Unlock()
		if runner == nil {
			continue
		}
		n.cfg.Logger.Info("script type is served now", "script_type", string(rt.Type()))
		n.recordSoon()
		return runner.Run(ctx)
	}
}

// recordSoon has the runner's record written again: what is served has changed.
func (n *Node) recordSoon() {
	select {
	case n.repaired <- struct{}{}:
	default:
	}
}

func sortMeasure(m script.Measure, in, out []string) (inForce, notInForce []string) {
	if m.InForce {
		return append(in, m.Name), out
	}
	text := m.Name
	if m.Detail != "" {
		text += ": " + m.Detail
	}
	return in, append(out, text)
}
