package domain

// Role is a part that a node plays.
type Role string

// The roles that can be taken from a node.
const (
	RoleRunner    Role = "runner"    // leases jobs and runs them
	RoleKeeper    Role = "keeper"    // moves flows on
	RoleClockwork Role = "clockwork" // does maintenance
	RoleGateway   Role = "gateway"   // takes in what changes something
	// RoleSupervisor sends and receives messages.
	RoleSupervisor Role = "supervisor"
	RoleSaga       Role = "saga"   // moves sagas
	RoleEffect     Role = "effect" // does effects
)

// Roles are all of them.
var Roles = []Role{RoleRunner, RoleKeeper, RoleClockwork, RoleGateway, RoleSupervisor, RoleSaga, RoleEffect}

// MaxDutyRules bounds the rules of a board.
const MaxDutyRules = 100

// DutyRule takes roles from the nodes that it applies to: those for which one
// of its conditions is not met. A rule without a condition applies to all.
//
// Source: TasCreed, "node duty": a node that violates any condition of a rule
// loses the duties that the rule disables.
type DutyRule struct {
	// MinVersion is the least version; one that is unknown is below every other.
	MinVersion string `json:"min_version,omitzero"`
	// Host is a regular expression that the whole host name must match.
	Host string `json:"host,omitzero"`
	// NotHost is one that it must not match.
	NotHost string `json:"not_host,omitzero"`
	// Disable are the roles to take.
	Disable []Role `json:"disable"`
}

// Duties is the list of rules of a board.
type Duties struct {
	Rules List[DutyRule] `json:"rules"`
}

// Off is a role that a node has lost.
type Off struct {
	Role Role `json:"role"`
	// Rule counts from 1; Why says what of it the node does not meet, or without a rule why it gave the role up itself.
	Rule int    `json:"rule"`
	Why  string `json:"why"`
}
