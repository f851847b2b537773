// Package taker says who would take a job, and what is missing where nobody would. It is pure: it is
// told who is there, and the time.
package taker

import (
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Want is what a job asks of whoever is to run it.
type Want struct {
	Type   domain.ScriptType
	Labels domain.Labels
	// Runner is the only one that may take it; 0 is any.
	Runner domain.RunnerID
	// Context is whose job it is, Isolation how far that wants its scripts held in.
	Context   domain.TenantID
	Isolation domain.Isolation
}

// String is the want in words.
func (w Want) String() string {
	if len(w.Labels) == 0 {
		return string(w.Type)
	}
	return string(w.Type) + " with the labels " + w.Labels.String()
}

// Of are the services that would take what is wanted, now or when they have a
// slot for it. Where there is none, lack says in a sentence what is missing and where
// to look. It is the one answer to why nobody takes a job: foreign runners do not
// tell what they serve, so that it is no more than a hint where there are such.
func Of(runners []domain.Runner, w Want, now time.Time) (takers []domain.Service, lack string) {
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
		i := slices.IndexFunc(r.Serves, func(s domain.Service) bool { return s.ScriptType == w.Type && s.Served && s.Has(r.Labels, w.Labels) })
		if i < 0 {
			continue
		}
		_, off := r.OffDuty(domain.RoleRunner)
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
func Absent(runners []domain.Runner, role domain.Role, now time.Time) (lack string) {
	lack = fmt.Sprintf("no node is alive that is on duty as %s: start one with `ramet serve`", role)
	for _, r := range runners {
		if r.Node == "" || !r.Alive(now) {
			continue
		}
		if _, off := r.OffDuty(role); !off {
			return ""
		}
		lack = fmt.Sprintf("rules have taken the duty of a %s from every node that is alive: see `ramet duty show`", role)
	}
	return lack
}
