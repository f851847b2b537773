package work

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// This file is what durable scripts are to the engine: their histories lie beside their
// jobs, written under the lease of the attempt, and an attempt that is suspended lets
// go of its job until an alarm or a signal.

const (
	// channelName is the socket in a job's folder.
	channelName = ".ramet-channel"
	// maxSocketPath is what fits into the address of a socket everywhere.
	maxSocketPath = 100
	// lingers is how long a process has to end by itself once it was asked to.
	lingers = time.Second
	// looksAgain is when a job that waits for a signal alone is looked at all the same.
	looksAgain = 30 * 24 * time.Hour
	// historyPage is how many items of a history are read at once.
	historyPage = 256
)

// openChannel gives the script its history, and a process the socket to ask for it.
func (x *run) openChannel(task *script.Task, env map[string]string) error {
	x.script = x.newScript(x.endSoon)
	task.Channel = x.script
	if x.claimer.info.Level == "" { // its scripts are no processes
		return nil
	}
	l, err := listenIn(task.Dir)
	if err != nil {
		return fmt.Errorf("make the job's channel: %w", err)
	}
	env["RAMET_CHANNEL"] = filepath.Join(task.Dir, channelName)
	x.channel = durable.Serve(context.WithoutCancel(x.Ctx), l, x.script)
	return nil
}

// newScript is the history of the run's attempt.
func (x *run) newScript(onStop func(now bool)) *durable.Script {
	s := durable.NewScript(&steps{x: x}, fmt.Sprintf("%d/%s/%d", x.Claimed.Space, x.key, x.job.CreatedAt), onStop)
	if x.hide != nil {
		s.Clean(x.hide.Text)
	}
	return s
}

// endSoon has the process end that the script was asked to end: at once, or when it has
// had time to do so by itself.
func (x *run) endSoon(now bool) {
	if now {
		x.Stop(script.ErrSuspended)
		return
	}
	t := time.AfterFunc(lingers, func() { x.Stop(script.ErrSuspended) })
	context.AfterFunc(x.Ctx, func() { t.Stop() })
}

// closeChannel answers what the script has asked for before it ended.
func (x *run) closeChannel() {
	if x.channel != nil {
		x.channel.Close()
	}
}

// listenIn makes the socket of a folder, whose path may be longer than an address can be.
func listenIn(dir string) (net.Listener, error) {
	path := filepath.Join(dir, channelName)
	if len(path) > maxSocketPath {
		folder, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		path = fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), channelName)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it goes with its folder
	return l, nil
}

// judgeDurable decides for a script that asked for what it remembers: one that was asked
// to end goes on later, one that asks for something else than before has ended for good.
func (x *run) judgeDurable(ctx context.Context, b *board.Batch, out script.Outcome, cause error) (what ended, yes bool) {
	if errors.Is(cause, script.ErrLost) || errors.Is(cause, script.ErrCancelled) {
		return what, false
	}
	switch err := x.script.Failed(); {
	case errors.Is(err, durable.ErrLost):
		return x.letDown(b), true
	case errors.Is(err, durable.ErrDrift):
		return x.end(b, ending{status: domain.JobError, reason: domain.ReasonScriptFailed, text: err.Error(), result: out.Result, exitCode: &out.ExitCode}), true
	}
	sus := x.script.Suspended()
	if sus == nil {
		return what, false
	}
	what, err := x.suspend(ctx, b, sus)
	if err != nil { // if a signal has come since the claim, the board refuses this, and it is looked at again
		what = x.letGoFor(b, sus, x.Claimed.Record.Get(layout.JobSignalSent), false)
	}
	return what, true
}

// suspend lets go of the job until what it waits for has come.
func (x *run) suspend(ctx context.Context, b *board.Batch, sus *domain.Suspension) (ended, error) {
	sent, came, err := x.signalCame(ctx, sus.Signals)
	if err == nil && !came {
		came, err = x.r.e.childCame(ctx, x.Claimed.Space, sus)
	}
	if err != nil {
		return ended{}, err
	}
	return x.letGoFor(b, sus, sent, came), nil
}

// letGoFor is suspend where it is known how many signals were sent, and whether one of
// them is what the script waits for: then it goes on at once.
func (x *run) letGoFor(b *board.Batch, sus *domain.Suspension, sent string, came bool) ended {
	now := x.r.e.board.Now()
	what := ended{status: domain.JobStarted, text: "suspended in " + suspendedIn(sus), suspended: sus}
	b.Equal(x.Claimed.Item, layout.JobCancel, "")
	b.Equal(x.Claimed.Item, layout.JobSignalSent, sent)
	b.Release(x.Claimed.Item)
	x.addLogs(b)
	x.addCheckpoint(b)
	x.noteRemembered(b)
	if came {
		x.r.e.requeue(b, x.job, now)
		return what
	}
	until := sus.Until()
	if until.IsZero() {
		until = now.Add(looksAgain)
	}
	b.Set(x.Claimed.Item,
		board.Field{Name: layout.JobNextRetryMs, Value: strconv.FormatInt(until.UnixMilli(), 10)},
		board.Field{Name: layout.JobUpdatedAt, Value: strconv.FormatInt(now.Unix(), 10)},
		layout.SuspendedField(sus))
	if x.job.Parked != "" {
		b.Unset(x.Claimed.Item, layout.JobParked)
	}
	b.SetAlarm(layout.Alarm(layout.AlarmRetry, x.key), until)
	want(b, x.key, sus, now)
	return what
}

// noteRemembered puts on the record how much the history has, where this attempt looked at it.
func (x *run) noteRemembered(b *board.Batch) {
	if x.script == nil {
		return
	}
	if n, used := x.script.Used(); used && n != x.job.Remembered {
		b.Set(x.Claimed.Item, board.Field{Name: layout.JobRemembered, Value: strconv.Itoa(n)})
	}
}

// signalCame tells whether one of the names was sent by now, and how many signals were ever sent, for a guard.
func (x *run) signalCame(ctx context.Context, names []string) (sent string, came bool, err error) {
	recs, err := x.r.e.board.GetFields(ctx, x.Claimed.Space, []string{layout.JobSignals, layout.JobSignalSent}, x.Claimed.Item)
	if err != nil {
		return "", false, err
	}
	sent = recs[0].Get(layout.JobSignalSent)
	if n := recs[0].Get(layout.JobSignals); n == "" || n == "0" || len(names) == 0 {
		return sent, false, nil
	}
	_, list, err := x.r.e.signalsOf(ctx, x.Claimed.Space, x.key)
	return sent, slices.ContainsFunc(list, func(s domain.Signal) bool { return slices.Contains(names, s.Name) }), err
}

// suspendedIn says in what a script waits.
func suspendedIn(s *domain.Suspension) string {
	text := fmt.Sprintf("%s %q", s.Kind, s.Name)
	if s.N > 1 {
		text += fmt.Sprintf(" (the %d. of that name)", s.N)
	}
	return text
}

// suspendedText says for what a script waits.
func suspendedText(s *domain.Suspension) string {
	text := "its script waits in " + suspendedIn(s)
	if len(s.Signals) > 0 {
		text += " for the signal " + joinSome(s.Signals)
	}
	if len(s.Prerequisites) > 0 {
		text += " for the prerequisite " + joinSome(s.Prerequisites)
	}
	if len(s.Children) > 0 {
		text += " for the end of " + joinSome(s.Children)
		noun, key, _ := strings.Cut(s.Children[0], ":")
		text += " (see `ramet " + noun + " explain " + key + "`)"
	}
	switch {
	case s.UntilMs == 0:
	case s.Kind == durable.DoSleep && len(s.Signals) == 0:
		text += ", until " + s.Until().UTC().Format(time.RFC3339)
	case s.Kind == durable.DoStep:
		text += ", which failed and is tried again at " + s.Until().UTC().Format(time.RFC3339)
	default:
		text += ", until " + s.Until().UTC().Format(time.RFC3339) + " at the latest"
	}
	return text + "; it holds no slot and no process"
}

// explainSuspended says for what a script waits, or that this has come and nobody has told it:
// a child was deleted, or thrown away by a store that was full; or a node of a version that
// knows no calls has put off the alarm of its end, as it does with all that it does not know.
func (e *Engine) explainSuspended(ctx context.Context, space board.Space, j *domain.Job, x explained) (explained, error) {
	x.Standing, x.Text = domain.StandingSuspended, suspendedText(j.Suspended)
	came, err := e.childCame(ctx, space, j.Suspended)
	if err != nil || !came && len(j.Suspended.Prerequisites) == 0 {
		return x, err
	}
	kind, text := layout.AlarmPrereq, "nothing looks any more for what its script waits for: "+joinSome(j.Suspended.Prerequisites)
	if came {
		kind, text = layout.AlarmCalled, "what its script has called has ended, and it was not told: "+joinSome(j.Suspended.Children)
	}
	alarm := layout.Alarm(kind, j.Key())
	at, set, err := e.board.AlarmOf(ctx, space, alarm)
	if putOff := came && at.After(e.board.Now().Add(auditAge)); err != nil || set && !putOff {
		return x, err
	}
	x.Standing, x.Text = domain.StandingStuck, text
	x.Mend = &Mend{Does: "has it looked at", Did: "it is looked at", Add: func(b *board.Batch) {
		asRead(b, j, layout.JobNextRetryMs, layout.JobAttempt)
		b.Free(x.Key)
		b.SetAlarm(alarm, e.board.Now())
	}}
	return x, nil
}

// steps are the history of a run's job, on the board.
type steps struct{ x *run }

var _ durable.Store = (*steps)(nil)

// Now is the board's clock: the alarm that has the script go on comes by it.
func (h *steps) Now() time.Time { return h.x.r.e.board.Now() }

// Load reads it. That of a first attempt is empty, unless it was forked.
func (h *steps) Load(ctx context.Context) ([]string, error) {
	if h.x.Claimed.Token == 1 && h.x.job.Remembered == 0 {
		return nil, nil
	}
	return h.x.r.e.history(ctx, h.x.Claimed.Space, h.x.key)
}

// history reads all items of a job's history.
func (e *Engine) history(ctx context.Context, space board.Space, key domain.JobKey) (all []string, err error) {
	for {
		items, err := e.board.List(ctx, space, layout.Steps(key), len(all), historyPage)
		if err != nil {
			return nil, err
		}
		if all = append(all, items...); len(items) < historyPage {
			return all, nil
		}
	}
}

// Append commits an item under the lease.
func (h *steps) Append(ctx context.Context, length int, item string) error {
	b := h.x.heldBatch()
	if err := h.add(&b, length, item); err != nil {
		return err
	}
	return h.commit(ctx, b)
}

// add puts an item into a commit, without the secrets of the job: everybody who may read
// the job may read its history.
func (h *steps) add(b *board.Batch, length int, item string) error {
	if h.x.hide != nil {
		if item = h.x.hide.JSON(item); !json.Valid([]byte(item)) {
			return domain.Invalidf("the answer of a step has a secret in its midst that cannot be taken out; have the step answer without it")
		}
	}
	list := layout.Steps(h.x.key)
	b.Length(list, length).PushRight(list, item)
	if length == 0 { // whoever removes the job knows by it that there is a history
		b.Set(h.x.Claimed.Item, board.Field{Name: layout.JobRemembered, Value: "1"})
	}
	// Who goes on does not kill its node at the same place again and again, which is what
	// losses are counted for: a script that lives for months sees many nodes come and go.
	if losses(h.x.Claimed) > 0 {
		b.Set(h.x.Claimed.Item, lossesField(0))
	}
	return nil
}

func (h *steps) commit(ctx context.Context, b board.Batch) error {
	return h.refused(h.x.r.e.board.Commit(ctx, b))
}

// refused says what it means that a commit under the lease was refused.
func (h *steps) refused(err error) error {
	switch {
	case isGone(err):
		return durable.ErrLost
	case errors.Is(err, domain.ErrConflict): // an earlier commit whose answer was lost
		return domain.Unavailablef("the history of %s has moved: %v", h.x.key, err)
	}
	return err
}
