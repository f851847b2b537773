package service_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/stream/memstream"
)

// TestAListenerIsNotWellWhileNoEventComes: its record knows nothing of a broker that is away.
func TestAListenerIsNotWellWhileNoEventComes(t *testing.T) {
	r := newRig(t)
	log := memstream.Open()
	defer log.Close()
	var away error
	parts := servicetest.Parts(r.board, r.registry, r.engine)
	parts.Listeners = listener.New(r.board, log, r.registry, nil)
	parts.Streams = func(context.Context) error { return away }
	if _, err := parts.Listeners.Apply(t.Context(), house, domain.Listener{Name: "shipped", Blueprint: "ship",
		On: domain.SagaTrigger{Of: "Order", Types: []string{"OrderShipped"}}}, admin); err != nil {
		t.Fatal(err)
	}
	a := service.New(parts)
	for _, away = range []error{nil, domain.Unavailablef("nats at x is away")} {
		list, err := a.As(admin).ListListeners(t.Context(), api.ListenerListParams{Context: house})
		if err != nil || len(list.Listeners) != 1 {
			t.Fatalf("got %+v, %v", list, err)
		}
		_, why := doctor.ListenerStands(&list.Listeners[0])
		if strings.HasPrefix(why, "no event comes") != (away != nil) || strings.Contains(why, "nats at x") {
			t.Errorf("with %v: got %q", away, why)
		}
	}
}
