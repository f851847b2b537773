package domain

import (
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
