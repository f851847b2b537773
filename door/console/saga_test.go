package console_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
)

// order goes to and fro between two states, and ends when it is shipped.
const order = `name: order
summary: An order until it is shipped
triggers: [{of: Order, types: [Placed, Held, Freed, Shipped]}]
correlation: event.aggregate_id
initial: new
states:
  new: {on: {Placed: handle, "*": ignore}}
  open: {on: {Held: handle, Shipped: handle, Freed: defer, "*": ignore}, timeout: {after: 2h, event: Late}}
  held: {on: {Freed: handle, "*": ignore}}
  shipped: {final: true}
script: |
  fn on_event(state, event) {
    let next = #{Placed: "open", Held: "held", Freed: "open", Shipped: "shipped"};
    #{next: next[event.type], state: #{last: event.type}}
  }
`

// publish sends an event of an order in context 7.
func (r *rig) publish(id, event string) {
	r.Helper()
	do(r, admin, api.EventPublish, api.PublishParams{Context: 7, EventInput: api.EventInput{Type: event, AggregateType: "Order", AggregateID: id}})
}

// stands waits until an order is in a state.
func (r *rig) stands(id, want string) {
	r.Helper()
	testwait.Until(r, id+" is "+want, func() bool {
		p := api.InstanceParams{Context: 7, Name: "order", Correlation: id}
		i, err := service.Named(api.SagaInstance.Name).Call(r.Context(), r.api.As(admin), &p)
		return err == nil && i.(*domain.SagaInstance).State == want
	})
}

func TestASagaWithItsInstances(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	b.has(b.get(200, path("sagas")), "There is no saga yet", "ramet saga apply order.yaml --context 7")
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order, File: "order.yaml"})
	b.has(b.get(200, path("sagas")), "An order until it is shipped", `href="/console/c/7/sagas/order"`)
	b.has(b.get(200, path("sagas/order")), "No event has begun an instance yet")
	for _, event := range []string{"Placed", "Held", "Freed", "Held"} {
		r.publish("ann", event)
	}
	r.stands("ann", "held")
	b.has(b.get(200, path("sagas/order")), ">ann<", "held", "running", "ramet saga instances order --context 7")
	b.has(b.get(200, path("sagas/order?where=")+url.QueryEscape(`state == "shipped"`)), "No instance is like that")
	b.has(b.get(200, path("sagas/order?tab=states")), "States and the ways between them", "held to open: Freed<", `href="/console/c/7/sagas/order?state=open"`,
		"handles Held, Shipped; defers Freed; ignores all others", "after 2 h 00 m: Late", "succeeded")
	b.has(b.get(200, path("sagas/order?tab=lag")), "AGGREGATE_EVENTS", "ramet saga lag order --context 7")
	b.get(404, path("sagas/nowhere"))

	// It is paused or not: one of the two is offered.
	saga := b.get(200, path("sagas/order"))
	b.has(saga, "Pause the saga")
	b.hasNot(saga, "Resume the saga")
	b.post(200, path("sagas/order/pause"))
	saga = b.get(200, path("sagas/order"))
	b.has(saga, "Resume the saga", "it takes no event until it is resumed")
	b.hasNot(saga, "Pause the saga")
	b.post(200, path("sagas/order/resume"))

	a := b.get(200, path("sagas/order/instance?id=ann"))
	b.has(a, "held → open", "open → held", "open to held: Held, taken as number 2, 4", "held to open: Freed, taken as number 3",
		"<title>held, running, is here now", `class="edge" d="M496 `, "open to shipped: Shipped<", "ends, succeeded", `data-live="/console/live?page=`, "Pause",
		"ramet saga history order ann --context 7")
	b.has(b.get(200, path("sagas/order/instance?id=ann&tab=data")), "&#34;last&#34;: &#34;Held&#34;", "ramet saga show order ann --context 7")
	b.has(b.get(200, path("sagas/order/instance?id=ann&tab=steps")), "It has asked for no effect")
	b.post(200, path("sagas/order/pause"), "id", "ann")
	testwait.Until(t, "it is paused", func() bool { return strings.Contains(b.get(200, path("sagas/order/instance?id=ann")).text, "Resume") })
	b.post(200, path("sagas/order/resume"), "id", "ann")
	r.publish("ann", "Freed")
	r.publish("ann", "Shipped")
	r.stands("ann", "shipped")
	a = b.get(200, path("sagas/order/instance?id=ann"))
	b.has(a, "ended, succeeded")
	b.hasNot(a, "Pause")
}

func TestAnInstanceIsFollowed(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order, File: "order.yaml"})
	r.publish("ben", "Placed")
	r.stands("ben", "open")
	f, end := r.followPage(reader, "sagas/order/instance?id=ben")
	defer end()
	f.until("order")
	r.publish("ben", "Shipped")
	f.until("ended, succeeded")
	do(r, admin, api.SagaDelete, api.DeleteSagaParams{Context: 7, Name: "order"})
	for f.next() {
	}
	if text := strings.Join(f.lines, "\n"); f.last != "end" || !strings.Contains(text, "There is no such thing") {
		t.Errorf("an instance that was deleted ended with %s: %s", f.last, text)
	}
}

func TestWhoSteersASaga(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order, File: "order.yaml"})
	r.publish("ann", "Placed")
	r.stands("ann", "open")
	b := r.as(reader)
	for _, p := range []string{"sagas/order", "sagas/order/instance?id=ann"} {
		b.hasNot(b.get(200, path("%s", p)), `method="post" action="/console/c/7/`)
	}
	b.has(b.post(200, path("sagas/order/pause"), "id", "ann"), "This was not done: actor")
	s := r.as(stranger)
	for _, p := range []string{"sagas", "sagas/order", "sagas/order/instance?id=ann"} {
		s.hasNot(s.get(403, path("%s", p)), "shipped")
	}
}

func TestIdsOfInstancesDoNothing(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order, File: "order.yaml"})
	for _, id := range []string{"../../x", "a&b=c?d#e", "<script>alert(1)</script>"} {
		p := api.InstanceParams{Context: 7, Name: "order", Correlation: id}
		if _, err := service.Named(api.SagaInstance.Name).Call(t.Context(), r.api.As(admin), &p); err == nil {
			t.Fatal("it is there already")
		}
		r.publish(id, "Placed")
		r.stands(id, "open")
		b := r.as(admin)
		a := b.get(200, path("sagas/order"))
		harmless(t, a)
		_, link, _ := strings.Cut(a.text, `data-href="`)
		link, _, _ = strings.Cut(link, `"`)
		one := b.get(200, strings.ReplaceAll(link, "&amp;", "&"))
		harmless(t, one)
		b.has(one, "new → open")
	}
}

// TestAnInstanceOfManyTransitionsIsPaged: a page is bounded, and leads on.
func TestAnInstanceOfManyTransitionsIsPaged(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order, File: "order.yaml"})
	r.publish("ann", "Placed")
	r.stands("ann", "open")
	name, err := r.names.TenantName(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	keys := layout.SagaKeys{Tenant: name}
	b := board.Batch{Space: layout.SpaceOf(7)}
	for version := int64(2); version <= 5000; version++ {
		line, err := json.Marshal(domain.SagaEntry{Version: version, AtMs: version, Type: "Held", From: "open", To: "held"})
		if err != nil {
			t.Fatal(err)
		}
		b.PushRight(keys.History("order", "ann"), string(line))
		if version%500 == 0 {
			if err := r.board.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			b = board.Batch{Space: layout.SpaceOf(7)}
		}
	}
	who := r.as(reader)
	link := path("sagas/order/instance?id=ann")
	for _, want := range []struct {
		lines int
		next  string
	}{{300, "before=4701"}, {300, "before=4401"}, {300, "before=4101"}, {100, ""}} {
		a := who.get(200, link)
		if n := strings.Count(a.text, "<li><span class=\"when\">"); n != want.lines || len(a.text) > 200_000 {
			t.Errorf("%s has %d lines and %d bytes, want %d lines", link, n, len(a.text), want.lines)
		}
		if want.next == "" {
			who.has(a, "These are the oldest of the last 1,000 transitions.", "ramet saga history order ann --context 7", "first page")
			break
		}
		who.has(a, want.next)
		link = path("sagas/order/instance?id=ann&%s", want.next)
	}
}

// A saga that nobody serves says so on its own page, to which the overview leads, as a warning
// in both places; that it was applied names it.
func TestASagaThatNobodyServesSaysSo(t *testing.T) {
	r := newRig(t, func(r *rig, _ *service.Parts) { r.unserved = true })
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: order, File: "order.yaml"})
	b := r.as(admin)
	b.has(b.get(200, path("sagas/order")), "No node that is alive and on duty serves sagas")
	a := b.get(200, path(""))
	b.has(a, `href="/console/c/7/sagas/order"`, "No node that is alive and on duty serves sagas")
	b.hasNot(a, "#s-errored")
	testwait.Until(t, "the audit log has it", func() bool {
		return strings.Contains(b.get(200, path("rights/audit")).text, `<a href="/console/c/7/sagas/order">saga:order</a>`)
	})
}

const trip = `name: trip
triggers: [{of: Order, types: [Placed, Freed, Held]}]
correlation: event.aggregate_id
initial: new
effects: [go]
timers: [TooLate]
states:
  new: {on: {Placed: handle, "*": ignore}}
  booking: {on: {go.Succeeded: handle, go.Failed: handle, go.TimedOut: handle, TooLate: handle, Freed: defer, Held: handle, "*": ignore}}
  booked: {final: true}
script: |
  fn on_event(state, event) {
    if event.type == "Held" { throw "<b>no seat</b>"; }
    if event.type == "Placed" {
      return #{next: "booking", work: [#{effect: "go", step: "room", payload: #{to: "<i>ulm</i>"}}], timers: [#{event: "TooLate", after: "1h"}]};
    }
    #{next: "booked"}
  }
`

// TestAnInstanceShowsItsWork on the page of it: effects, events that wait, timers, and the dead letter that holds it.
func TestAnInstanceShowsItsWork(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.SagaApply, api.ApplySagaParams{Context: 7, Text: trip, File: "trip.yaml"})
	for _, event := range []string{"Placed", "Freed", "Held"} {
		r.publish("ann", event)
	}
	b := r.as(reader)
	work := path("sagas/trip/instance?id=ann&tab=steps")
	testwait.Until(t, "it is held, and what it has asked for went out", func() bool {
		text := b.get(statusAny, work).text
		return strings.Contains(text, "no seat") && strings.Contains(text, "Its outbox is empty.")
	})
	a := b.get(200, work)
	b.has(a, ">room<", `href="/console/c/7/effect?name=go"`, "asked for", "TooLate", "its program", "Freed", "Order/ann", "&lt;b&gt;no seat&lt;/b&gt;",
		"/console/c/7/letter?id=", "holds it", "&lt;i&gt;ulm&lt;/i&gt;", "Its outbox is empty.")
}
