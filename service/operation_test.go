package service_test

import (
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// TestEveryOperationIsDone wants one handler and one line of rights for every operation
// of the contract, and a stream for those that can be followed.
func TestEveryOperationIsDone(t *testing.T) {
	handlers := map[*api.Operation]int{}
	for _, o := range service.Operations {
		handlers[o.Operation]++
		if (o.Stream != nil) != (len(o.Follows) > 0) {
			t.Errorf("%s: its events are %v, and it streams: %v", o.Name, o.Follows, o.Stream != nil)
		}
	}
	for _, o := range api.Table {
		if handlers[o] != 1 {
			t.Errorf("%s has %d handlers", o.Name, handlers[o])
		}
		delete(handlers, o)
	}
	if len(handlers) > 0 {
		t.Errorf("got %d handlers of what is not in the table", len(handlers))
	}
	for _, fault := range servicetest.Faults() {
		t.Error(fault)
	}
}
