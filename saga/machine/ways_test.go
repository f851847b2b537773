package machine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
)

func TestWays(t *testing.T) {
	states := []domain.SagaState{
		{Name: "new", On: map[string]domain.Reaction{"Placed": domain.Handle, "*": domain.Ignore}},
		{Name: "paying", On: map[string]domain.Reaction{"Paid": domain.Handle, "Late": domain.Handle, "Refused": domain.Handle, "Placed": domain.Ignore}},
		{Name: "paid", Final: true}, {Name: "off", Final: true}, {Name: "stuck", Final: true},
	}
	for _, tt := range []struct{ name, script, next, want string }{
		{name: "each arm of a switch is one of its events, the last all others", script: `fn on_event(state, event) { switch event.type {
			"Placed" => #{next: "paying"}, "Paid" => { state.x = 1; #{state: state, next: "paid"} }, "Late" => (), _ => #{compensate: true} } }`,
			want: "new -Placed> paying; paying -Paid> paid; paying -Refused~> off; paying -Refused~> stuck"},
		{name: "conditions and returns are followed, others than on the type are taken for possible",
			script: `fn on_event(state, event) { if event.type == "Placed" { return #{next: "paying"}; }
			if event.type == "Paid" { #{next: if event.payload.all { "paid" } else { "off" }} } else { #{} } }`,
			want: "new -Placed> paying; paying -Paid> paid; paying -Paid> off"},
		{name: "behind a return nothing comes of its event", script: `fn on_event(state, event) { if event.type == "Late" { return #{next: "off"}; }
			else if event.type == "Refused" { throw "refused"; } if state.x > 1 { return #{next: "stuck"}; } #{next: "paid"} }`,
			want: "new -Placed> paid; new -Placed> stuck; paying -Paid> paid; paying -Late> off; paying -Paid> stuck"},
		{name: "what is reckoned is not known", script: `fn on_event(state, event) { let to = "pay" + "ing"; #{next: to} }`},
		{name: "a map by the event's type", script: `fn on_event(state, event) { let next = #{Placed: "paying", Paid: "paid"}; #{next: next[event.type]} }`,
			want: "new -Placed> paying; paying -Paid> paid"},
		{name: "a state that is stayed in is no way", script: `fn on_event(state, event) { #{next: "new"} }`,
			want: "paying -Late> new; paying -Paid> new; paying -Refused> new"},
		{name: "a graph's node", next: `switch event.type { "Placed" => "paying", _ => if ready { "paid" } }`,
			want: "new -Placed> paying; paying -Late> paid; paying -Paid> paid; paying -Refused> paid"},
		{name: "what cannot be compiled has none", script: `fn on_event(`},
	} {
		d := &domain.SagaDefinition{States: states, Script: tt.script, Compensation: &domain.SagaCompensation{Done: "off", Failed: "stuck"}}
		if tt.next != "" {
			d.Nodes = []domain.SagaNode{{Name: "ready", Expr: "event.payload.ready"}, {Name: "next", Expr: tt.next}}
		}
		var got []string
		for _, w := range machine.Ways(d) {
			undoes := ""
			if w.Undoes {
				undoes = "~"
			}
			got = append(got, fmt.Sprintf("%s -%s%s> %s", w.From, w.Event, undoes, w.To))
		}
		if text := strings.Join(got, "; "); text != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, text, tt.want)
		}
	}
}
