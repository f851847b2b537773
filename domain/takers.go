package domain

import (
	"fmt"
	"slices"
	"time"
)

// Want is what a job asks of whoever is to run it.
type Want struct {
	Type   ScriptType
	Labels Labels
	// Runner is the only one that may take it; 0 is any.
	Runner RunnerID
	// Context is whose job it is, Isolation how far that wants its scripts held in.
	Context   TenantID
	Isolation Isolation
}

// String is the want in words.
func (w Want) String() string {
	if len(w.Labels) == 0 {
		return string(w.Type)
	}
	return string(w.Type) + " with the labels " + w.Labels.String()
}

// Alive reports whether the runner's node has said not too long ago that it is there.
func (r Runner) Alive(now time.Time) bool { return now.Sub(time.UnixMilli(r.SeenMs)) < NodeSilence }

// OffDuty is what has taken the duty of a runner from it, if something has.
func (r Runner) OffDuty() (Off, bool) { return r.offDutyAs(RoleRunner) }

func (r Runner) offDutyAs(role Role) (Off, bool) {
	i := slices.IndexFunc(r.Off, func(o Off) bool { return o.Role == role })
	if i < 0 {
		return Off{}, false
	}
	return r.Off[i], true
}

// Takers are the services that would take what is wanted, now or when they have a
// slot for it. Where there is none, lack says in a sentence what is missing and where
// to look. It is the one answer to why nobody takes a job: foreign runners do not
// tell what they serve, so that it is no more than a hint where there are such.
func Takers(runners []Runner, w Want, now time.Time) (takers []Service, lack string) {
	lack = fmt.Sprintf("no node that is alive serves %s: see `ramet runner list`", w)
	if w.Runner != 0 {
		lack = fmt.Sprintf("runner %d, which alone may take it, is not alive or does not serve %s: see `ramet runner list`", w.Runner, w)
	}
	got := 0 // how far the best of them came
	missing := func(stage int, format string, args ...any) {
		if stage > got {
			got, lack = stage, fmt.Sprintf(format, args...)
		}
	}
	for _, r := range runners {
		if !r.Alive(now) || w.Runner != 0 && r.ID != w.Runner {
			continue
		}
		i := slices.IndexFunc(r.Serves, func(s Service) bool { return s.ScriptType == w.Type && s.Served && s.Has(r.Labels, w.Labels) })
		if i < 0 {
			continue
		}
		_, off := r.OffDuty()
		l, locked := r.LockedOut(w.Context)
		switch {
		case off:
			missing(1, "rules have taken the duty of a runner from every node that is alive and serves %s: see `ramet duty show`", w)
		case locked:
			missing(2, "its context is encrypted with the key %q, which no node has that is alive and serves %s: see `ramet doctor`", l.Key, w)
		case !r.Serves[i].Holds(w.Isolation):
			missing(3, "its context wants its scripts %s, which no node that is alive and serves %s can do: `ramet runner list` tells the operator why, "+
				"see also `ramet context update --isolation`", w.Isolation, w)
		default:
			takers = append(takers, r.Serves[i])
		}
	}
	if len(takers) > 0 {
		return takers, ""
	}
	return nil, lack
}

// Absent says in a sentence that no node which is alive is on duty in a role, and where
// to look; "" where one is. Foreign runners have none but that of a runner.
func Absent(runners []Runner, role Role, now time.Time) (lack string) {
	lack = fmt.Sprintf("no node is alive that is on duty as %s: start one with `ramet serve`", role)
	for _, r := range runners {
		if r.Node == "" || !r.Alive(now) {
			continue
		}
		if _, off := r.offDutyAs(role); !off {
			return ""
		}
		lack = fmt.Sprintf("rules have taken the duty of a %s from every node that is alive: see `ramet duty show`", role)
	}
	return lack
}
