package console

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// mayMove reports whether who looks may do anything about what went wrong, or waits.
func (v *visit) mayMove() bool {
	return slices.ContainsFunc([]*api.Operation{api.FlowRetry.Operation, api.FlowApprove.Operation, api.JobRetry.Operation, api.DeadLetterReplay.Operation}, v.may)
}

// need is something that a person should look at.
type need struct {
	State state
	What  string
	Link  string
	Why   string
	At    moment
	// Count is how many things it stands for, Blueprint what they are of: "nightly", of jobs
	// "type shell".
	Count     int
	Blueprint string
	Of        needOf
}

// needOf is what a need is of: the sentence counts each by itself.
type needOf int

const (
	needFlow   needOf = iota
	needJob           // that belongs to no flow
	needLetter        // given up on
	needAlarm         // late
	needStuck         // nothing would ever move it
	needLack          // it waits for somebody who is not there
	needNode          // the node, or what it stands on
)

// needs finds what a person should look at: flows that wait for a decision, or that
// nothing will move, and flows that went wrong, those of one blueprint and one cause together.
func (v *visit) needs(b *overviewBody, wrong []domain.Flow, bad []*domain.Job, alive []domain.Flow) error {
	for i := range alive {
		f := &alive[i]
		x, err := call(v, api.FlowExplain, api.FlowParams{Context: v.tenant.ID, Flow: f.ID})
		if notThere(err) {
			continue
		} else if err != nil {
			return err
		}
		n := need{What: flowName(f), Link: v.path("flows/%d", f.ID), Why: upper(x.Text), At: v.past(x.SinceMs), Count: 1}
		switch x.Standing {
		case domain.StandingDeciding:
			n.State = state{"needs approval", held}
			if steps := deciding(&x); len(steps) > 0 {
				if n.Why, err = v.whatToDecide(f, steps); err != nil {
					return err
				}
			}
		case domain.StandingStuck:
			n.State = state{"stuck", errored}
		default:
			continue
		}
		b.Needs = append(b.Needs, n)
	}
	at := map[string]int{} // in b.Needs, by blueprint and cause
	for i := range wrong {
		f := &wrong[i]
		if f.Reason == domain.FlowCancelled { // somebody wanted that
			continue
		}
		key := f.Blueprint + "\n" + string(f.Reason) + "\n" + f.Error
		if k, known := at[key]; known && f.Blueprint != "" {
			n := &b.Needs[k]
			n.Count++
			n.What = fmt.Sprintf("%s, %s%d times", f.Blueprint, atLeast(b.least[needFlow]), n.Count)
			n.Link = v.path("flows?status=error&reason=%s&blueprint=", f.Reason) + urlEscape(f.Blueprint)
			continue
		}
		at[key] = len(b.Needs)
		b.Needs = append(b.Needs, need{State: flowEnd(f), What: flowName(f), Link: v.path("flows/%d", f.ID), Why: upper(f.Error), At: v.past(f.FinishedMs),
			Count: 1, Blueprint: f.Blueprint})
	}
	v.jobNeeds(b, bad)
	for _, find := range []func(*overviewBody) error{v.otherNeeds, v.doctorNeeds} {
		if err := find(b); err != nil {
			return err
		}
	}
	return nil
}

// whatToDecide names the steps of a flow that wait for a decision, and says what each asks: of
// one that a script has begun, whose step is always called the same, that is all there is to know.
func (v *visit) whatToDecide(f *domain.Flow, steps []string) (string, error) {
	view, err := call(v, api.FlowShow, api.ShowFlowParams{FlowParams: api.FlowParams{Context: v.tenant.ID, Flow: f.ID}})
	if err != nil && !notThere(err) {
		return "", err
	}
	for i, name := range steps {
		for _, d := range v.decisions(&view) {
			if d.Summary != "" && name == "step "+d.Step {
				steps[i] = name + ": " + strings.TrimRight(domain.PlainText(d.Summary, askedMost), ".")
			}
		}
	}
	return "Approve or reject " + strings.Join(steps, "; "), nil
}

// badJobs are those that went wrong last; more says that there may be others.
func (v *visit) badJobs() (jobs []*domain.Job, more bool, err error) {
	list, err := call(v, api.JobList, api.ListJobsParams{Context: v.tenant.ID, JobFilter: api.JobFilter{Status: domain.JobError}, Limit: wrongLook})
	return list.Jobs, list.Next != "", err
}

// jobNeeds finds jobs that went wrong and belong to no flow, those of one type and one cause
// together.
func (v *visit) jobNeeds(b *overviewBody, bad []*domain.Job) {
	at := map[string]int{} // in b.Needs, by type and cause
	for _, j := range bad {
		if j.FlowID != 0 || j.Reason == domain.ReasonCancelled {
			continue
		}
		key := string(j.ScriptType) + "\n" + string(j.Reason) + "\n" + j.Error
		if k, known := at[key]; known {
			n := &b.Needs[k]
			n.Count++
			n.What = atLeast(b.least[needJob]) + plural(n.Count, "job") + " of type " + string(j.ScriptType)
			n.Link = v.path("jobs") + with("status", string(domain.JobError), "type", string(j.ScriptType), "text", domain.CutText(j.Error, maxQuery))
			continue
		}
		at[key] = len(b.Needs)
		b.Needs = append(b.Needs, need{State: jobEnd(j), What: j.Key().String(), Link: v.path("jobs/%d/%d", j.CallerID, j.ID), Why: upper(j.Error),
			At: v.past(j.FinishedMs), Of: needJob, Count: 1, Blueprint: "type " + string(j.ScriptType)})
	}
}

// doctorNeeds finds what doctor would: what nothing moves or nobody takes is a need by
// itself, and so is what is bad of the node; its warnings are told below.
func (v *visit) doctorNeeds(b *overviewBody) error {
	report, err := v.checkUp(b.Info)
	if err != nil {
		return err
	}
	audit, err := v.unfinished()
	if err != nil {
		return err
	}
	b.Health = v.path("operate")
	known, late := map[string]bool{}, false
	for _, n := range b.Needs {
		known[n.Link] = true
		late = late || n.Of == needAlarm
	}
	if audit != nil {
		stuck := v.auditNeeds(audit.Stuck, need{State: state{"stuck", errored}, Of: needStuck})
		for _, n := range stuck {
			if n.Link == b.Health || !known[n.Link] { // else it stands here already
				b.Needs = append(b.Needs, n)
			}
		}
		b.Needs = append(b.Needs, v.auditNeeds(audit.Lacking, need{State: state{"waits", failed}, Of: needLack})...)
	}
	for _, f := range report.Findings {
		switch {
		case f.State == doctor.OK || strings.HasPrefix(f.What, doctor.OfWork): // those are the audit's
		case strings.HasPrefix(f.What, doctor.OfSaga) || f.What == doctor.OfAlarms && late: // they stand above
		case f.State == doctor.Bad:
			b.Needs = append(b.Needs, need{State: findingStates[f.State], What: f.What, Link: b.Health, Why: upper(f.Text), Of: needNode, Count: 1})
		default:
			b.Findings = append(b.Findings, finding{findingStates[f.State], f.What, f.Text})
		}
	}
	return nil
}

// waitingJob is since when a job waits, by its key, and of which step it is; of other things, and of one that has gone
// since, that is not known.
func (v *visit) waitingJob(key string) (since moment, step string) {
	job, err := domain.ParseJobKey(key)
	if err != nil {
		return moment{}, ""
	}
	j, err := call(v, api.JobShow, api.JobParams{Context: v.tenant.ID, Caller: job.Caller, ID: job.ID})
	if err != nil {
		return moment{}, "" // the row says less, and is right
	}
	if j.FlowID != 0 {
		step = fmt.Sprintf(" (step %s of flow %d)", cmp.Or(j.Step, strconv.Itoa(int(j.ID))), j.FlowID)
	}
	return v.past(cmp.Or(j.QueuedMs, int64(j.CreatedAt)*1000)), step
}

// auditNeeds are findings of an audit, each as is is: the first of them by name, and then how many
// more there are.
func (v *visit) auditNeeds(found []domain.Finding, is need) (needs []need) {
	shown := found[:min(len(found), overviewMost)]
	for _, f := range shown {
		at, step := v.waitingJob(f.Key)
		is.What, is.Link, is.Why, is.Count, is.At = f.Keys()+step, v.findingLink(f.Key), upper(f.Text), 1+f.More, at
		needs = append(needs, is)
	}
	more := 0
	for _, f := range found[len(shown):] {
		more += 1 + f.More
	}
	if more > 0 {
		is.What, is.Link, is.Count, is.At = fmt.Sprintf("%d more", more), v.path("operate"), more, moment{}
		is.Why = "See all that an audit finds"
		needs = append(needs, is)
	}
	return needs
}

// otherNeeds finds what is no flow: what was given up on, by cause, with the instances of
// sagas that it holds, and an alarm that nobody handles.
func (v *visit) otherNeeds(b *overviewBody) error {
	if late := b.Info.LateAlarm; late != nil && late.Context == v.tenant.ID && late.LateMs > lateAfter.Milliseconds() {
		b.Needs = append(b.Needs, need{State: state{"late", errored}, What: late.Name, Link: v.path("operate"), Why: "It has come, and no node handles it",
			At: v.at(v.now.UnixMilli() - late.LateMs), Of: needAlarm, Count: 1})
	}
	groups, _, _, err := v.countCauses()
	if notThere(err) || errors.Is(err, domain.ErrUnavailable) {
		return nil // a node without streams has none; whether they are away, the sentence says
	} else if err != nil {
		return err
	}
	for _, g := range groups[:min(len(groups), overviewMost)] {
		n := need{State: state{"given up on", errored}, What: plural(g.count, "dead letter") + " of " + cmp.Or(g.Saga, g.Effect, string(g.Kind)),
			Link: v.path("letters/list") + g.query(), Why: upper(g.says()), At: v.past(g.latest), Of: needLetter, Count: g.count}
		if g.holds > 0 {
			n.Why = strings.TrimRight(n.Why, ".") + "; " + plural(g.holds, "instance") + " stopped by it"
		}
		b.Needs = append(b.Needs, n)
	}
	if len(groups) > overviewMost {
		n := need{State: state{"given up on", errored}, Link: v.path("letters"), Of: needLetter}
		for _, g := range groups[overviewMost:] {
			n.Count += g.count
		}
		n.What, n.Why = plural(n.Count, "more dead letter"), "Of "+plural(len(groups)-overviewMost, "other cause")
		b.Needs = append(b.Needs, n)
	}
	return nil
}

// needsSentence says what needs somebody: the node first, without which nothing goes, then
// decisions, for they wait; then the cause that most went wrong by.
func needsSentence(b *overviewBody) *sentence {
	needs := b.Needs
	count := map[needOf]int{}
	var decide, stuck, wrong int
	worst := &need{}
	for i := range needs {
		switch n := &needs[i]; {
		case n.Of != needFlow && n.Of != needJob:
			count[n.Of] += n.Count
		case n.State.Word == "needs approval":
			decide++
		case n.State.Word == "stuck":
			stuck++
		default:
			count[n.Of] += n.Count
			if wrong += n.Count; n.Count > worst.Count {
				worst = n
			}
		}
	}
	var parts []string
	s := &sentence{State: state{lower(b.Heading()), held}}
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, counted(n, one, many))
			s.State.Class = errored
		}
	}
	add(count[needNode], "thing of the node is bad", "things of the node are bad")
	if decide > 0 {
		parts = append(parts, counted(decide, "flow waits", "flows wait")+" for a decision")
	}
	add(stuck+count[needStuck], "thing is stuck", "things are stuck")
	if n := count[needLack]; n > 0 { // a warning, as of doctor
		parts = append(parts, counted(n, "thing waits", "things wait")+" for a node or a worker that is not there")
		if s.State.Class != errored {
			s.State.Class = failed
		}
	}
	if wrong > 0 {
		if s.State.Class != errored {
			s.State.Class = worst.State.Class
		}
		parts = append(parts, wrongText(count[needFlow], count[needJob], b.least, worst))
	}
	add(count[needLetter], "dead letter waits", "dead letters wait")
	if count[needAlarm] > 0 {
		parts, s.State.Class = append(parts, "an alarm is late"), errored
	}
	s.Text = upper(strings.Join(parts, "; ")) + "."
	return s
}

// atLeast stands before a count of the newest alone.
func atLeast(more bool) string {
	if more {
		return "at least "
	}
	return ""
}

// wrongText says how many flows, and jobs that belong to none, went wrong, and where most did; least is of what
// there may be more.
func wrongText(flows, jobs int, least map[needOf]bool, worst *need) string {
	var what []string
	if flows > 0 {
		what = append(what, atLeast(least[needFlow])+plural(flows, "flow"))
	}
	if jobs > 0 {
		what = append(what, atLeast(least[needJob])+plural(jobs, "single job"))
	}
	text := strings.Join(what, " and ") + " went wrong"
	if worst.Why == "" {
		return text
	}
	where, in := cmp.Or(worst.Blueprint, worst.What), " in "
	if worst.Of == needJob {
		in = " of "
	}
	if flows+jobs == 1 && worst.Of == needJob {
		where = worst.What
	}
	if flows+jobs > 1 {
		share := atLeast(least[worst.Of]) + strconv.Itoa(worst.Count) + " of them"
		if worst.Count == flows+jobs && !least[needFlow] && !least[needJob] {
			share = "all"
		}
		where = share + in + where
	}
	return text + ", " + where + ": " + lower(strings.TrimRight(worst.Why, "."))
}
