package domain

import (
	"fmt"
	"slices"
	"strings"
)

// Approval says who decides a step of kind approval, until when, and what they are asked.
// A step without one waits for ever for a yes or no of anybody who may start flows.
type Approval struct {
	// Deadline is how long the step waits, counted from when it begins. 0: for ever.
	Deadline Span `json:"deadline,omitzero"`
	// OnDeadline is what becomes of it then. Default: reject.
	OnDeadline OnDeadline `json:"on_deadline,omitzero"`
	// Approvers are actors by their numbers, or "actor:12", and roles in the context:
	// admin, executor, reader. None: whoever may start flows. That right they need too.
	Approvers []string `json:"approvers,omitzero"`
	// NotSubmitter excludes who submitted the flow.
	NotSubmitter bool `json:"not_submitter,omitzero"`
	// Answers are what who approves fills in: results of the step, beside `by` and
	// `comment`.
	Answers []TypedField `json:"answers,omitzero"`
	// Notice is told once when the step begins. Its params `flow`, `step`, `context`,
	// `blueprint`, `deadline` and `link` say what it is about.
	Notice *EffectCall `json:"notice,omitzero"`
}

// OnDeadline is what becomes of an approval that nobody decided in time.
type OnDeadline string

// The ends.
const (
	// DeadlineReject is as if somebody had rejected it.
	DeadlineReject OnDeadline = "reject"
	// DeadlineApprove is as if somebody had approved it, with the answers' defaults.
	DeadlineApprove OnDeadline = "approve"
	// DeadlineFail ends it in error, which may_fail does not accept.
	DeadlineFail OnDeadline = "fail"
)

// OnDeadlines are all of them.
var OnDeadlines = []OnDeadline{DeadlineReject, DeadlineApprove, DeadlineFail}

// MaxApprovers bounds how many are named.
const MaxApprovers = 64

// ofApproval are results that each approval has.
var ofApproval = []string{"by", "comment"}

// noticeParams are params that a notice gets from the step it is about.
var noticeParams = []string{"flow", "step", "context", "blueprint", "deadline", "link"}

// ParseApprover reads who may approve: an actor or a role.
//
// Errors: [ErrInvalid].
func ParseApprover(text string) (ActorID, ContextRole, error) {
	if role := ContextRole(text); role == Admin || role == Executor || role == Reader {
		return 0, role, nil
	}
	id, err := parseID(strings.TrimPrefix(text, "actor:"))
	if err != nil || id == 0 {
		return 0, "", Invalidf("%q: want the number of an actor, or a role: admin, executor or reader", PlainText(text, 100))
	}
	return ActorID(id), "", nil
}

// NoticeParams are the params with which a notice is told, of those that the step has.
func (a *Approval) NoticeParams(params, about map[string]string) map[string]string {
	out := make(map[string]string, len(params)+len(noticeParams))
	for name, value := range params {
		out[name] = value
	}
	for _, name := range noticeParams {
		out[name] = about[name]
	}
	return out
}

// Decided checks what somebody answers, and gives the answers as the step keeps them. Who
// rejects may leave out what is required.
//
// Errors: [ErrInvalid].
func (a *Approval) Decided(answers map[string]string, approved bool) (map[string]string, error) {
	var fields []TypedField
	if a != nil {
		fields = a.Answers
	}
	return FillIn("answer", fields, answers, approved)
}

// approval refuses what would be passed over: nothing runs that could be late,
// or be tried again.
func (c *checker) approval(s *Step, at func(string) string) {
	if s.Timeout != 0 {
		c.fault(at("timeout"), "an approval waits until somebody decides: leave it out, and give approval.deadline to one that must not take too long")
	}
	const once = "an approval is asked for once: leave it out; after a rejection `ramet flow retry --failed` asks anew"
	if s.Retries != 0 {
		c.fault(at("retries"), once)
	}
	if s.Retry != nil {
		c.fault(at("retry"), once)
	}
	a := s.Approval
	if a == nil {
		return
	}
	if a.OnDeadline != "" && !slices.Contains(OnDeadlines, a.OnDeadline) {
		c.fault(at("approval.on_deadline"), "%q: want reject, approve or fail", a.OnDeadline)
	}
	if a.OnDeadline != "" && a.Deadline == 0 {
		c.fault(at("approval.on_deadline"), "there is no deadline: give approval.deadline too")
	}
	if len(a.Approvers) > MaxApprovers {
		c.fault(at("approval.approvers"), "%d of them, the limit is %d; a role stands for many", len(a.Approvers), MaxApprovers)
	}
	for i, who := range a.Approvers {
		_, _, err := ParseApprover(who)
		c.err(at(fmt.Sprintf("approval.approvers[%d]", i)), err)
	}
	c.fields(at("approval.answers"), "answer", a.Answers, MaxAnswers)
	for i := range a.Answers {
		path := at(fmt.Sprintf("approval.answers[%d]", i))
		if slices.Contains(ofApproval, a.Answers[i].Name) {
			c.fault(path+".name", "each approval has a result %q already", a.Answers[i].Name)
		}
		if n := len(a.Answers[i].DefaultOr()); n > MaxTypedValueBytes {
			c.fault(path+".default", "%d bytes, the limit is %d", n, MaxTypedValueBytes)
		}
		if a.Answers[i].Required && a.OnDeadline == DeadlineApprove {
			c.fault(path+".required", "nobody answers where the deadline approves: give it a default, or have on_deadline reject")
		}
	}
	if a.Notice != nil {
		c.call(a.Notice, at, "approval.notice")
		if s.Affinity[LabelEffect] != "" {
			c.fault(at("affinity."+LabelEffect), "it says which node has an effect, which approval.notice.target says already")
		}
	}
	if s.At != "" {
		c.fault(at("at"), "an approval is decided here: leave it out")
	}
}
