package resp

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules for jobs.

// foreignLook is when the engine first looks after a job that was taken from
// its queue through this door.
const foreignLook = 2 * time.Second

// unwrittenLook is when a key that had no record is looked for again: as late as
// runners of the node give it up.
const unwrittenLook = 3 * time.Second

// jobState are the fields by which is known where a job stands.
var jobState = []string{layout.JobStatus, layout.JobLeaseOwner, layout.JobFinishedMs, layout.JobQueuedMs, layout.JobWaits, layout.JobScriptType,
	layout.JobTakenBy, layout.JobNextRetryMs}

// putJob keeps a job readable, leaves alone what one of our runners holds or
// what has ended, and lets the engine know at once when a foreign runner ends
// one.
func putJob(x *call, c *change) error {
	key, err := domain.ParseJobKey(c.l.key)
	if err != nil || key.String() != c.l.key {
		return domain.Invalidf("%.255q is no key of a job: want job:<caller>:<id>, for example job:12:2001", c.l.key)
	}
	if err := c.identical(map[string]uint64{"id": uint64(key.ID), "caller_id": uint64(key.Caller), "context_id": uint64(x.s.space())}); err != nil {
		return err
	}
	if _, err := layout.DecodeJob(key, c.set); err != nil {
		return err
	}
	if code, there := c.text(layout.JobExitCode); there && code != "" { // records of old may have any
		if _, err := strconv.ParseInt(code, 10, 32); err != nil {
			return domain.Invalidf("%s: field %s is %.64q, want a decimal number of 32 bits", key, layout.JobExitCode, code)
		}
	}
	if err := x.s.load(c.l, append(jobState, c.names()...)...); err != nil {
		return err
	}
	if c.maker {
		if err := x.own(c.l.key, key.Caller); err != nil {
			return err
		}
	} else if there, err := x.s.recordThere(c.l); err != nil {
		return err
	} else if !there {
		return domain.Conflictf("%s does not exist; who makes a job writes its script and script_type first", c.l.key)
	}
	if err := x.free(c.l); err != nil {
		return err
	}
	if again, err := x.endedOnce(c); again || err != nil {
		return err
	}
	if err := fixedDefinition(x, c); err != nil {
		return err
	}
	x.progress(c, key)
	return nil
}

// endedOnce refuses to change a job whose end stands in its record, and of which
// the engine has not taken note yet. again is true where nothing would change: its
// runner was not told that its end has been written.
func (x *call) endedOnce(c *change) (again bool, err error) {
	status := domain.JobStatus(c.l.get(layout.JobStatus))
	x.s.pin(c.l, layout.JobStatus) // two who end it at once
	if !status.Final() {
		return false, nil
	}
	for _, f := range c.set {
		if c.l.get(f.Name) != f.Value {
			return false, domain.Conflictf("%s has ended already: it is %s", c.l.key, status)
		}
	}
	if len(c.unset) > 0 {
		return false, domain.Conflictf("%s has ended already: it is %s", c.l.key, status)
	}
	return true, nil
}

// progress notes who ends a job, and has the engine look at it at once when it has
// ended or is given back.
func (x *call) progress(c *change, key domain.JobKey) {
	status, _ := c.text(layout.JobStatus)
	alive, says := c.text(layout.JobAliveUntil)
	until, err := strconv.ParseInt(alive, 10, 64)
	switch {
	case domain.JobStatus(status).Final():
		x.s.put(c.l, board.Field{Name: layout.JobEndedBy, Value: strconv.FormatUint(uint64(x.c.who.Actor), 10)})
	case says && err == nil && until <= x.s.now.Unix():
	default:
		return
	}
	x.s.batch.SetAlarm(layout.Alarm(layout.AlarmForeign, key), x.s.now)
}

// free refuses to write a job that one of our runners holds, or that has ended.
func (x *call) free(l *leaf) error {
	switch {
	case l.get(layout.JobLeaseOwner) != "":
		return domain.Conflictf("%s is held by %s under a lease, and is its to write", l.key, l.get(layout.JobLeaseOwner))
	case l.get(layout.JobFinishedMs) != "":
		return domain.Conflictf("%s has ended already: it is %s", l.key, l.get(layout.JobStatus))
	}
	x.s.pin(l, layout.JobLeaseOwner)
	x.s.pin(l, layout.JobFinishedMs)
	return nil
}

// fixedDefinition refuses to change what was asked for once the engine has
// taken it over. The same once more is no change.
func fixedDefinition(x *call, c *change) error {
	if !c.maker || c.l.get(layout.JobQueuedMs) == "" && c.l.get(layout.JobWaits) == "" {
		x.s.pin(c.l, layout.JobQueuedMs)
		return nil
	}
	for _, f := range c.set {
		if !slices.Contains(jobFields.progress, f.Name) && c.l.get(f.Name) != f.Value {
			return domain.Conflictf("%s was submitted already, with another %s", c.l.key, f.Name)
		}
	}
	if len(c.unset) > 0 {
		return domain.Conflictf("%s was submitted already; its fields stay", c.l.key)
	}
	return nil
}

// dropJob lets only such jobs be deleted as nobody waits for.
func dropJob(x *call, l *leaf) error {
	if err := x.s.load(l, jobState...); err != nil {
		return err
	}
	unfinished := l.get(layout.JobFinishedMs) == "" && (l.get(layout.JobQueuedMs) != "" || l.get(layout.JobWaits) != "")
	if unfinished || l.get(layout.JobLeaseOwner) != "" {
		return domain.Conflictf("%s has not ended; cancel it first, with `ramet job cancel`", l.key)
	}
	for _, name := range []string{layout.JobLeaseOwner, layout.JobFinishedMs, layout.JobQueuedMs, layout.JobWaits} {
		x.s.pin(l, name)
	}
	return nil
}

// takeJob is asked for each item that is to be popped from a queue. What need
// not run is dropped (keep is false): it was cancelled, runs already, somebody took
// it by another entry of its key, it waits for something, is a stranger's, or has no
// record. For what is handed out the engine gets an alarm by which it
// looks after it, as no lease covers it.
func takeJob(x *call, _, item string) (keep bool, err error) {
	key, err := domain.ParseJobKey(item)
	if err != nil || key.String() != item {
		return true, nil // another program's own queue
	}
	l, err := x.s.as(item, board.KindRecord)
	if err == nil {
		err = x.s.load(l, jobState...)
	}
	if err == errWrongType {
		return true, nil
	} else if err != nil {
		return false, err
	}
	t, err := x.c.tenant(x.s.now, x.s.space())
	if err != nil {
		return false, err
	}
	permitted := identity.Permit(t, key.Caller, domain.VerbCreate, false)
	status := domain.JobStatus(l.get(layout.JobStatus))
	waits := l.get(layout.JobWaits)
	switch {
	case l.record.read < 0 && !permitted:
		return false, nil
	case l.record.read < 0:
		// It was deleted, or pushed before it is written, as some programs do: then
		// the engine queues it again.
		x.s.batch.SetAlarm(layout.Alarm(layout.AlarmForeign, key), x.s.now.Add(unwrittenLook))
		return false, nil
	case status.Final(), l.get(layout.JobLeaseOwner) != "", l.get(layout.JobFinishedMs) != "":
		return false, nil
	case l.get(layout.JobTakenBy) != "", l.get(layout.JobNextRetryMs) != "":
		return false, nil // another entry of its key; it comes back when it is to begin again
	case waits != "" && waits != "0" && l.get(layout.JobQueuedMs) == "":
		return false, nil // it is queued when it is ready
	case !permitted:
		x.endStrangers(l, key)
		return false, nil
	}
	x.s.pin(l, layout.JobLeaseOwner)
	x.s.pin(l, layout.JobFinishedMs)
	x.s.pin(l, layout.JobTakenBy)
	x.s.pin(l, pinned(l))
	x.s.put(l, board.Field{Name: layout.JobStartedMs, Value: strconv.FormatInt(x.s.now.UnixMilli(), 10)},
		board.Field{Name: layout.JobTakenBy, Value: strconv.FormatUint(uint64(x.c.who.Actor), 10)})
	if l.get(layout.JobQueuedMs) == "" { // the engine has not seen it yet
		x.s.batch.Live(item, x.s.now)
	}
	x.s.batch.SetAlarm(layout.Alarm(layout.AlarmForeign, key), x.s.now.Add(foreignLook))
	return true, nil
}

// untakeJob takes back what takeJob wrote of an item that its client never got.
func untakeJob(x *call, list, item string) error {
	key, err := domain.ParseJobKey(item)
	if rowOf(x.s.space(), list).group != "job" || err != nil || key.String() != item {
		return nil
	}
	l, err := x.s.as(item, board.KindRecord)
	if err == nil {
		err = x.s.load(l, layout.JobTakenBy)
	}
	if err == errWrongType || err == nil && l.get(layout.JobTakenBy) == "" {
		return nil
	} else if err != nil {
		return err
	}
	x.s.pin(l, layout.JobTakenBy)
	x.s.cut(l, layout.JobTakenBy, layout.JobStartedMs)
	x.s.batch.ClearAlarm(layout.Alarm(layout.AlarmForeign, key))
	return nil
}

// endStrangers ends a job whose caller may not create work in the context, as our
// own runners do: it was queued past the doors, or its caller has lost the right
// since. What follows is the engine's, which the alarm tells at once.
func (x *call) endStrangers(l *leaf, key domain.JobKey) {
	x.s.pin(l, layout.JobLeaseOwner)
	x.s.pin(l, layout.JobFinishedMs)
	x.s.pin(l, pinned(l))
	why := fmt.Sprintf("its caller, actor %d, may not create work in context %d; see `ramet context grant`", key.Caller, x.s.space())
	x.s.put(l, board.Field{Name: layout.JobStatus, Value: string(domain.JobError)}, board.Field{Name: layout.JobReason, Value: string(domain.ReasonInvalid)},
		board.Field{Name: layout.JobErrorText, Value: why}, board.Field{Name: layout.JobUpdatedAt, Value: strconv.FormatInt(x.s.now.Unix(), 10)})
	x.s.batch.SetAlarm(layout.Alarm(layout.AlarmForeign, key), x.s.now)
}

// pinned is a field that is not empty: guarding it keeps a record that is
// deleted meanwhile from being made again.
func pinned(l *leaf) string {
	for _, name := range []string{layout.JobScriptType, layout.JobStatus, layout.JobQueuedMs} {
		if l.get(name) != "" {
			return name
		}
	}
	return layout.JobScriptType
}
