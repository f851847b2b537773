package layout

// Duty is the record in space 0 that holds, in DutyRules as JSON, the rules by
// which nodes lose roles.
const (
	Duty      = "ramet:duty"
	DutyRules = "rules"
)
