package resp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules that hold for keys of the layout beside the rights:
// what keeps a record readable for the engine, and what the engine must be told
// in the same commit.

// change is fields that a command is about to write to a record, or to take
// away.
type change struct {
	l     *leaf
	set   []board.Field
	unset []string
	// maker says that fields of the definition are among them.
	maker bool
}

// names are those of the fields.
func (c *change) names() []string {
	names := slices.Clone(c.unset)
	for _, f := range c.set {
		names = append(names, f.Name)
	}
	return names
}

// text is what a field will be.
func (c *change) text(name string) (string, bool) {
	for _, f := range slices.Backward(c.set) {
		if f.Name == name {
			return f.Value, true
		}
	}
	return "", false
}

// own refuses a record in another's name. The operator may write for everybody,
// where it is admin.
func (x *call) own(what string, caller domain.ActorID) error {
	if who := x.c.who.Actor; who == caller || who == domain.Operator {
		return nil
	}
	return domain.Forbiddenf("%s: the caller in its key is not you: what is asked for is asked for in one's own name; write %s:%d:<id>",
		what, strings.SplitN(what, ":", 2)[0], x.c.who.Actor)
}

// identical refuses fields that say something else than the key does.
func (c *change) identical(want map[string]uint64) error {
	for name, n := range want {
		if text, there := c.text(name); there && text != strconv.FormatUint(n, 10) && !(name == "context_id" && text == "0") {
			return domain.Invalidf("%s: field %s is %.40q, but by its key it is %d", c.l.key, name, text, n)
		}
	}
	return nil
}

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
	permitted := identity.Permit(t, key.Caller, identity.Create, false)
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

// takeTask drops tasks of a circle that have ended, that one of our workers has, or
// that are a stranger's. One that is not written yet, as some programs push them, is
// handed out: nobody knows whose it is.
func takeTask(x *call, list, item string) (keep bool, err error) {
	key := board.Named(list, item)
	if key == "" {
		return true, nil
	}
	l, err := x.s.as(key, board.KindRecord)
	if err == nil {
		err = x.s.load(l, layout.TaskLine...)
	}
	if err == errWrongType {
		return true, nil
	} else if err != nil {
		return false, err
	}
	var rec board.Record
	for _, name := range layout.TaskLine {
		rec = append(rec, board.Field{Name: name, Value: l.get(name)})
	}
	id, _ := layout.ParseTask(key) // a circle's list has nothing else: see board.Named
	t := layout.DecodeTask(id, rec)
	if t.Final() || t.LeaseOwner != "" {
		return false, nil
	}
	why, err := x.strangersTask(l, t)
	if err != nil {
		return false, err
	}
	x.s.pin(l, board.FieldOwner)
	if why != "" {
		return false, x.endTask(l, t, why)
	}
	return true, nil
}

// strangersTask says why nobody may do a task, as our own workers find; "" is that
// somebody may.
func (x *call) strangersTask(l *leaf, t *domain.Task) (why string, err error) {
	switch {
	case l.record.read < 0:
		return "", nil
	case t.CallerID == 0 && x.c.door.cfg.NamedCallers:
		return "it names no caller: this node wants caller_id on each task (circle_callers)", nil
	case t.CallerID == 0:
		return "", nil
	}
	in, err := x.c.tenant(x.s.now, x.s.space())
	if err != nil || identity.Permit(in, t.CallerID, identity.Create, false) {
		return "", err
	}
	return fmt.Sprintf("its caller, actor %d, may not create work in context %d; see `ramet context grant`", t.CallerID, x.s.space()), nil
}

// endTask ends a task with an error, and tells its client, as our own workers do.
// The audit lets its record expire.
func (x *call) endTask(l *leaf, t *domain.Task, why string) error {
	t.Status, t.Error = domain.TaskError, why
	x.s.pin(l, layout.TaskStatus)
	x.s.put(l, board.Field{Name: layout.TaskStatus, Value: string(t.Status)}, board.Field{Name: layout.TaskError, Value: why},
		board.Field{Name: layout.TaskUpdatedAt, Value: strconv.FormatInt(x.s.now.Unix(), 10)})
	if !layout.IsReply(t.ReplyToQueue) {
		return nil
	}
	reply, err := x.s.listOf(t.ReplyToQueue)
	if err == errWrongType {
		return nil // nobody waits there for a reply
	}
	if err == nil {
		_, err = x.s.length(reply)
	}
	if err != nil {
		return err
	}
	x.s.push(reply, true, layout.EncodeReply(t))
	x.s.expireAt(reply, x.s.now.Add(cmp.Or(x.c.door.cfg.ReplyExpiry, 5*time.Minute)))
	return nil
}

// putTask leaves alone what one of our workers holds, and has tasks written in
// one's own name. Who does not say whose it is gives it to the worker.
func putTask(x *call, c *change) error {
	if caller, there := c.text("caller_id"); there && caller != strconv.FormatUint(uint64(x.c.who.Actor), 10) && x.c.who.Actor != domain.Operator {
		return domain.Forbiddenf("%s: caller_id %.20q is not you: tasks are written in one's own name; write %d, or leave it out", c.l.key, caller, x.c.who.Actor)
	}
	if err := x.s.load(c.l, board.FieldOwner, layout.TaskScript); err != nil {
		return err
	}
	// A worker that holds a task without a script waits for it: some clients
	// push the id first.
	_, brings := c.text(layout.TaskScript)
	if owner := c.l.get(board.FieldOwner); owner != "" && (c.l.get(layout.TaskScript) != "" || !brings) {
		return domain.Conflictf("%s is held by %s under a lease, and is its to write", c.l.key, owner)
	}
	x.s.pin(c.l, board.FieldOwner)
	x.s.pin(c.l, layout.TaskScript)
	return nil
}

// putFlow keeps a flow readable, leaves alone what a keeper looks after, and
// lets flows of foreign programs be looked for.
func putFlow(x *call, c *change) error {
	id, err := domain.ParseFlowKey(c.l.key)
	if err != nil || domain.FlowKey(id) != c.l.key {
		return domain.Invalidf("%.255q is no key of a flow: want flow:<id>, for example flow:33", c.l.key)
	}
	if err := c.identical(map[string]uint64{"id": uint64(id), "context_id": uint64(x.s.space())}); err != nil {
		return err
	}
	if _, err := layout.DecodeFlow(c.l.key, c.set); err != nil {
		return err
	}
	if err := x.s.load(c.l, layout.FlowCaller); err != nil {
		return err
	}
	for _, text := range []string{c.l.get(layout.FlowCaller), first(c.text(layout.FlowCaller))} {
		if text == "" {
			continue
		}
		if n, err := strconv.ParseUint(text, 10, 32); err != nil || domain.ActorID(n) != x.c.who.Actor && x.c.who.Actor != domain.Operator {
			return domain.Forbiddenf("%s: caller_id %.20q is not you: flows are written in one's own name; write %d", c.l.key, text, x.c.who.Actor)
		}
	}
	if err := x.notKept(id, c.l.key); err != nil {
		return err
	}
	x.s.batch.SetAlarm(layout.FlowScan, x.s.now.Truncate(flowScanEvery).Add(flowScanEvery))
	return nil
}

// flowScanEvery is how often flows of foreign programs are looked for while
// they write some.
const flowScanEvery = 500 * time.Millisecond

func first(s string, _ bool) string { return s }

// notKept refuses what a keeper looks after already.
func (x *call) notKept(id domain.FlowID, key string) error {
	state, err := x.s.as(layout.FlowState(id), board.KindRecord)
	if err == nil {
		err = x.s.load(state, layout.FlowStateCaller)
	}
	if err != nil {
		return err
	}
	if state.record.read > 0 {
		return domain.Conflictf("%s is looked after by the node, and no longer written by others; see `ramet flow`", key)
	}
	x.s.batch.Absent(state.key)
	return nil
}

// dropFlow leaves flows that a keeper looks after to `ramet flow delete`, which
// takes away what belongs to them too.
func dropFlow(x *call, l *leaf) error {
	id, err := domain.ParseFlowKey(l.key)
	if err != nil {
		return nil // no flow, and nothing hangs on it
	}
	return x.notKept(id, l.key)
}

// putMessage keeps a message readable and its sender honest: only the actor in
// its key writes it, and only until it is on its way.
func putMessage(x *call, c *change) error {
	key, err := domain.ParseMessageKey(c.l.key)
	if err != nil || key.String() != c.l.key {
		return domain.Invalidf("%.255q is no key of a message: want message:<caller>:<id>, for example message:12:101", c.l.key)
	}
	// Its context_id is no part of its place: it says which context the message is for.
	if err := c.identical(map[string]uint64{"id": uint64(key.ID), "caller_id": uint64(key.Caller)}); err != nil {
		return err
	}
	if _, err := layout.DecodeMessage(key, c.set); err != nil {
		return err
	}
	if err := x.own(c.l.key, key.Caller); err != nil {
		return err
	}
	if typ, _ := c.text("message_type"); typ == string(domain.MessageJob) { // as the supervisor judges it
		t, err := x.c.tenant(x.s.now, x.s.space())
		if err != nil {
			return err
		}
		if !identity.Permit(t, key.Caller, identity.Create, false) {
			return domain.Forbiddenf("%s: message_type job asks for work, which actor %d may not do in context %d; who executes may write chat and mail",
				c.l.key, key.Caller, x.s.space())
		}
	}
	if status, there := c.text(layout.MessageStatus); there && status != string(domain.MessageDispatched) {
		return domain.Invalidf("%s: status %.40q: a message begins as dispatched, and the node writes what becomes of it", c.l.key, status)
	}
	if err := x.s.load(c.l, layout.MessageStatus, layout.MessageOrigin, layout.MessagePushes, layout.MessageSentMs); err != nil {
		return err
	}
	status := domain.MessageStatus(c.l.get(layout.MessageStatus))
	if status != "" && status != domain.MessageDispatched || c.l.get(layout.MessageOrigin)+c.l.get(layout.MessagePushes)+c.l.get(layout.MessageSentMs) != "" {
		return domain.Conflictf("%s is on its way already, or came from elsewhere, and is no longer written by others", c.l.key)
	}
	x.s.pin(c.l, layout.MessageStatus)
	x.s.pin(c.l, layout.MessageOrigin)
	x.s.pin(c.l, layout.MessageSentMs)
	return nil
}

// dropMessage leaves those alone that are on their way.
func dropMessage(x *call, l *leaf) error {
	if err := x.s.load(l, layout.MessageStatus, layout.MessageOrigin, layout.MessagePushes, layout.MessageSentMs); err != nil {
		return err
	}
	begun := l.get(layout.MessageOrigin)+l.get(layout.MessagePushes)+l.get(layout.MessageSentMs) != "" ||
		domain.MessageStatus(l.get(layout.MessageStatus)) == domain.MessageAcknowledged
	if begun && !domain.MessageStatus(l.get(layout.MessageStatus)).Final() {
		return domain.Conflictf("%s is on its way; it can be deleted when it has ended", l.key)
	}
	x.s.pin(l, layout.MessageStatus)
	x.s.pin(l, layout.MessageSentMs)
	return nil
}

// dropTask leaves those alone that one of our workers holds.
func dropTask(x *call, l *leaf) error {
	return putTask(x, &change{l: l})
}

// environment hides the values of environment variables.
var environment = map[string]func(string) string{"env_vars": hideValues}

// letter hides them in the jobs that a message carries, and in its flow.
var letter = map[string]func(string) string{"job": hideInJobs, "flow": func(string) string { return api.Redacted }}

// hideValues hides the values of a JSON object of strings.
func hideValues(text string) string {
	if text == "" || text == "{}" {
		return text
	}
	var m map[string]string
	if json.Unmarshal([]byte(text), &m) != nil {
		return api.Redacted
	}
	for name := range m {
		m[name] = api.Redacted
	}
	hidden, err := json.Marshal(m)
	if err != nil {
		return api.Redacted
	}
	return string(hidden)
}

// hideInJobs hides them in a JSON list of jobs.
func hideInJobs(text string) string {
	if text == "" || text == "[]" {
		return text
	}
	var jobs []map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &jobs) != nil {
		return api.Redacted
	}
	for _, j := range jobs {
		for name, raw := range j {
			// encoding/json takes names in any case, so others may read them so.
			if strings.EqualFold(name, "env_vars") {
				j[name] = json.RawMessage(hideRaw(raw))
			}
		}
	}
	hidden, err := json.Marshal(jobs)
	if err != nil {
		return api.Redacted
	}
	return string(hidden)
}

func hideRaw(raw json.RawMessage) string {
	if hidden := hideValues(string(raw)); hidden != api.Redacted {
		return hidden
	}
	return `"` + api.Redacted + `"`
}

// sees reports whether the client may read a record's secrets: with the right
// to, or as the executor who took the job from its queue and has it still.
func (x *call) sees(l *leaf) (bool, error) {
	if x.c.permits(x.s.now, identity.ReadEnv, rowOf(x.s.space(), l.key).group) {
		return true, nil
	}
	if !strings.HasPrefix(l.key, layout.JobPrefix) || !x.c.permits(x.s.now, identity.Finish, "job") {
		return false, nil
	}
	if err := x.s.load(l, layout.JobTakenBy, layout.JobLeaseOwner, layout.JobFinishedMs); err != nil {
		return false, err
	}
	mine := l.get(layout.JobTakenBy) == strconv.FormatUint(uint64(x.c.who.Actor), 10)
	return mine && l.get(layout.JobLeaseOwner) == "" && l.get(layout.JobFinishedMs) == "", nil
}
