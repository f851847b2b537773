package flow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Verb is what a person asks of a flow.
type Verb string

// The verbs.
const (
	OrderCancel  Verb = "cancel"
	OrderRetry   Verb = "retry"
	OrderSkip    Verb = "skip"
	OrderApprove Verb = "approve"
	OrderReject  Verb = "reject"
	OrderDone    Verb = "done"
	OrderUpdate  Verb = "update"
	OrderDelete  Verb = "delete"
)

// Order is what a person asks of a flow. It lies on the board until the keeper
// has done it.
type Order struct {
	ID   string         `json:"id"`
	Verb Verb           `json:"verb"`
	By   domain.ActorID `json:"by"`
	AtMs int64          `json:"at_ms"`
	// Step is whose turn it is: of skip, approve and reject; of a retry that is of one
	// step only, and Key which of its elements.
	Step string `json:"step,omitempty"`
	Key  string `json:"key,omitempty"`
	// Text is what the person says about it.
	Text string `json:"text,omitempty"`
	// Answers are what the person fills in who decides, or the result of a step that is
	// marked as done.
	Answers map[string]string `json:"answers,omitempty"`
	// Forget lets a delete free the flow's name, too.
	Forget bool `json:"forget,omitempty"`
	// Full is set of a cancel because of a concurrency key that others hold.
	Full bool `json:"full,omitempty"`
	// For is the flow of the same key that a cancel makes room for.
	For domain.FlowID `json:"for,omitempty"`
	// Failed lets a retry start failed parts again too, not only those in error.
	Failed bool `json:"failed,omitempty"`
	// NoCache lets a retry have no step take what is kept, from then on.
	NoCache bool `json:"no_cache,omitempty"`
	// Steps are the changes of an update.
	Steps map[string]domain.StepChange `json:"steps,omitempty"`
	// Ticket names the request, as that of a [Request] does: asked for again under it, the order is not given
	// again, which would undo what others have ordered since.
	Ticket string `json:"-"`
}

// orders does what people ask.
func (a *advancer) orders() {
	for _, o := range a.f.Orders {
		a.order(o)
	}
}

// order does one order, or says why not.
func (a *advancer) order(o Order) {
	if _, twice := a.s.answered(o.ID); twice {
		return
	}
	text := ""
	if err := a.obey(o); err != nil {
		text = err.Error()
	}
	a.s.answer(o.ID, text)
}

// errDeleted refuses what is asked of a flow after it was to be deleted: its
// jobs may be gone already.
var errDeleted = domain.Conflictf("the flow is being deleted")

func (a *advancer) obey(o Order) error {
	if a.s.Delete && o.Verb != OrderDelete {
		return errDeleted
	}
	switch o.Verb {
	case OrderCancel:
		return a.cancel(o)
	case OrderDelete:
		a.s.Delete, a.s.Forget = true, a.s.Forget || o.Forget
		if a.ended() {
			return nil
		}
		return a.cancel(o)
	case OrderRetry:
		return a.retry(o)
	case OrderUpdate:
		return a.update(o)
	}
	i, known := a.p.index[o.Step]
	if !known {
		return domain.NotFoundf("the flow has no step %q", o.Step)
	}
	st, known := a.at(i)
	if !known {
		return nil
	}
	switch o.Verb {
	case OrderSkip:
		return a.skip(i, st)
	case OrderDone:
		return a.done(i, st, o)
	}
	return a.decide(i, st, o)
}

// ended reports whether all steps have.
func (a *advancer) ended() bool { return a.s.Sums.Undone == 0 }

func (a *advancer) cancel(o Order) error {
	if a.ended() {
		return domain.Conflictf("the flow has ended")
	}
	if a.s.Cancelled == "" {
		a.s.Cancelled = fmt.Sprint(uint32(o.By))
		if o.Full {
			a.s.Cancelled = domain.CancelledFull
		}
		a.s.CancelledFor = o.For
		a.stops++
	}
	return nil
}

// cancelling says why a flow cannot go on that is on its way to its end.
func (a *advancer) cancelling() error {
	if a.s.Cancelled == "" || a.ended() {
		return nil
	}
	return domain.Conflictf("the flow is being cancelled; wait until it has ended")
}

// skip skips a step that has not begun, or accepts one that ended badly.
func (a *advancer) skip(i int, st *StepState) error {
	s := &a.p.Steps[i]
	switch {
	case !s.MaySkip:
		return domain.Conflictf("step %s does not allow to be skipped: its blueprint does not set may_skip", s.Name)
	case st.Status == domain.StepDormant:
		a.change(i).Skip = true
	case st.Status.Begun():
		return domain.Conflictf("step %s is %s; only one that has not begun, or ended badly, can be skipped", s.Name, st.Status)
	case classOf(st.Status) == well:
		return domain.Conflictf("step %s is %s already", s.Name, st.Status)
	default:
		if err := cmp.Or(a.cancelling(), rivalled(a.f.Rival)); err != nil {
			return err
		}
		a.end(i, domain.StepSkipped, "skipped by hand after it ended badly")
		a.resume()
	}
	return nil
}

// retry starts again what ended badly.
func (a *advancer) retry(o Order) error {
	if err := cmp.Or(a.cancelling(), rivalled(a.f.Rival)); err != nil {
		return err
	}
	a.s.NoCache = a.s.NoCache || o.NoCache
	if o.Step != "" {
		return a.retryOne(o)
	}
	again, failures := 0, 0
	for i := range a.p.Steps {
		if st, known := a.at(i); known {
			n, f := a.retryStep(i, st, o.Failed, "")
			again, failures = again+n, failures+f
		}
	}
	switch {
	case again == 0 && failures > 0:
		return domain.Conflictf("nothing of the flow ended in error, but %d of it failed: say so (--failed) to start that again too", failures)
	case again == 0:
		return domain.Conflictf("nothing of the flow ended in error")
	}
	a.resume()
	return nil
}

// retryOne starts again what ended badly of one step, or one element of its list. Who names
// it has seen how it ended: failed or in error is all the same.
func (a *advancer) retryOne(o Order) error {
	i, known := a.p.index[o.Step]
	if !known {
		return domain.NotFoundf("the flow has no step %q", o.Step)
	}
	st, known := a.at(i)
	if !known {
		return nil
	}
	again, _ := a.retryStep(i, st, true, o.Key)
	switch {
	case again == 0 && o.Key != "" && classOf(st.Status) == well && slices.ContainsFunc(st.Bad, func(u Unit) bool { return u.element() == o.Key }):
		return domain.Conflictf("element %q of step %s ended badly, which the step accepts (it is %s), so nothing of it is started again", o.Key, o.Step, st.Status)
	case again == 0 && o.Key != "":
		return domain.Conflictf("step %s has no element %q that ended badly%s", o.Step, o.Key, st.badKeys(o.Key))
	case again == 0:
		return domain.Conflictf("nothing of step %s ended badly: it is %s", o.Step, st.Status)
	}
	a.resume()
	return nil
}

// element is what an element is called: by its name, or its place in the list.
func (u *Unit) element() string { return cmp.Or(u.Key, strconv.FormatInt(u.ID, 10)) }

// maxKeys bounds the names of elements that an error lists.
const maxKeys = 10

// badKeys names the elements of a step that ended badly, to whom another was named.
func (s *StepState) badKeys(than string) string {
	var names []string
	for _, u := range s.Bad {
		names = append(names, u.element())
	}
	if len(names) == 0 {
		return ""
	}
	if near := domain.Nearest(than, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; these did: " + strings.Join(names[:min(len(names), maxKeys)], ", ")
}

// retryStep starts the bad units of a step again, or the one that is named. It returns how
// many, and how many it left because they failed.
func (a *advancer) retryStep(i int, st *StepState, failedToo bool, key string) (again, failures int) {
	class := classOf(st.Status)
	if class == well || class == undecided && len(st.Bad) == 0 {
		return 0, 0 // what ended badly in it was accepted, or skipped by hand
	}
	var kept, lost []Unit
	for _, u := range st.Bad {
		if key != "" && u.element() != key {
			kept = append(kept, u)
			continue
		}
		if !a.isFault(&u) && !failedToo {
			kept = append(kept, u)
			failures++
			continue
		}
		again++
		lost = append(lost, Unit{ID: u.ID, Start: u.Start, End: u.End, Job: u.Job, Key: u.Key, Flow: u.Flow, Ends: u.Ends})
	}
	anew := key == "" && (class == fault || class == failure && failedToo)
	switch {
	case again > 0 || anew && st.Split != nil && st.left():
		st = a.change(i)
		st.Bad, st.Lost = kept, append(st.Lost, lost...)
		st.Status, st.Text, st.EndMs = domain.StepRunning, "", 0
		if st.left() {
			st.Status = domain.StepOpen
		}
		return max(again, 1), failures
	case anew && len(kept) == 0 && a.p.Steps[i].Repeat != nil && st.Round > 0 && st.Round < a.p.Steps[i].Repeat.Max:
		a.nextAgain(i)
		return 1, 0
	case anew && len(kept) == 0:
		// It never had jobs: skipped with others, rejected, or by its condition. Or it has had all its rounds.
		if st.Round > 0 {
			a.d.Anew = append(a.d.Anew, i)
		}
		a.change(i).reset()
		return 1, 0
	case class == failure:
		failures = max(failures, 1)
	}
	return 0, failures
}

// resume lets a flow go on that was ending, or had ended: steps that were
// skipped because of others are looked at again.
func (a *advancer) resume() {
	a.s.Aborted, a.s.AbortPhase, a.s.AbortFault, a.s.Cancelled, a.s.CancelledFor = "", 0, false, "", 0
	for i := range a.p.Steps {
		if st, known := a.at(i); known && (st.Status == domain.StepSkippedByError || st.Status == domain.StepSkippedByFailure) {
			a.change(i).reset()
		}
	}
	a.d.Reopened = true
	a.recount()
}

// reset lets a step begin anew, with what people have asked of it.
func (s *StepState) reset() {
	s.leave()
	*s = StepState{Status: domain.StepDormant, Skip: s.Skip, Change: s.Change, Retries: s.Retries, Earlier: s.Earlier}
}

// update changes steps that have not ended.
//
// Source: seed 004, "job update", of sizes, windows and picks.
func (a *advancer) update(o Order) error {
	if len(o.Steps) == 0 {
		return domain.Invalidf("the update changes nothing")
	}
	names := slices.Sorted(maps.Keys(o.Steps))
	for _, name := range names {
		if err := a.mayUpdate(name, o.Steps[name]); err != nil {
			return err
		}
	}
	for _, name := range names {
		if i := a.p.index[name]; a.known([]int{i}) {
			a.updateStep(i, o.Steps[name])
		}
	}
	return nil
}

func (a *advancer) mayUpdate(name string, c domain.StepChange) error {
	i, known := a.p.index[name]
	if !known {
		return domain.NotFoundf("the flow has no step %q", name)
	}
	s := &a.p.Steps[i]
	st, known := a.at(i)
	if !known {
		return nil
	}
	var cannot []string
	for field, given := range map[string]bool{"params": len(c.Params) > 0, "after": c.After != 0, "timeout": c.Timeout != 0, "may_fail": c.MayFail != nil,
		"count": c.Count != 0, "start": c.Start != nil} {
		if given {
			cannot = append(cannot, field)
		}
	}
	slices.Sort(cannot)
	switch {
	case len(cannot) > 0:
		return domain.Invalidf("step %s: %s cannot be changed while the flow lives; size, window, end, endless and retries can", name, strings.Join(cannot, ", "))
	case st.Status.Done():
		return domain.Conflictf("step %s has ended: it is %s", name, st.Status)
	case c.Window < 0 || c.Window > domain.MaxWindow:
		return domain.Invalidf("step %s: window %d: want 1 to %d", name, c.Window, domain.MaxWindow)
	case c.Retries != nil && (*c.Retries < 0 || *c.Retries > domain.MaxRetries):
		return domain.Invalidf("step %s: retries %d: want 0 to %d", name, *c.Retries, domain.MaxRetries)
	case (c.Size != 0 || c.End != nil || c.Endless != nil) && s.KindOr() != domain.StepPack:
		return domain.Invalidf("step %s is of kind %s; size, end and endless are those of packs", name, s.KindOr())
	case c.Window != 0 && s.Shard == nil && s.Pack == nil && !s.Listed():
		return domain.Invalidf("step %s is of kind %s; only steps of many jobs have a window", name, s.KindOr())
	case c.End != nil && *c.End < -1:
		return domain.Invalidf("step %s: end %d: want 0 or more, or -1 for none", name, *c.End)
	case c.Size < 0:
		return domain.Invalidf("step %s: size %d: want 1 or more", name, c.Size)
	case c.Endless != nil && *c.Endless:
		return domain.Invalidf("step %s: an end can be set, not taken away", name)
	case c.Size == 0 && c.Window == 0 && c.Retries == nil && c.End == nil && c.Endless == nil:
		return domain.Invalidf("step %s: the update changes nothing", name)
	}
	return nil
}

// updateStep changes what is made from now on. A step that has not begun keeps
// the changes until then.
func (a *advancer) updateStep(i int, c domain.StepChange) {
	st, was := a.lift(i)
	defer func() {
		a.settle(i, was)
		a.marks.add(a.p.rank[i])
	}()
	if c.Retries != nil {
		st.Retries = c.Retries
	}
	if st.Split == nil {
		merged := c
		if old := st.Change; old != nil {
			merged = changeOver(*old, c)
		}
		st.Change = &merged
		return
	}
	st.Split.apply(c, st.At)
	if st.left() && st.Status == domain.StepRunning {
		st.Status = domain.StepOpen
	}
}

// apply changes a split of which everything before at has been made.
func (s *Split) apply(c domain.StepChange, at int64) {
	if c.Window != 0 {
		s.Window = c.Window
	}
	if c.Size != 0 {
		s.Size = c.Size
	}
	if c.End != nil {
		s.End, s.Endless = max(min(*c.End, lastOffset), at-1), false
	}
	if c.Endless != nil && s.Endless {
		s.End, s.Endless = at-1, false
	}
}

// changeOver is a change with a later one over it.
func changeOver(c domain.StepChange, later domain.StepChange) domain.StepChange {
	if later.Window != 0 {
		c.Window = later.Window
	}
	if later.Size != 0 {
		c.Size = later.Size
	}
	if later.End != nil {
		c.End = later.End
	}
	if later.Endless != nil {
		c.Endless = later.Endless
	}
	return c
}
