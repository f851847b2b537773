package saga_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// TestWhatNoStreamHasIsNotRead mends a saga whose trigger no stream can have, as earlier versions
// took it: what was read with the old definition must not keep the new one from being read.
func TestWhatNoStreamHasIsNotRead(t *testing.T) {
	old := saga.Subjects{domain.AggregateEvents: {"aggregate.a b", "aggregate.>", "aggregate.Trip"}, domain.WorkflowCommands: {"workflow.trip"}}
	def := &domain.SagaDefinition{Name: "trip", Triggers: []domain.SagaTrigger{{Of: "Order"}, {Source: domain.SourceFact, Of: "*"}}}
	want := saga.Subjects{domain.AggregateEvents: {"aggregate.Order", "aggregate.Trip"}, domain.WorkflowCommands: {"workflow.trip"},
		domain.WorkflowEvents: {"workflow_event.*"}}
	if diff := cmp.Diff(want, saga.ReadWith(def, old)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
