package work

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// How prerequisites are looked at again: soon at first, then each minute. Names are
// not: who marks one as met wakes the jobs that wait for it. That they are looked at
// all the same, seldom, is for those whom a node that died did not come to wake.
const (
	prereqMin     = time.Second
	prereqMax     = time.Minute
	prereqNames   = 10 * time.Minute
	prereqTimeout = 5 * time.Second // one look at one of them
	prereqAtOnce  = 16              // looks at those of one job
)

// kind is how a prerequisite is checked.
type kind string

const (
	kindFile kind = "file"
	kindHTTP kind = "http"
	kindTCP  kind = "tcp"
	kindFlow kind = "flow"
	kindJob  kind = "job"
	kindName kind = "name" // anything else: people mark it as met
)

func prerequisiteKind(p string) kind {
	scheme, _, found := strings.Cut(p, ":")
	if !found {
		return kindName
	}
	switch scheme {
	case "file", "tcp", "flow", "job":
		return kind(scheme)
	case "http", "https":
		return kindHTTP
	}
	return kindName
}

// validatePrerequisites refuses what could never be met as written.
func validatePrerequisites(list []string) error {
	for _, p := range list {
		if err := validatePrerequisite(p); err != nil {
			return err
		}
	}
	return nil
}

func validatePrerequisite(p string) error {
	if loginIn(p) { // names that people mark may be URLs, too
		return domain.Invalidf("prerequisite %q: it has a login or a secret, which all who may read jobs would find on the record; let an address be looked at "+
			"that wants none, or have a script look, with a secret of the context", domain.HideURL(p))
	}
	scheme, rest, _ := strings.Cut(p, ":")
	switch prerequisiteKind(p) {
	case kindFile:
		if !filepath.IsLocal(rest) {
			return domain.Invalidf("prerequisite %q: want a path inside the context's folder, for example file:data/in.csv", p)
		}
	case kindTCP:
		if _, port, err := net.SplitHostPort(rest); err != nil || port == "" {
			return domain.Invalidf("prerequisite %q: want tcp:host:port", p)
		}
	case kindHTTP:
		if u, err := url.Parse(p); err != nil || u.Host == "" {
			return domain.Invalidf("prerequisite %q: want a URL such as https://example.org/ready", domain.HideURL(p))
		}
	case kindJob:
		if _, err := domain.ParseJobKey(p); err != nil {
			return domain.Invalidf("prerequisite %q: want job:<caller>:<id>", p)
		}
	case kindFlow:
		if n, err := strconv.ParseUint(rest, 10, 32); err != nil || n == 0 {
			return domain.Invalidf("prerequisite %q: want flow:<id>", p)
		}
	case kindName: // a job would wait for a day until somebody marks it, which nobody knows of
		switch kind := strings.ToLower(scheme); {
		case scheme == p:
		case kind == "url":
			return domain.Invalidf("prerequisite %q: want a URL itself, such as https://example.org/ready", domain.HideURL(p))
		case kind == "port":
			return domain.Invalidf("prerequisite %q: want tcp:host:port", domain.HideURL(p))
		case prerequisiteKind(kind+":") != kindName:
			return domain.Invalidf("prerequisite %q: want %s: in small letters", domain.HideURL(p), kind)
		}
	}
	return nil
}

// loginIn reports whether a text is a URL with a login before its host, or with a parameter that names a secret.
// Unlike [domain.HasSecret] it takes no other @ for one, as what it finds is refused.
func loginIn(text string) bool {
	_, rest, found := strings.Cut(text, "://")
	if !found {
		return false
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	if strings.Contains(authority, "@") || strings.Contains(authority, "%40") {
		return true
	}
	if _, port, _ := strings.Cut(authority, ":"); strings.Trim(port, "0123456789") != "" && strings.Contains(rest, "@") {
		return true // a password with a / in it
	}
	_, query, _ := strings.Cut(strings.ReplaceAll(strings.ReplaceAll(rest, "@", "_"), "%40", "_"), "?")
	return domain.HasSecret("?" + query)
}

// errImpossible marks a prerequisite that can never be met any more.
var errImpossible = errors.New("prerequisite impossible")

// met looks whether one prerequisite that is no address is met now.
//
// Errors: errImpossible; others when the board cannot be asked.
func (e *Engine) met(ctx context.Context, space board.Space, p string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, prereqTimeout)
	defer cancel()
	_, rest, _ := strings.Cut(p, ":")
	switch prerequisiteKind(p) {
	case kindFile:
		return e.fileThere(space, rest), nil
	case kindFlow, kindJob:
		return e.ended(ctx, space, p)
	}
	recs, err := e.board.Get(ctx, space, layout.Met(p))
	return err == nil && recs[0] != nil, err
}

// fileThere looks inside the context's folder and nowhere else, whatever
// links lie in it.
func (e *Engine) fileThere(space board.Space, path string) bool {
	if e.cfg.DataDir == "" {
		return false
	}
	root, err := os.OpenRoot(ContextDir(e.cfg.DataDir, domain.TenantID(space)))
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Stat(path)
	return err == nil
}

// ended looks at a flow or job of the same context: it must have finished.
// One that does not exist yet may still come.
func (e *Engine) ended(ctx context.Context, space board.Space, key string) (bool, error) {
	recs, err := e.board.Get(ctx, space, key)
	if err != nil || recs[0] == nil {
		return false, err
	}
	switch recs[0].Get(layout.JobStatus) {
	case string(domain.JobFinished):
		return true, nil
	case string(domain.JobError):
		return false, fmt.Errorf("%s ended in error: %w", key, errImpossible)
	}
	return false, nil
}

// checkPrerequisites handles the alarm of a job that waits for prerequisites:
// it looks at those not met yet and lets the job go on, wait on, or end. For
// addresses it only asks: nobody's alarms wait for a stranger's answer.
func (e *Engine) checkPrerequisites(ctx context.Context, a board.Alarm, key domain.JobKey) error {
	j, rec, err := e.load(ctx, a.Space, key)
	if errors.Is(err, domain.ErrNotFound) || err == nil && j.Final() {
		return e.clear(ctx, a)
	} else if errors.Is(err, domain.ErrInvalid) {
		return e.giveUp(ctx, a, j, domain.ReasonInvalid, err.Error())
	} else if err != nil {
		return err
	}
	if j.Suspended == nil && j.Waits == 0 {
		return e.clear(ctx, a) // what its script waited for has come
	}
	l := prereqLook{e: e, alarm: a, job: j, rec: rec, list: layout.Unmet(rec), began: time.Now()}
	if l.unmet, err = e.unmet(ctx, a.Space, l.list); err == nil {
		err = l.never(ctx)
	}
	if errors.Is(err, errImpossible) && j.Suspended != nil {
		l.unmet, err = nil, nil // its script is told so
	}
	if errors.Is(err, errImpossible) {
		return e.giveUp(ctx, a, j, domain.ReasonPrerequisiteImpossible, "prerequisite "+err.Error())
	} else if err != nil {
		return err
	}
	return l.commit(ctx)
}

// prereqLook is one look at what a job waits for.
type prereqLook struct {
	e     *Engine
	alarm board.Alarm
	job   *domain.Job
	rec   board.Record
	list  []string // what was not met before
	unmet []string // what is not met now
	began time.Time
}

// never finds the job, or its flow, among what it waits for itself.
//
// Errors: errImpossible.
func (l *prereqLook) never(ctx context.Context) error {
	if own := domain.FlowKey(l.job.FlowID); l.job.FlowID != 0 && slices.Contains(l.unmet, own) {
		return fmt.Errorf("%s is the job's own flow, which does not end before it: %w", own, errImpossible)
	}
	jobs, most := jobsAmong(l.unmet), maxDeadlock
	if len(jobs) == 0 {
		return nil
	}
	if waited, _ := l.waited(); waited > deadlockFor {
		most = lateDeadlock
	}
	path, err := l.e.deadlock(ctx, l.alarm.Space, l.job, append(jobs, dependsOn(l.job)...), most)
	if err == nil && path != nil {
		err = fmt.Errorf("%s: %s: %w", path[1], deadlockText(path), errImpossible)
	}
	return err
}

// waited is for how long the job has waited, and limit for how long it may. It
// was last touched when it began to wait: by a submit, when it was taken over
// from a foreign program, or by a retry by hand.
func (l *prereqLook) waited() (waited, limit time.Duration) {
	limit = cmp.Or(time.Duration(l.job.PrerequisiteTimeout)*time.Second, domain.DefaultPrerequisiteTimeout*time.Second)
	if l.job.Suspended != nil { // its script says for how long it waits, which has an alarm of its own
		limit = durable.MaxSleep
	}
	return l.began.Sub(l.job.UpdatedAt.Time()), limit
}

// next is when to look again: after a tenth of the time waited so far, which is
// quick at first and cheap later, and where many jobs of the context wait when the
// next turn comes.
func (l *prereqLook) next(least time.Duration) time.Time {
	waited, limit := l.waited()
	last := max(limit-waited+time.Second, prereqMin) // which finds that it has waited too long
	if !slices.ContainsFunc(l.unmet, func(p string) bool { return prerequisiteKind(p) != kindName }) {
		return l.began.Add(min(prereqNames, last))
	}
	turn := l.e.turns.next(l.alarm.Space, l.began).Sub(l.began)
	pause := min(max(waited/10, prereqMin), prereqMax)
	return l.began.Add(max(min(max(pause, turn), last), least))
}

// commit writes what the look has found.
func (l *prereqLook) commit(ctx context.Context) error {
	if waited, limit := l.waited(); len(l.unmet) > 0 && waited >= limit {
		return l.e.giveUp(ctx, l.alarm, l.job, domain.ReasonPrerequisiteTimeout,
			fmt.Sprintf("still not met after %v: %s%s", limit, strings.Join(l.unmet, ", "), addressHint(l.unmet)))
	}
	b := board.Batch{Space: l.alarm.Space}
	b.AlarmAt(l.alarm.Name, l.alarm.At)
	l.e.nowUnmet(&b, l.job, l.rec, l.unmet)
	switch {
	case len(l.unmet) == 0, l.job.Suspended != nil && len(l.unmet) < len(l.list):
	case slices.ContainsFunc(l.unmet, isAddress):
		if err := l.e.askToCheck(ctx, &b, l.job.Key(), l.began); err != nil {
			return err
		}
		b.SetAlarm(l.alarm.Name, l.next(l.e.reach.took+time.Second))
	default:
		b.SetAlarm(l.alarm.Name, l.next(prereqMin))
	}
	return l.e.board.Commit(ctx, b)
}

// nowUnmet adds to b what of a job's prerequisites is not met any more, which
// lets it go on when that is nothing. The handler of its alarm and a checker may
// both do that: each as long as the other has not.
func (e *Engine) nowUnmet(b *board.Batch, j *domain.Job, rec board.Record, unmet []string) {
	key := j.Key().String()
	b.Equal(key, layout.JobUnmet, rec.Get(layout.JobUnmet))
	switch {
	case j.Suspended != nil:
		if len(unmet) < len(layout.Unmet(rec)) {
			b.Equal(key, layout.JobLeaseOwner, "")
			asRead(b, j, layout.JobAttempt, layout.JobNextRetryMs)
			b.ClearAlarm(layout.Alarm(layout.AlarmRetry, j.Key()))
			e.requeue(b, j, e.board.Now())
		}
	case len(unmet) == 0:
		b.ClearAlarm(layout.Alarm(layout.AlarmPrereq, j.Key()))
		b.Unset(key, layout.JobUnmet)
		e.unwant(b, j)
		b.Countdown(key, layout.JobWaits, queue.Of(j), key, ready(e.board.Now()))
	case len(unmet) < len(layout.Unmet(rec)):
		b.Set(key, layout.UnmetField(unmet))
	}
}

// unmet looks at prerequisites side by side and returns those that are not met,
// in order. Addresses are left as they are: see [Engine.Check].
//
// Errors: as met.
func (e *Engine) unmet(ctx context.Context, space board.Space, list []string) ([]string, error) {
	ok := make([]bool, len(list))
	var g errgroup.Group
	g.SetLimit(prereqAtOnce)
	for i, p := range list {
		if isAddress(p) {
			continue
		}
		g.Go(func() (err error) {
			ok[i], err = e.met(ctx, space, p)
			if errors.Is(err, context.DeadlineExceeded) {
				err = nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return unmetOf(list, ok), nil
}

func unmetOf(list []string, ok []bool) (unmet []string) {
	for i, p := range list {
		if !ok[i] {
			unmet = append(unmet, p)
		}
	}
	return unmet
}

// unwant takes the job out of the sets of those waiting for a name.
func (e *Engine) unwant(b *board.Batch, j *domain.Job) {
	for _, p := range wanted(j) {
		if prerequisiteKind(p) == kindName {
			b.Exclude(layout.Wanted(p), j.Key().String())
		}
	}
}

// wanted are the prerequisites of a job, and those that its script waits for.
func wanted(j *domain.Job) []string {
	if j.Suspended == nil {
		return j.Prerequisites
	}
	return append(slices.Clone(j.Prerequisites), j.Suspended.Prerequisites...)
}

// want adds to b, by which a job is suspended, that its script waits for prerequisites. They
// are looked at at once: one may have been met since the script asked.
func want(b *board.Batch, key domain.JobKey, s *domain.Suspension, now time.Time) {
	if len(s.Prerequisites) == 0 {
		return
	}
	b.Set(key.String(), layout.UnmetField(s.Prerequisites))
	b.SetAlarm(layout.Alarm(layout.AlarmPrereq, key), now)
	for _, p := range s.Prerequisites {
		if prerequisiteKind(p) == kindName {
			b.Include(layout.Wanted(p), key.String())
		}
	}
}

// unwantSuspended takes away what want has added, of a job that goes on.
func (e *Engine) unwantSuspended(b *board.Batch, j *domain.Job) {
	if len(j.Suspended.Prerequisites) == 0 {
		return
	}
	b.ClearAlarm(layout.Alarm(layout.AlarmPrereq, j.Key()))
	b.Unset(j.Key().String(), layout.JobUnmet)
	e.unwant(b, j)
}

// Met looks whether a prerequisite is met. An address is looked at by a checker at first, as
// that may take its time.
func (h *steps) Met(ctx context.Context, p string, first bool) (bool, error) {
	e, began := h.x.r.e, time.Now()
	if err := validatePrerequisite(p); err != nil {
		return false, err
	}
	if j := h.x.job; p == h.x.key.String() || j.FlowID != 0 && p == domain.FlowKey(j.FlowID) {
		return false, domain.Conflictf("prerequisite %q: the job would wait for itself", p)
	}
	if isAddress(p) {
		if first {
			return false, nil
		}
		met := e.reach.look(ctx, []string{p})[0]
		if !met {
			e.reach.conceal(ctx, began)
		}
		return met, nil
	}
	met, err := e.met(ctx, h.x.Claimed.Space, p)
	if errors.Is(err, errImpossible) {
		err = domain.Conflictf("prerequisite %q can never be met: %v", p, err)
	}
	return met, err
}

// MarkMet marks a prerequisite as met and lets the jobs that wait for it look
// again at once. Marking twice is no error.
//
// Errors: [domain.ErrInvalid] for a prerequisite that Ramet checks itself.
func (e *Engine) MarkMet(ctx context.Context, tenant domain.TenantID, name string) error {
	if loginIn(name) {
		return validatePrerequisite(name)
	}
	if name == "" || len(name) > domain.MaxPrerequisiteBytes || prerequisiteKind(name) != kindName {
		return domain.Invalidf("prerequisite %q: want a name that no program can check, not a file, URL, address, job or flow", name)
	}
	space := layout.SpaceOf(tenant)
	b := board.Batch{Space: space}
	b.Set(layout.Met(name), board.Field{Name: layout.MetAt, Value: strconv.FormatInt(e.board.Now().UnixMilli(), 10)})
	if err := e.board.Commit(ctx, b); err != nil {
		return err
	}
	after := ""
	for {
		page, err := e.board.Members(ctx, space, layout.Wanted(name), after, board.MaxOps/2)
		if err != nil || len(page) == 0 {
			return err
		}
		if err := e.wake(ctx, space, page); err != nil {
			return err
		}
		after = page[len(page)-1]
	}
}

// wake sets the prerequisite alarms of waiting jobs to now. A look that is just being
// made, and may not have seen what was marked, conflicts with that and is made again.
func (e *Engine) wake(ctx context.Context, space board.Space, keys []string) error {
	var alarms []string
	for _, k := range keys {
		if key, err := domain.ParseJobKey(k); err == nil {
			alarms = append(alarms, layout.Alarm(layout.AlarmPrereq, key))
		}
	}
	for len(alarms) > 0 {
		var set []string
		var batches []board.Batch
		for _, name := range alarms {
			at, is, err := e.board.AlarmOf(ctx, space, name)
			if err != nil {
				return err
			}
			if !is {
				continue
			}
			now := e.board.Now()
			if now.UnixMilli() == at.UnixMilli() {
				now = now.Add(time.Millisecond) // or a look at that instant would not conflict
			}
			b := board.Batch{Space: space}
			b.AlarmAt(name, at).SetAlarm(name, now)
			set, batches = append(set, name), append(batches, b)
		}
		alarms = nil
		for i, err := range e.board.CommitEach(ctx, batches) {
			if errors.Is(err, domain.ErrConflict) {
				alarms = append(alarms, set[i]) // somebody looked meanwhile, and set it anew
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}
