package api

import "github.com/ramet-run/ramet/domain"

// The operations on prerequisites.
var (
	PrerequisiteMeet = op[Prerequisite](Operation{
		Name: "prerequisite.meet", Method: "POST", Path: "/v1/contexts/{context}/prerequisites/meet", Right: domain.VerbMeet, ByHand: true,
		Summary: "Mark a prerequisite as met that no program can check.",
	}, MeetParams{Context: 7, Prerequisite: Prerequisite{Name: "data-arrived"}})
)

// MeetParams are the parameters of prerequisite.meet.
type MeetParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Prerequisite
}

// Prerequisite marks a prerequisite as met.
type Prerequisite struct {
	Name string `json:"name"`
}
