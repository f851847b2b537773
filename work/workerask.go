package work

import (
	"regexp"

	"github.com/ramet-run/ramet/domain"
)

// This file checks what workers ask for, and as whom.

// workerName is what a worker may be called.
var workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// checkWorker checks the name of a worker.
//
// Errors: [domain.ErrInvalid].
func checkWorker(w domain.Worker) error {
	if !workerName.MatchString(w.Name) {
		return domain.Invalidf("worker %.80q: want a name of up to 64 letters, digits, '.', '_' and '-', another for each start of the program", w.Name)
	}
	return nil
}

// maxAbout bounds what a worker says of itself.
const maxAbout = 200

// checkAsk checks what a worker asks for, and sets the defaults.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit].
func checkAsk(a *domain.WorkerAsk) error {
	if len(a.Types) == 0 {
		return domain.Invalidf("types: name the script types whose jobs the worker takes")
	}
	if len(a.Types) > domain.MaxWorkerTypes {
		return domain.Limitf("types: %d of them, the limit is %d", len(a.Types), domain.MaxWorkerTypes)
	}
	for _, t := range a.Types {
		if err := t.Validate(); err != nil {
			return err
		}
		if t == domain.ScriptEffect {
			return domain.Invalidf("types: jobs of type %s are for nodes alone", t)
		}
	}
	if a.Max == 0 {
		a.Max = 1
	}
	if a.LeaseMs == 0 {
		a.LeaseMs = domain.DefaultLease.Milliseconds()
	}
	switch {
	case a.Max < 1 || a.Max > domain.MaxAssignments:
		return domain.Invalidf("max %d: want 1 to %d", a.Max, domain.MaxAssignments)
	case a.WaitMs < 0 || a.WaitMs > domain.MaxWorkerWait.Milliseconds():
		return domain.Invalidf("wait_ms %d: want 0 to %d", a.WaitMs, domain.MaxWorkerWait.Milliseconds())
	case a.Slots < 0 || a.Running < 0:
		return domain.Invalidf("slots and running: want 0 or more")
	case len(a.Host) > maxAbout || len(a.Version) > maxAbout:
		return domain.Invalidf("host and version: at most %d bytes each", maxAbout)
	}
	if err := a.Labels.Validate(); err != nil {
		return err
	}
	return domain.CheckWorkerLease(a.LeaseMs)
}
