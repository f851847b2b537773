package keyspace

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
// its queue by a program of others.
const foreignLook = 2 * time.Second

// unwrittenLook is when a key that had no record is looked for again: as late as
// runners of the node give it up.
const unwrittenLook = 3 * time.Second

// jobState are the fields by which is known where a job stands.
var jobState = []string{layout.JobStatus, layout.JobLeaseOwner, layout.JobFinishedMs, layout.JobQueuedMs, layout.JobWaits, layout.JobScript,
	layout.JobScriptType,
	layout.JobTakenBy, layout.JobNextRetryMs}

var (
	offerJob  = &Rule{needs: always(layout.JobScriptType), decide: decideOfferJob}
	putJob    = &Rule{needs: func(c *Change) []string { return append(c.names(), jobState...) }, decide: decidePutJob}
	dropJob   = &Rule{needs: always(jobState...), decide: decideDropJob}
	takeJob   = &Rule{needs: always(slices.Concat(jobState, layout.JobWaitsFor)...), decide: decideTakeJob}
	untakeJob = &Rule{needs: always(layout.JobTakenBy), decide: decideUntakeJob}
)

// jobItem is the key of the job that an item of a queue names; "" where it names
// none: another program's own queue.
func jobItem(_, item string) string {
	if key, err := domain.ParseJobKey(item); err != nil || key.String() != item {
		return ""
	}
	return item
}

// decidePutJob keeps a job readable, leaves alone what one of our runners holds or
// what has ended, and lets the engine know at once when a foreign runner ends one.
func decidePutJob(q *Request, c *Change, seen Seen) (Outcome, error) {
	key, err := readableJob(q, c)
	if err != nil {
		return Outcome{}, err
	}
	if c.maker {
		if err := q.own(c.Key, key.Caller); err != nil {
			return Outcome{}, err
		}
	} else if !seen.There {
		return Outcome{}, domain.Conflictf("%s does not exist; who makes a job writes its script and script_type first", c.Key)
	}
	if !c.maker || !awaited(seen) {
		if err := freeJob(c.Key, seen); err != nil {
			return Outcome{}, err
		}
	}
	out := Outcome{Guards: []string{layout.JobLeaseOwner, layout.JobFinishedMs, layout.JobStatus}} // status: two who end it at once
	if status := domain.JobStatus(seen.get(layout.JobStatus)); status.Final() {
		return out, c.sameEnd(status, seen)
	}
	if err := q.works(c, key, seen); err != nil {
		return Outcome{}, err
	}
	out.Guards = append(out.Guards, layout.JobTakenBy) // or it went back meanwhile, and another has it
	switch fixed := seen.get(layout.JobQueuedMs)+seen.get(layout.JobWaits) != ""; {
	case c.maker && fixed:
		if err := c.sameDefinition(seen); err != nil {
			return Outcome{}, err
		}
	default:
		out.Guards = append(out.Guards, layout.JobQueuedMs)
	}
	q.progress(c, key, &out)
	return out, nil
}

// works refuses what is said of how a job goes by who has not taken it from a queue, and
// whose it is not: an executor writes what it runs, not what it can name.
func (q *Request) works(c *Change, key domain.JobKey, seen Seen) error {
	if seen.get(layout.JobTakenBy) == strconv.FormatUint(uint64(q.Who), 10) || q.own(c.Key, key.Caller) == nil {
		return nil
	}
	return domain.Conflictf("%s is written by who took it from its queue, and that is not actor %d", c.Key, q.Who)
}

// readableJob refuses what the engine could not read as a job.
func readableJob(q *Request, c *Change) (domain.JobKey, error) {
	key, err := domain.ParseJobKey(c.Key)
	if err != nil || key.String() != c.Key {
		return key, domain.Invalidf("%.255q is no key of a job: want job:<caller>:<id>, for example job:12:2001", c.Key)
	}
	if err := c.identical(map[string]uint64{"id": uint64(key.ID), "caller_id": uint64(key.Caller), "context_id": uint64(q.Space)}); err != nil {
		return key, err
	}
	if _, err := layout.DecodeJob(key, c.Set); err != nil {
		return key, err
	}
	if at, there := c.text(layout.JobAt); there && at != "" {
		if _, err := domain.ParsePlace(at); err != nil {
			return key, fmt.Errorf("%s: %w", key, err)
		}
	}
	if code, there := c.text(layout.JobExitCode); there && code != "" { // records of old may have any
		if _, err := strconv.ParseInt(code, 10, 32); err != nil {
			return key, domain.Invalidf("%s: field %s is %.64q, want a decimal number of 32 bits", key, layout.JobExitCode, code)
		}
	}
	return key, nil
}

// sameEnd refuses to change a job whose end stands in its record, and of which the
// engine has not taken note yet. The same once more is no change: its runner was
// not told that its end has been written.
func (c *Change) sameEnd(status domain.JobStatus, seen Seen) error {
	if len(c.Unset) > 0 || slices.ContainsFunc(c.Set, func(f board.Field) bool { return seen.get(f.Name) != f.Value }) {
		return domain.Conflictf("%s has ended already: it is %s", c.Key, status)
	}
	return nil
}

// sameDefinition refuses to change what was asked for once the engine has taken it
// over. The same once more is no change.
func (c *Change) sameDefinition(seen Seen) error {
	for _, f := range c.Set {
		if !slices.Contains(jobFields.progress, f.Name) && seen.get(f.Name) != f.Value {
			return domain.Conflictf("%s was submitted already, with another %s", c.Key, f.Name)
		}
	}
	if len(c.Unset) > 0 {
		return domain.Conflictf("%s was submitted already; its fields stay", c.Key)
	}
	return nil
}

// progress notes who ends a job, and has the engine look at it at once when it has
// ended or is given back.
func (q *Request) progress(c *Change, key domain.JobKey, out *Outcome) {
	status, _ := c.text(layout.JobStatus)
	alive, says := c.text(layout.JobAliveUntil)
	until, err := strconv.ParseInt(alive, 10, 64)
	switch {
	case domain.JobStatus(status).Final():
		out.Set = []board.Field{{Name: layout.JobEndedBy, Value: strconv.FormatUint(uint64(q.Who), 10)}}
	case says && err == nil && until <= q.Now.Unix():
	default:
		return
	}
	out.Alarm, out.At = layout.Alarm(layout.AlarmForeign, key), q.Now
}

// awaited reports whether a runner of the node has taken a key that was pushed before
// its record was written, and waits for its maker to write it.
func awaited(seen Seen) bool {
	return seen.get(layout.JobLeaseOwner) != "" && seen.get(layout.JobFinishedMs)+seen.get(layout.JobQueuedMs)+seen.get(layout.JobWaits) == "" &&
		(seen.get(layout.JobScript) == "" || seen.get(layout.JobScriptType) == "")
}

// freeJob refuses to write a job that one of our runners holds, or that has ended.
func freeJob(key string, seen Seen) error {
	switch {
	case seen.get(layout.JobLeaseOwner) != "":
		return domain.Conflictf("%s is held by %s under a lease, and is its to write", key, seen.get(layout.JobLeaseOwner))
	case seen.get(layout.JobFinishedMs) != "":
		return domain.Conflictf("%s has ended already: it is %s", key, seen.get(layout.JobStatus))
	}
	return nil
}

// decideDropJob lets only such jobs be deleted as nobody waits for: that have ended, and those of
// one's own that neither a runner nor the node has seen.
func decideDropJob(q *Request, c *Change, seen Seen) (Outcome, error) {
	key, err := domain.ParseJobKey(c.Key)
	if err != nil {
		return Outcome{}, nil // no job: it is in nobody's way
	}
	ended := seen.get(layout.JobFinishedMs) != ""
	known := seen.get(layout.JobQueuedMs)+seen.get(layout.JobWaits)+seen.get(layout.JobTakenBy) != ""
	if seen.get(layout.JobLeaseOwner) != "" || !ended && (known || q.own(c.Key, key.Caller) != nil) {
		return Outcome{}, domain.Conflictf("%s has not ended; cancel it first, with `ramet job cancel`", c.Key)
	}
	return Outcome{Guards: []string{layout.JobLeaseOwner, layout.JobFinishedMs, layout.JobStatus, layout.JobTakenBy, layout.JobQueuedMs, layout.JobWaits}}, nil
}

// decideOfferJob refuses the key of another's job that is not there. A runner that waits
// for its record would keep the number from its caller, who has not used it yet; and
// whoever may write the record can push it, too. One that is there may be pushed by all who
// may create work: programs do that for the jobs of others that have become ready.
func decideOfferJob(q *Request, c *Change, seen Seen) (Outcome, error) {
	if seen.There {
		return Outcome{}, nil
	}
	return Outcome{}, domain.Forbiddenf("%s does not exist, and its caller is not you: a job is queued ahead of its record in one's own name only; "+
		"write job:%d:<id>",
		c.Key, q.Who)
}

// decideTakeJob is asked for each item that is to be popped from a queue. What need
// not run is dropped: it was cancelled, runs already, somebody took it by another
// entry of its key, it waits for something, is to run elsewhere, is a stranger's, or has
// no record. For
// what is handed out the engine gets an alarm by which it looks after it, as no
// lease covers it.
func decideTakeJob(q *Request, c *Change, seen Seen) (Outcome, error) {
	key, err := domain.ParseJobKey(c.Key)
	if err != nil {
		return Outcome{}, err
	}
	t, err := q.Tenant()
	if err != nil {
		return Outcome{}, err
	}
	permitted := identity.Permit(t, key.Caller, domain.VerbCreate, false)
	waits := seen.get(layout.JobWaits)
	switch {
	case !seen.There && !permitted:
		return Outcome{Drop: true}, nil
	case !seen.There:
		// It was deleted, or pushed before it is written, as some programs do: then
		// the engine queues it again.
		return Outcome{Drop: true, Alarm: layout.Alarm(layout.AlarmForeign, key), At: q.Now.Add(unwrittenLook)}, nil
	case domain.JobStatus(seen.get(layout.JobStatus)).Final(), seen.get(layout.JobLeaseOwner) != "", seen.get(layout.JobFinishedMs) != "":
		return Outcome{Drop: true}, nil
	case seen.get(layout.JobTakenBy) != "", seen.get(layout.JobNextRetryMs) != "":
		return Outcome{Drop: true}, nil // another entry of its key; it comes back when it is to begin again
	case waits != "" && waits != "0" && seen.get(layout.JobQueuedMs) == "":
		return Outcome{Drop: true}, nil // it is queued when it is ready
	case !permitted:
		return q.endStrangers(key, seen), nil
	case seen.get(layout.JobQueuedMs) == "" && q.waits(key, seen):
		// No node has taken it over yet: the engine does so now, and queues it when it is ready.
		return Outcome{
			Drop:   true,
			Guards: []string{layout.JobLeaseOwner, layout.JobFinishedMs, layout.JobTakenBy, layout.JobQueuedMs, layout.JobWaits, written(seen)},
			Set:    []board.Field{{Name: layout.JobStatus, Value: string(domain.JobWaiting)}},
			Live:   true,
			Alarm:  layout.Alarm(layout.AlarmForeign, key), At: q.Now,
		}, nil
	}
	return Outcome{
		Guards: []string{layout.JobLeaseOwner, layout.JobFinishedMs, layout.JobTakenBy, written(seen)},
		Set: []board.Field{{Name: layout.JobStartedMs, Value: strconv.FormatInt(q.Now.UnixMilli(), 10)},
			{Name: layout.JobTakenBy, Value: strconv.FormatUint(uint64(q.Who), 10)}},
		Live:  seen.get(layout.JobQueuedMs) == "", // the engine has not seen it yet
		Alarm: layout.Alarm(layout.AlarmForeign, key), At: q.Now.Add(foreignLook),
	}, nil
}

// waits reports whether a job, as its maker wrote it, asks for something to come true
// before it runs, or to run elsewhere. One that cannot be read does, too: the engine
// says what is wrong with it.
func (q *Request) waits(key domain.JobKey, seen Seen) bool {
	asked := []board.Field{{Name: layout.JobStatus, Value: seen.get(layout.JobStatus)}}
	for _, name := range layout.JobWaitsFor {
		if value := seen.get(name); value != "" {
			asked = append(asked, board.Field{Name: name, Value: value})
		}
	}
	j, err := layout.DecodeJob(key, asked)
	return err != nil || j.Status == domain.JobWaiting || len(j.Dependends)+len(j.Prerequisites) > 0 || j.NotBefore > q.Now.UnixMilli() || j.At != ""
}

// decideUntakeJob takes back what decideTakeJob wrote of an item that its client
// never got.
func decideUntakeJob(_ *Request, c *Change, seen Seen) (Outcome, error) {
	key, err := domain.ParseJobKey(c.Key)
	if err != nil || seen.get(layout.JobTakenBy) == "" {
		return Outcome{}, err
	}
	return Outcome{Guards: []string{layout.JobTakenBy}, Unset: []string{layout.JobTakenBy, layout.JobStartedMs},
		Alarm: layout.Alarm(layout.AlarmForeign, key)}, nil
}

// endStrangers ends a job whose caller may not create work in the context, as our
// own runners do: it was queued past the doors, or its caller has lost the right
// since. What follows is the engine's, which the alarm tells at once.
func (q *Request) endStrangers(key domain.JobKey, seen Seen) Outcome {
	why := fmt.Sprintf("its caller, actor %d, may not create work in context %d; see `ramet context grant`", key.Caller, q.Space)
	return Outcome{
		Drop:   true,
		Guards: []string{layout.JobLeaseOwner, layout.JobFinishedMs, written(seen)},
		Set: []board.Field{{Name: layout.JobStatus, Value: string(domain.JobError)}, {Name: layout.JobReason, Value: string(domain.ReasonInvalid)},
			{Name: layout.JobErrorText, Value: why}, {Name: layout.JobUpdatedAt, Value: strconv.FormatInt(q.Now.Unix(), 10)}},
		Alarm: layout.Alarm(layout.AlarmForeign, key), At: q.Now,
	}
}

// written is a field that is not empty: guarding it keeps a record that is deleted
// meanwhile from being made again.
func written(seen Seen) string {
	for _, name := range []string{layout.JobScriptType, layout.JobStatus, layout.JobQueuedMs} {
		if seen.get(name) != "" {
			return name
		}
	}
	return layout.JobScriptType
}

// holderState are the fields by which is known who holds a job without a lease.
var holderState = []string{layout.JobTakenBy, layout.JobLeaseOwner, layout.JobFinishedMs}

// Holds reports whether an actor took the record from its queue and has it still.
func (k *Kind) Holds(who domain.ActorID, seen Seen) bool {
	return k.HolderNeeds != nil && seen.get(layout.JobTakenBy) == strconv.FormatUint(uint64(who), 10) &&
		seen.get(layout.JobLeaseOwner) == "" && seen.get(layout.JobFinishedMs) == ""
}
