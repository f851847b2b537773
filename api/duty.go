package api

import "github.com/ramet-run/ramet/domain"

// The operations on the rules of duty.
var (
	DutyShow = op[Duty](Operation{
		Name: "duty.show", Method: "GET", Path: "/v1/duty", Right: domain.VerbInspect,
		Summary: "Show the rules by which nodes lose roles, and what this node has lost.",
	}, DutyParams{})
	DutySet = op[Duty](Operation{
		Name: "duty.set", Method: "PUT", Path: "/v1/duty", Right: domain.VerbAdministrate, ByHand: true, Holds: "duty.show",
		Summary: "Put rules in place of those before: nodes follow within a second.",
	}, domain.Duties{Rules: []domain.DutyRule{{Host: "edge-.*", Disable: []domain.Role{domain.RoleEffect}}}})
	DutyClear = op[Duty](Operation{
		Name: "duty.clear", Method: "DELETE", Path: "/v1/duty", Right: domain.VerbAdministrate, ByHand: true, Holds: "duty.show",
		Summary: "Take all rules away: every node has all its roles.",
	}, DutyParams{})
)

// Duty is the rules by which nodes lose roles.
type Duty struct {
	domain.Duties
	// Off are the roles that this node has lost.
	Off []domain.Off `json:"off,omitzero"`
}

// DutyParams are the parameters of duty.show and duty.clear: none.
type DutyParams struct{}
