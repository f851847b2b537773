package flow

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// This file has how a step is split into jobs.

// lastOffset bounds what is counted in packs: one more is a number too.
const lastOffset = math.MaxInt64 - 1

// splitOf is how a step is split, with what jobs and people have said about it.
func splitOf(s *domain.Step, added map[string]string, change *domain.StepChange) (split *Split, retries *int, err error) {
	if change == nil {
		change = &domain.StepChange{}
	}
	get := func(name string) (int64, bool, error) {
		text, ok := added["steps."+s.Name+"."+name]
		if !ok {
			return 0, false, nil
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			err = domain.Invalidf("a job set steps.%s.%s to %q, want a whole number", s.Name, name, text)
		}
		return n, true, err
	}
	var errs error
	take := func(name string, into *int64) {
		if n, ok, err := get(name); err != nil {
			errs = err
		} else if ok {
			*into = n
		}
	}
	if n, ok, err := get("retries"); err != nil {
		errs = err
	} else if ok {
		r := int(min(max(n, 0), 255))
		retries = &r
	}
	switch s.KindOr() {
	case domain.StepShard:
		sh := *s.Shard
		count, start, window := int64(sh.Count), int64(sh.Start), int64(sh.Window)
		take("shard.count", &count)
		take("shard.start", &start)
		take("shard.window", &window)
		// A job may well find that there is nothing to do.
		sh.Count, sh.Start, sh.Window = cmp.Or(int(count), 1), int(start), int(window)
		if err := blueprint.ValidateShard(&sh); err != nil && errs == nil {
			errs = fmt.Errorf("steps.%s.shard: %w", s.Name, err)
		}
		split = &Split{Total: count, Size: 1, Start: start, End: count - 1, Window: orDefault(sh.Window)}
	case domain.StepPack:
		pk := *s.Pack
		end := int64(-1)
		if pk.End != nil {
			end = *pk.End
		}
		window := int64(pk.Window)
		take("pack.size", &pk.Size)
		take("pack.start", &pk.Start)
		take("pack.window", &window)
		if _, ok, _ := get("pack.end"); ok {
			take("pack.end", &end)
			pk.End, pk.Endless = &end, false
		}
		pk.Window = int(window)
		if err := blueprint.ValidatePack(&pk); err != nil && errs == nil {
			errs = fmt.Errorf("steps.%s.pack: %w", s.Name, err)
		}
		if pk.End == nil && !pk.Endless && change.End == nil && errs == nil {
			errs = domain.Invalidf("steps.%s.pack has no end: set it in the blueprint or the request, or let a job before it write steps.%s.pack.end", s.Name, s.Name)
		}
		if pk.Start > lastOffset && errs == nil {
			errs = domain.Invalidf("steps.%s.pack: start %d: want up to %d", s.Name, pk.Start, lastOffset)
		}
		split = &Split{Pack: true, Size: pk.Size, Start: pk.Start, End: min(end, lastOffset), Endless: pk.Endless, Window: orDefault(pk.Window)}
	case domain.StepEach: // how many, its list says
		split = &Split{Each: true, Size: 1, Window: orDefault(s.Window)}
	case domain.StepFlow:
		if split = (&Split{Flows: true, Total: 1, Size: 1, Window: 1}); s.Listed() {
			split.Each, split.Window = true, orDefault(s.Window)
		}
	default:
		split = &Split{Total: 1, Size: 1, Window: 1}
	}
	split.apply(*change, split.Start)
	return split, retries, errs
}

func orDefault(window int) int {
	if window == 0 {
		return domain.DefaultWindow
	}
	return window
}
