package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
)

const visits = `
name: visit
triggers: [{of: Guest, types: [Came, Left]}]
correlation: event.aggregate_id
initial: new
states:
  new: {on: {Came: handle, "*": ignore}}
  here: {on: {Left: handle, "*": fail}}
  gone: {final: true}
script: |
  fn on_event(state, event) {
    if event.type == "Came" { return #{next: "here", state: event.payload} }
    #{next: "gone"}
  }
`

// sagaClient is the Go client of an actor.
func (r *rig) sagaClient(as domain.ActorID) *client.Client {
	c, err := client.New(client.Config{URL: r.server.URL, Token: func(context.Context) (string, error) { return r.token(as), nil }})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(c.Close)
	return c
}

func guest(typ, id, payload string) api.EventInput {
	return api.EventInput{Type: typ, AggregateType: "Guest", AggregateID: id, Payload: json.RawMessage(payload)}
}

// TestInstancesByAnyName: what others call their things is no path of ours.
func TestInstancesByAnyName(t *testing.T) {
	r := newRig(t)
	r.moveSagas()
	boss, look, ctx := r.sagaClient(admin), r.sagaClient(reader), t.Context()
	if got, err := boss.ApplySagaText(ctx, 7, "visit.yaml", visits, domain.SagaFromStart); err != nil || got.Version != 1 {
		t.Fatalf("apply: got %+v, %v", got, err)
	}
	names := []string{"..", ".", "a/b", "a b", "100%", "?x=1&y#z", "ä", "*.>"}
	for _, name := range names {
		if _, err := boss.PublishEvent(ctx, 7, guest("Came", name, `{"n":3}`)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, name := range names {
		r.comes(name, func() bool {
			in, err := look.Instance(ctx, 7, "visit", name)
			return err == nil && in.Correlation == name && in.State == "here"
		})
		if h, err := look.History(ctx, 7, "visit", name, 0); err != nil || len(h) != 1 {
			t.Errorf("history of %s: got %+v, %v", name, h, err)
		}
	}
	page, err := look.Instances(ctx, api.ListInstancesParams{Context: 7, Name: "visit", InstanceFilter: api.InstanceFilter{Where: `correlation.len() > 4`}})
	if err != nil || len(page.Instances) != 1 || page.Instances[0].Correlation != "?x=1&y#z" {
		t.Errorf("instances: got %+v, %v", page, err)
	}
	// What it cannot handle is a dead letter, by any name too.
	bad := guest("Came", "..", "{}")
	bad.ID = "../a b?"
	if _, err := boss.PublishEvents(ctx, 7, []api.EventInput{bad}); err != nil {
		t.Fatal(err)
	}
	r.comes("the dead letter", func() bool {
		d, err := look.DeadLetter(ctx, 7, domain.DeadSaga, "visit."+bad.ID)
		return err == nil && d.Correlation == ".." && d.Event != nil
	})
	if out, err := boss.DropDeadLetters(ctx, 7, api.DeadLetterChoice{Kind: domain.DeadSaga, ID: "visit." + bad.ID}); err != nil || out.Done != 1 {
		t.Errorf("drop: got %+v, %v", out, err)
	}
	r.comes("no dead letter", func() bool {
		list, err := look.DeadLetters(ctx, 7, api.DeadLetterChoice{}, "")
		return err == nil && len(list.DeadLetters) == 0
	})
}

func TestHistoryOverTheWire(t *testing.T) {
	r := newRig(t)
	r.moveSagas()
	boss, ctx := r.sagaClient(admin), t.Context()
	if _, err := boss.ApplySagaText(ctx, 7, "visit.yaml", visits, domain.SagaFromStart); err != nil {
		t.Fatal(err)
	}
	if _, err := boss.PublishEvent(ctx, 7, guest("Came", "ann", "{}")); err != nil {
		t.Fatal(err)
	}
	r.comes("ann", func() bool { _, err := boss.Instance(ctx, 7, "visit", "ann"); return err == nil })
	var states []string
	in, err := r.sagaClient(reader).FollowHistory(ctx, 7, "visit", "ann", func(l domain.SagaEntry) error {
		states = append(states, l.To)
		if l.To == "here" {
			_, err := boss.PublishEvent(ctx, 7, guest("Left", "ann", "{}"))
			return err
		}
		return nil
	})
	if got := strings.Join(states, " "); err != nil || got != "here gone" || in.Status != domain.SagaEnded {
		t.Errorf("got %s, %+v, %v", got, in, err)
	}
	// One that broke behind version 1 goes on behind it.
	b := r.stream(reader, "/v1/contexts/7/sagas/visit/instances/ann/history", "Last-Event-ID", "1")
	events := r.until(b, "end")
	if len(events) != 2 || !strings.HasPrefix(events[0], `2 history {"lines":[{"version":2`) {
		t.Errorf("got %q", events)
	}
	if _, err := r.sagaClient(reader).FollowHistory(ctx, 7, "visit", "bob", func(domain.SagaEntry) error { return nil }); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("nobody: got %v", err)
	}
}

func TestSagasByHand(t *testing.T) {
	r := newRig(t)
	const sagas = "/v1/contexts/7/sagas"
	r.want(400, admin, "POST", sagas, `{"text":"name: x"}`)
	r.want(200, admin, "POST", sagas, `{"text":`+quoted(visits)+`,"file":"v.yaml"}`)
	r.want(400, reader, "GET", sagas+"/visit/instances?where=1+%2B", "")
	r.want(400, reader, "GET", sagas+"/visit/instances/ann/history?from=-1", "")
	r.want(404, reader, "GET", sagas+"/visit/instances/ann/history", "")
	r.want(400, admin, "DELETE", sagas+"/visit?force=yes", "")
	r.want(400, admin, "POST", "/v1/contexts/7/events", `{"event_type":"x"}`)
	// A context in the header, as the seed has it; and what goes deep.
	deep := strings.Repeat(`{"a":`, 80) + "1" + strings.Repeat("}", 80)
	r.want(200, admin, "POST", "/v1/contexts/7/events", `{"event_type":"Came","aggregate_type":"Guest","aggregate_id":"1","payload":`+deep+`}`,
		http.TenantHeader, "7")
	r.want(400, admin, "POST", "/v1/contexts/7/events", `{"event_type":"Came","aggregate_type":"Guest","aggregate_id":"1"}`, http.TenantHeader, "70")
	r.want(400, admin, "POST", "/v1/contexts/7/deadletters/replay", `{}`)
	r.want(200, admin, "POST", "/v1/contexts/7/deadletters/replay", `{"all":true,"count_only":true}`)
	r.want(200, admin, "POST", "/v1/contexts/7/effects/go/test", `{}`)
	r.want(404, admin, "POST", "/v1/contexts/7/effects/gone/test", `{}`)
	r.want(200, admin, "DELETE", sagas+"/visit?force=true", "")
	r.want(404, reader, "GET", sagas+"/visit", "")
}

func quoted(s string) string {
	text, _ := json.Marshal(s) // a string
	return string(text)
}
