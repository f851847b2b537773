package blueprint

import (
	"fmt"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// ofApproval are results that each approval has.
var ofApproval = []string{"by", "comment"}

// FillAnswers checks what somebody answers, and gives the answers as the step keeps them. Who
// rejects may leave out what is required.
//
// Errors: [domain.ErrInvalid].
func FillAnswers(a *domain.Approval, answers map[string]string, approved bool) (map[string]string, error) {
	var fields []domain.TypedField
	if a != nil {
		fields = a.Answers
	}
	return FillIn("answer", fields, answers, approved)
}

// approval refuses what would be passed over: nothing runs that could be late,
// or be tried again.
func (c *checker) approval(s *domain.Step, at func(string) string) {
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
	if a.OnDeadline != "" && !slices.Contains(domain.OnDeadlines, a.OnDeadline) {
		c.fault(at("approval.on_deadline"), "%q: want reject, approve or fail", a.OnDeadline)
	}
	if a.OnDeadline != "" && a.Deadline == 0 {
		c.fault(at("approval.on_deadline"), "there is no deadline: give approval.deadline too")
	}
	if len(a.Approvers) > domain.MaxApprovers {
		c.fault(at("approval.approvers"), "%d of them, the limit is %d; a role stands for many", len(a.Approvers), domain.MaxApprovers)
	}
	for i, who := range a.Approvers {
		_, _, err := domain.ParseApprover(who)
		c.err(at(fmt.Sprintf("approval.approvers[%d]", i)), err)
	}
	c.fields(at("approval.answers"), "answer", a.Answers, domain.MaxAnswers)
	for i := range a.Answers {
		path := at(fmt.Sprintf("approval.answers[%d]", i))
		if slices.Contains(ofApproval, a.Answers[i].Name) {
			c.fault(path+".name", "each approval has a result %q already", a.Answers[i].Name)
		}
		if n := len(a.Answers[i].DefaultOr()); n > domain.MaxTypedValueBytes {
			c.fault(path+".default", "%d bytes, the limit is %d", n, domain.MaxTypedValueBytes)
		}
		if a.Answers[i].Required && a.OnDeadline == domain.DeadlineApprove {
			c.fault(path+".required", "nobody answers where the deadline approves: give it a default, or have on_deadline reject")
		}
	}
	if a.Notice != nil {
		c.call(a.Notice, at, "approval.notice")
		if s.Affinity[domain.LabelEffect] != "" {
			c.fault(at("affinity."+domain.LabelEffect), "it says which node has an effect, which approval.notice.target says already")
		}
	}
	if s.At != "" {
		c.fault(at("at"), "an approval is decided here: leave it out")
	}
}
