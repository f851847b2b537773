package work

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// maxDeadlock is how many jobs are looked at for one that waits for itself: a circle of
	// more is not found, and ends by a time-out of its prerequisites, or by a cancel.
	maxDeadlock = 1000
	// lateDeadlock is how many from then on, when a job has waited for deadlockFor: thousands
	// may wait each minute for what has a long chain before it.
	lateDeadlock = 100
	deadlockFor  = time.Minute
)

// deadlock returns how a job that waits for others waits for itself by way of them, first
// and last itself; nil where it does not, or where more jobs than most would have to be
// looked at. A submit of ours names jobs that are there already, so only foreign programs,
// which write records as they like, make circles of dependends; prerequisites may name what
// is still to come.
func (e *Engine) deadlock(ctx context.Context, space board.Space, j *domain.Job, waitsFor []string, most int) ([]string, error) {
	s := deadlockSearch{self: j.Key().String(), most: most, by: map[string]string{}}
	if s.see(s.self, waitsFor) {
		return s.path(), nil
	}
	for len(s.level) > 0 {
		keys := s.level
		s.level = nil
		for page := range slices.Chunk(keys, listPage) {
			recs, err := board.Readable(e.board.GetFields(ctx, space, layout.JobLine, page...))
			if err != nil {
				return nil, err
			}
			for i, rec := range recs {
				if s.see(page[i], waitingFor(page[i], rec)) {
					return s.path(), nil
				}
			}
		}
	}
	return nil, nil
}

// waitsForItself refuses a foreign program's job that waits for itself by way of others: it
// would wait for ever, and they with it.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) waitsForItself(ctx context.Context, space board.Space, j *domain.Job) error {
	if len(j.Dependends) == 0 {
		return nil // by prerequisites alone: found when these are looked at
	}
	path, err := e.deadlock(ctx, space, j, append(dependsOn(j), jobsAmong(j.Prerequisites)...), maxDeadlock)
	if err == nil && path != nil {
		err = domain.Invalidf("%s", deadlockText(path))
	}
	return err
}

// waitingFor returns the jobs that a job waits for, which has not begun. A foreign program's
// that is leased is being taken over: with those of its circle it may be looked at in the
// same instant, and each is to see the others wait.
func waitingFor(item string, rec board.Record) (keys []string) {
	key, err := jobItem(item)
	if rec == nil || err != nil {
		return nil
	}
	j, _ := layout.DecodeJob(key, rec) // as far as it can be read
	if j.Final() || j.QueuedMs != 0 || j.Status == domain.JobStarted && j.LeaseOwner == "" {
		return nil
	}
	unmet := layout.Unmet(rec)
	if j.Waits == 0 { // a foreign program's, which no node has taken over yet
		unmet = j.Prerequisites
	}
	return append(dependsOn(j), jobsAmong(unmet)...)
}

// dependsOn returns the keys of the jobs that a job depends on.
func dependsOn(j *domain.Job) []string {
	keys := make([]string, len(j.Dependends))
	for i, id := range j.Dependends {
		keys[i] = domain.JobKey{Caller: j.CallerID, ID: id}.String()
	}
	return keys
}

// jobsAmong returns the keys of the jobs among prerequisites.
func jobsAmong(prerequisites []string) (keys []string) {
	for _, p := range prerequisites {
		if key, err := domain.ParseJobKey(p); err == nil && prerequisiteKind(p) == kindJob {
			keys = append(keys, key.String())
		}
	}
	return keys
}

// deadlockSearch goes from a job to those that it waits for, level by level.
type deadlockSearch struct {
	self  string
	most  int
	by    map[string]string // those that were found, and which waits for it
	level []string          // those found last
}

// see takes up the jobs that one waits for, and reports whether that is where it began.
func (s *deadlockSearch) see(waits string, on []string) bool {
	for _, key := range on {
		if _, known := s.by[key]; known || len(s.by) >= s.most {
			continue
		}
		s.by[key] = waits
		if key == s.self {
			return true
		}
		s.level = append(s.level, key)
	}
	return false
}

func (s *deadlockSearch) path() []string {
	path := []string{s.self}
	for key := s.by[s.self]; key != s.self; key = s.by[key] {
		path = append(path, key)
	}
	path = append(path, s.self)
	slices.Reverse(path)
	return path
}

func deadlockText(path []string) string {
	return "it waits for itself: " + strings.Join(path, " -> ")
}
