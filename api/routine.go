package api

import "github.com/ramet-run/ramet/domain"

// The operations on routines.
var (
	RoutineList = op[RoutinePage](Operation{
		Name: "routine.list", Method: "GET", Path: "/v1/contexts/{context}/routines", Right: domain.VerbRead, Much: true,
		Summary: "List the routines of a context, and what the nodes do for all.",
	}, ListRoutinesParams{Context: 7})
	RoutineApply = op[*domain.Routine](Operation{
		Name: "routine.apply", Method: "POST", Path: "/v1/contexts/{context}/routines", Right: domain.VerbCreate, Holds: "routine.show",
		Summary: "Make a routine, a script that is run again and again, or change it.",
	}, RoutineApplyParams{Context: 7, Routine: domain.Routine{Name: "sweep", Script: "rm -f /srv/tmp/*.old", ScriptType: domain.ScriptShell}})
	RoutineShow = op[*domain.Routine](Operation{
		Name: "routine.show", Method: "GET", Path: "/v1/contexts/{context}/routines/{routine}", Right: domain.VerbRead,
		Summary: "Show a routine and where its instances stand.",
	}, RoutineParams{Context: 7, Name: "sweep"})
	RoutineDelete = op[*domain.Routine](Operation{
		Name: "routine.delete", Method: "DELETE", Path: "/v1/contexts/{context}/routines/{routine}", Right: domain.VerbDelete, ByHand: true,
		Holds:   "routine.show",
		Summary: "Take a routine away; a round under way is let end.",
	}, RoutineParams{Context: 7, Name: "sweep"})
	RoutinePause = op[*domain.Routine](Operation{
		Name: "routine.pause", Method: "POST", Path: "/v1/contexts/{context}/routines/{routine}/pause", Right: domain.VerbStart, ByHand: true,
		Holds:   "routine.show",
		Summary: "Let no more rounds of a routine begin.",
	}, RoutineParams{Context: 7, Name: "sweep"})
	RoutineResume = op[*domain.Routine](Operation{
		Name: "routine.resume", Method: "POST", Path: "/v1/contexts/{context}/routines/{routine}/resume", Right: domain.VerbStart, ByHand: true,
		Holds:   "routine.show",
		Summary: "Let a paused routine go on.",
	}, RoutineParams{Context: 7, Name: "sweep"})
	RoutineRun = op[*domain.Routine](Operation{
		Name: "routine.run", Method: "POST", Path: "/v1/contexts/{context}/routines/{routine}/run", Right: domain.VerbStart, ByHand: true,
		Summary: "Let the next round of a routine begin now.",
	}, RoutineParams{Context: 7, Name: "sweep"})
)

// RoutinePage lists a context's routines, without scripts, params, env and
// checkpoints, and to the operator what the nodes do for the whole board.
type RoutinePage struct {
	Routines domain.List[*domain.Routine]           `json:"routines"`
	System   domain.List[domain.MaintenanceService] `json:"system"`
}

// ListRoutinesParams are the parameters of routine.list.
type ListRoutinesParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// RoutineApplyParams are the parameters of routine.apply.
type RoutineApplyParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	domain.Routine
}

// RoutineParams name a routine.
type RoutineParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"routine"`
}
