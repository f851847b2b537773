package identity

import (
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// MayDecide refuses who is not among the approvers of a step of a flow, whatever else they
// may in its context: it comes after the right to start flows there. Where none are named,
// anybody is. notSubmitter excludes who submitted the flow.
//
// Errors: [domain.ErrForbidden].
func MayDecide(t domain.Tenant, who, submitter domain.ActorID, approvers []string, notSubmitter bool) error {
	if notSubmitter && who == submitter {
		return domain.Forbiddenf("actor %d submitted the flow, and somebody else has to decide (not_submitter)", who)
	}
	if len(approvers) == 0 {
		return nil
	}
	for _, text := range approvers {
		actor, role, err := domain.ParseApprover(text)
		if err != nil {
			continue
		}
		if actor != 0 && actor == who || role != "" && atLeast(RoleIn(t, who), role) {
			return nil
		}
	}
	return domain.Forbiddenf("actor %d is not among those who may decide it: %s", who, strings.Join(approvers, ", "))
}
