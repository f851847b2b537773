package domain

// StreamName is the name of a stream of events.
type StreamName string

// The streams.
//
// Source: seed 003, part 4; WorkflowTroubles is ours: brokers tell what they gave up on
// only to those who listen at that moment, so it is kept.
const (
	AggregateEvents  StreamName = "AGGREGATE_EVENTS"
	WorkflowCommands StreamName = "WORKFLOW_COMMANDS"
	WorkflowEvents   StreamName = "WORKFLOW_EVENTS"
	WorkflowTroubles StreamName = "WORKFLOW_TROUBLES"
)

// StreamNames are the streams that there are.
var StreamNames = []StreamName{AggregateEvents, WorkflowCommands, WorkflowEvents, WorkflowTroubles}

// Subjects are what a stream stores: those of contexts, and those of a
// deployment without, which have no "tenant.<tenant>." before them. Those of
// WorkflowTroubles are the driver's.
func (n StreamName) Subjects() []string {
	switch n {
	case AggregateEvents:
		return []string{"tenant.*.aggregate.*.*", "aggregate.*.*"}
	case WorkflowCommands:
		return []string{"tenant.*.effect.*.*", "tenant.*.workflow.*.*", "effect.*.*", "workflow.*.*"}
	case WorkflowEvents:
		return []string{"tenant.*.effect_result.*.*", "tenant.*.workflow_event.*.*", "effect_result.*.*", "workflow_event.*.*"}
	}
	return nil
}
