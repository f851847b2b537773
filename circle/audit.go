package circle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

const (
	// auditAge is how long a task must stand as it does before it is doubted:
	// commits in progress are younger.
	auditAge = 10 * time.Second
	// auditDoubts bounds how many tasks one audit of a context looks for in the
	// lists of their circles.
	auditDoubts = 50_000
)

// Audit looks whether every unfinished task of a context that came through
// Ramet has a reason to be alive, and brings back those that have none: a
// foreign worker popped one and was lost, or somebody emptied the list. Now and
// then it lets those expire that others left. It rests after each page, rest
// times as long as that took.
func (e *Engine) Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error) {
	a := auditor{Engine: e, space: layout.SpaceOf(tenant), now: e.board.Now(), doubts: map[string]map[string]doubt{}}
	// Most contexts have no circles, and much else that lives.
	circles, err := e.board.Members(ctx, a.space, layout.Circles, "", listMost)
	if err != nil || len(circles) == 0 {
		return a.report, err
	}
	a.report.Unfinished = true // tasks of foreign programs have no mark
	if err := a.lists(ctx, circles); err != nil {
		return a.report, err
	}
	if err := a.strays(ctx, circles); err != nil {
		return a.report, err
	}
	var after board.LiveItem
	for {
		begun := time.Now()
		page, err := e.board.Live(ctx, a.space, after, listPage)
		if err != nil || len(page) == 0 {
			if err == nil {
				err = a.searchLists(ctx)
			}
			if err == nil {
				err = a.leftovers(ctx, rest)
			}
			return a.report, err
		}
		if err := a.page(ctx, page); err != nil {
			return a.report, err
		}
		after = page[len(page)-1]
		if rest > 0 {
			pause.For(ctx, time.Since(begun)*time.Duration(rest))
		}
	}
}

type auditor struct {
	*Engine
	space  board.Space
	now    time.Time
	report domain.Audit
	// doubts are tasks that should be in the list of their circle, by that list
	// and their id.
	doubts map[string]map[string]doubt
	count  int
	// faults are the circles where no list lies.
	faults map[string]string
}

// doubt is a task as it was read.
type doubt struct {
	task *domain.Task
	rec  board.Record
}

// lists names the circles where something else lies than a list: what waits for them
// is set aside.
func (a *auditor) lists(ctx context.Context, circles []string) (err error) {
	a.faults, err = a.Engine.faults(ctx, a.space, circles)
	for _, name := range slices.Sorted(maps.Keys(a.faults)) {
		a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: queue.Circle(name), Text: a.faults[name]})
	}
	return err
}

// strays names the circles of the context in whose name tasks wait in space 0: their
// clients have not selected its database, and no node serves them there. They are left
// where they are: a worker of another program may serve that database.
func (a *auditor) strays(ctx context.Context, circles []string) error {
	lists := make([]string, len(circles))
	for i, name := range circles {
		lists[i] = queue.Circle(name)
	}
	stats, err := a.board.Stat(ctx, 0, lists...)
	if err != nil {
		return err
	}
	for i, s := range stats {
		if s.Kind != board.KindList {
			continue
		}
		oldest, err := a.board.List(ctx, 0, lists[i], -1, 1)
		if err != nil {
			return err
		}
		if len(oldest) == 0 || domain.ValidateTaskID(oldest[0]) != nil {
			continue
		}
		recs, err := board.Listed(ctx, a.board, 0, taskLine, []string{layout.Task(oldest[0])})
		if err != nil {
			return err
		}
		t := layout.DecodeTask(oldest[0], recs[0])
		if a.now.Sub(max(t.CreatedAt, t.UpdatedAt).Time()) >= auditAge {
			a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: lists[i], Text: fmt.Sprintf("tasks wait in database 0 under this name, which is the "+
				"nodes' own: no node serves circles there; their clients have to SELECT %d first, the database of context %[1]d (where tenancy=prefix, "+
				"the key is ctx:%[1]d:%s)", a.space, lists[i])})
		}
	}
	return nil
}

// taskLine are the fields of a task but those that may be large.
var taskLine = []string{layout.TaskStatus, layout.TaskCreatedAt, layout.TaskUpdatedAt, layout.TaskCircle, layout.TaskAttempt, layout.TaskLosses,
	layout.TaskQueue, layout.TaskOwner}

func (a *auditor) page(ctx context.Context, page []board.LiveItem) error {
	var keys []string
	for _, it := range page {
		if strings.HasPrefix(it.Item, queue.TaskPrefix) && a.now.Sub(it.At) >= auditAge {
			keys = append(keys, it.Item)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	recs, bad, err := board.PerKey(a.board.GetFields(ctx, a.space, taskLine, keys...))
	if err != nil {
		return err
	}
	for i, rec := range recs {
		err := bad[i]
		if err == nil {
			err = a.look(ctx, keys[i], rec)
		}
		if err := a.report.Strange(keys[i], err); err != nil {
			return err
		}
	}
	return nil
}

func (a *auditor) look(ctx context.Context, key string, rec board.Record) error {
	a.report.Looked++
	id, _ := layout.ParseTask(key)
	t := layout.DecodeTask(id, rec)
	b := board.Batch{Space: a.space}
	switch {
	case rec == nil:
		b.Absent(key).Settle(key)
		return a.repaired(a.board.Commit(ctx, b), key, "")
	case t.Final(): // a foreign worker ended it
		b.Equal(key, layout.TaskStatus, string(t.Status)).Settle(key).Expire(key, a.cfg.Retention)
		return a.repaired(a.board.Commit(ctx, b), key, "")
	case t.LeaseOwner != "":
		if _, held, err := a.board.LeaseOf(ctx, a.space, key); held || err != nil {
			return err
		}
	case a.now.Sub(t.UpdatedAt.Time()) < auditAge:
		return nil
	}
	list := listOf(rec)
	if list == "" {
		a.report.Stuck = append(a.report.Stuck, domain.Finding{Key: key, Text: "its record does not say which circle it belongs to"})
		return nil
	}
	if a.faults[strings.TrimPrefix(list, queue.CirclePrefix)] != "" {
		return nil
	}
	if a.count++; a.count > auditDoubts {
		return nil // the next round
	}
	if a.doubts[list] == nil {
		a.doubts[list] = map[string]doubt{}
	}
	a.doubts[list][id] = doubt{t, rec}
	return nil
}

// searchLists looks for the doubtful tasks in their lists, each list once, and
// repairs those that are not there.
func (a *auditor) searchLists(ctx context.Context) error {
	for list, doubts := range a.doubts {
		err := a.scan(ctx, a.space, list, func(id string) bool {
			delete(doubts, id)
			return len(doubts) > 0
		})
		if err != nil {
			return err
		}
		for _, d := range doubts {
			if err := a.notQueued(ctx, list, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// notQueued brings back a task that is in no list and that nobody leases. Its
// guards hold it to the state it was seen in: a claim adds to the attempt.
func (a *auditor) notQueued(ctx context.Context, list string, d doubt) error {
	key := layout.Task(d.task.ID)
	foreign := d.task.Status == domain.TaskProcessing
	if foreign && a.now.Before(d.task.UpdatedAt.Time().Add(a.cfg.Timeout)) {
		return nil // a worker without leases has it, and still may
	}
	b := board.Batch{Space: a.space}
	for _, name := range []string{layout.TaskStatus, layout.TaskAttempt, layout.TaskUpdatedAt} {
		b.Equal(key, name, d.rec.Get(name))
	}
	b.Unset(key, layout.TaskOwner, layout.TaskQueue)
	if !foreign {
		requeue(&b, d.task, list, a.now)
		return a.repaired(a.board.Commit(ctx, b), key, "it was pending, but not in its circle; put back")
	}
	// The record as a whole: what is told at the end of it was not read.
	t, err := a.Show(ctx, domain.TenantID(a.space), d.task.ID)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	b.Set(key, board.Field{Name: layout.TaskLosses, Value: strconv.Itoa(t.Losses + 1)})
	err = a.backOrEnd(ctx, b, t, list, fmt.Sprintf("workers without leases took it %d times and never ended it", t.Losses+1))
	return a.repaired(err, key, fmt.Sprintf("a worker without a lease took it and did not end it within %v", a.cfg.Timeout))
}

// repaired notes a repair, unless the task has moved meanwhile.
func (a *auditor) repaired(err error, key, text string) error {
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	if err == nil && text != "" {
		a.report.Repaired = append(a.report.Repaired, domain.Finding{Key: key, Text: text})
	}
	return err
}

// scan calls each with the ids in a list, newest first, until it returns false.
// It goes from where producers push, against the direction in which their
// pushes move the rest: none that is there all the time is missed.
func (e *Engine) scan(ctx context.Context, space board.Space, list string, each func(id string) bool) error {
	for from := 0; ; from += listPage {
		ids, err := e.board.List(ctx, space, list, from, listPage)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !each(id) {
				return nil
			}
		}
		if len(ids) < listPage {
			return nil
		}
	}
}
