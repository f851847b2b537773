package cluster

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // what parcels are written down with

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// This file holds what has become of orders against what was acknowledged and
// promised.

// fate is what becomes of a kind of order: the events that it handles, its end,
// its steps, what the shop did and which commands it got, all in order, and how
// many parcels were sent and goods released.
type fate struct {
	events, end, steps, effects, commands string
	parcels, releases                     int
}

func fates(k kind) fate {
	shipped := fate{"OrderPlaced reserve.Succeeded pay.Succeeded ship.Succeeded", "shipped succeeded",
		"reserve completed, pay completed, ship completed", "reserve pay", "ConfirmOrder CloseOrder", 1, 0}
	switch k {
	case noted, spoiled:
		shipped.events = "OrderPlaced reserve.Succeeded OrderNoted OrderNoted OrderNoted OrderNoted OrderNoted pay.Succeeded ship.Succeeded"
	case rested:
		shipped.events = "OrderPlaced reserve.Succeeded PayNow pay.Succeeded ship.Succeeded"
	case unpaid:
		return fate{"OrderPlaced reserve.Succeeded BillUnpaid release.Succeeded", "cancelled failed",
			"reserve compensated", "reserve", "CancelOrder", 0, 1}
	case refused:
		return fate{"OrderPlaced reserve.Succeeded pay.Failed release.Succeeded", "cancelled failed",
			"reserve compensated, pay failed", "reserve pay", "CancelOrder", 0, 1}
	case unshippable:
		return fate{"OrderPlaced reserve.Succeeded pay.Succeeded ship.Failed refund.Succeeded release.Succeeded", "cancelled failed",
			"reserve compensated, pay compensated, ship failed", "reserve pay refund", "ConfirmOrder CancelOrder", 0, 1}
	}
	return shipped
}

// verdict is what there is at the end, by order.
type verdict struct {
	*fleet
	crowd  *crowd
	board  board.Board
	log    stream.Log
	engine *saga.Engine

	jobs     map[string]*domain.Job // by command
	effects  map[string][]string    // what the shop did, in order
	commands map[string][]string    // what it was told, in order
	parcels  map[string][]string    // the commands that sent one
	facts    map[string]int
	asked    map[string]bool // the commands of all effects
	seen     map[string]bool // the events of all histories
}

// verify stops all nodes and looks at what they have left.
func (f *fleet) verify(c *crowd) {
	f.Helper()
	for _, m := range f.nodes {
		m.end()
	}
	f.shop.server.Close() // when the last who was late has been answered
	v := &verdict{fleet: f, crowd: c, jobs: map[string]*domain.Job{}, effects: byOrder(f.shop.effects), commands: byOrder(f.shop.commands),
		parcels: map[string][]string{}, facts: map[string]int{}, asked: map[string]bool{}, seen: map[string]bool{}}
	v.board, v.log = f.open()
	v.engine = saga.New(v.board, v.log, saga.Config{Names: identity.NewRegistry(v.board)})
	v.readParcels()
	v.readFacts()
	v.readJobs()
	for _, in := range v.list() {
		if o := c.orders[in.Correlation]; o == nil {
			f.Errorf("nobody ordered %q, which is %s", in.Correlation, in.State)
		} else {
			v.order(o, in)
		}
	}
	for id := range c.orders {
		if !v.seen["placed:"+id] {
			f.Errorf("the order %q was acknowledged and is lost", id)
		}
	}
	v.letters()
	v.results()
	v.leftovers()
	v.replay()
	calls := 0
	for _, d := range f.shop.effects {
		calls += d.calls
	}
	f.Logf("%d orders with %d events, %d of them published twice; the shop was called %d times for %d effects", len(c.orders), len(c.events),
		c.doubled, calls, len(f.shop.effects))
}

// byOrder is what is in a book, by order, in the order in which it was done.
func byOrder(book map[string]*deed) map[string][]string {
	all := make([]*deed, 0, len(book))
	for _, d := range book {
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *deed) int { return a.at - b.at })
	by := map[string][]string{}
	for _, d := range all {
		by[d.order] = append(by[d.order], d.what)
	}
	return by
}

// readParcels reads which parcels were sent.
func (v *verdict) readParcels() {
	v.Helper()
	db, err := sql.Open("sqlite", filepath.Join(v.dir, "parcels.db"))
	if err != nil {
		v.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(v.Context(), "SELECT command, item FROM parcels")
	if err != nil {
		v.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var command, item string
		if err := rows.Scan(&command, &item); err != nil {
			v.Fatal(err)
		}
		v.parcels[item] = append(v.parcels[item], command)
	}
	if err := rows.Err(); err != nil {
		v.Fatal(err)
	}
}

// readJobs reads which jobs were made for commands.
func (v *verdict) readJobs() {
	v.Helper()
	for cursor := ""; ; {
		keys, next, err := v.board.Keys(v.Context(), board.Space(shopping), layout.JobPrefix, cursor, 500)
		if err != nil {
			v.Fatal(err)
		}
		recs, err := v.board.Get(v.Context(), board.Space(shopping), keys...)
		if err != nil {
			v.Fatal(err)
		}
		for i, rec := range recs {
			key, err := domain.ParseJobKey(keys[i])
			if err != nil {
				v.Fatal(err)
			}
			j, err := layout.DecodeJob(key, rec)
			if err != nil {
				v.Fatal(err)
			}
			command := j.EnvVars["EFFECT_COMMAND_ID"]
			if j.Status != domain.JobFinished || v.jobs[command] != nil {
				v.Errorf("%s for command %q is %s (%s), or a second one", keys[i], command, j.Status, j.Error)
			}
			v.jobs[command] = j
		}
		if cursor = next; cursor == "" {
			return
		}
	}
}

// readFacts counts what instances told.
func (v *verdict) readFacts() {
	v.Helper()
	v.scan(domain.WorkflowEvents, "workflow_event", func(data []byte) {
		var ev domain.Event
		if err := json.Unmarshal(data, &ev); err != nil {
			v.Fatal(err)
		}
		v.facts[ev.Correlation]++
	})
}

// scan reads all messages of a kind from a stream.
func (v *verdict) scan(n domain.StreamName, kind string, each func(data []byte)) {
	v.Helper()
	for from := uint64(1); ; {
		page, err := v.log.Scan(v.Context(), n, []string{"tenant.*." + kind + ".*.*"}, from, 500)
		if err != nil {
			v.Fatal(err)
		}
		if len(page) == 0 {
			return
		}
		for _, m := range page {
			each(m.Data)
			from = m.Seq + 1
		}
	}
}

func (v *verdict) list() (all []*domain.SagaInstance) {
	v.Helper()
	for cursor := ""; ; {
		page, next, err := v.engine.Query(v.Context(), shopping, saga.Query{Saga: "order", Limit: 500, Cursor: cursor})
		if err != nil {
			v.Fatal(err)
		}
		if all, cursor = append(all, page...), next; cursor == "" {
			return all
		}
	}
}

// order looks at one order.
func (v *verdict) order(o *order, in *domain.SagaInstance) {
	v.Helper()
	got := fate{v.history(o, in), in.State + " " + string(in.Outcome), v.steps(o, in), strings.Join(v.effects[o.id], " "),
		strings.Join(v.commands[o.id], " "), len(v.parcels[o.id]), 0}
	for _, s := range in.Steps {
		if v.jobs[s.Undo] != nil {
			got.releases++
		}
	}
	if diff := cmp.Diff(fates(o.kind), got, cmp.AllowUnexported(fate{})); diff != "" {
		v.Errorf("%q, which is %s (-want +got):\n%s", o.id, o.kind, diff)
	}
	if shipped := in.State == "shipped"; shipped != (v.facts[o.id] == 1) || v.facts[o.id] > 1 {
		v.Errorf("%q: %d facts tell that it was shipped", o.id, v.facts[o.id])
	}
	if len(in.Timers) > 0 || len(in.Deferred) > 0 || in.Held != "" {
		v.Errorf("%q: timers %v, deferred %v, held by %q", o.id, in.Timers, in.Deferred, in.Held)
	}
	var data struct{ Notes []string }
	if err := json.Unmarshal(in.Data, &data); err != nil || !slices.Equal(data.Notes, o.notes) {
		v.Errorf("%q: got the notes %q, want %q, %v", o.id, data.Notes, o.notes, err)
	}
}

// steps says how those of an instance stand, whose commands are those by which
// they were done.
func (v *verdict) steps(o *order, in *domain.SagaInstance) string {
	v.Helper()
	var list []string
	for _, s := range in.Steps {
		list = append(list, s.Name+" "+string(s.State))
		v.asked[s.CommandID] = true
		if s.Undo != "" {
			v.asked[s.Undo] = true
		}
		if d := v.shop.effects[s.CommandID]; s.Name != "ship" && (d == nil || d.what != s.Name || d.order != o.id) {
			v.Errorf("%q: what the shop did by the command of %s is %+v", o.id, s.Name, d)
		}
		if p := v.parcels[o.id]; s.Name == "ship" && s.State == domain.StepCompleted && !slices.Equal(p, []string{s.CommandID}) {
			v.Errorf("%q: parcels were sent by the commands %v, want %s", o.id, p, s.CommandID)
		}
	}
	return strings.Join(list, ", ")
}

// history holds that of an instance against its version, and says which events
// it handled.
func (v *verdict) history(o *order, in *domain.SagaInstance) string {
	v.Helper()
	lines, err := v.engine.History(v.Context(), shopping, "order", o.id, 0, 1000)
	if err != nil {
		v.Fatal(err)
	}
	last := int64(0)
	var handled []string
	for _, l := range lines {
		if l.Version != last && l.Version != last+1 {
			v.Errorf("%q: version %d comes after %d in its history", o.id, l.Version, last)
		}
		last = l.Version
		if l.Reaction == domain.Handle {
			handled = append(handled, l.Type)
		}
		v.seen[l.EventID] = true
	}
	if last != in.Version {
		v.Errorf("%q has version %d, its history ends with %d", o.id, in.Version, last)
	}
	return strings.Join(handled, " ")
}

// letters looks that there are dead letters of events that nobody understands,
// and of nothing else.
func (v *verdict) letters() {
	v.Helper()
	letters := map[string]int{}
	for cursor := ""; ; {
		page, next, err := v.engine.DeadLetters(v.Context(), shopping, saga.DeadQuery{Limit: 500, Cursor: cursor})
		if err != nil {
			v.Fatal(err)
		}
		for _, d := range page {
			switch {
			case d.Kind == domain.DeadEvent && d.Event != nil && v.crowd.future[d.Event.ID]:
				letters[d.Event.ID]++
			case d.Kind == domain.DeadEvent && strings.Contains(d.Subject, "litter"):
				letters[d.Subject]++
			default:
				v.Errorf("dead letter %s %s: %s", d.Kind, d.ID, d.Cause)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for id := range v.crowd.events {
		if !v.seen[id] {
			v.Errorf("the event %s was acknowledged and is in no history", id)
		}
	}
	for id := range v.crowd.future {
		if letters[id] != 1 {
			v.Errorf("the event %s, which nobody understands, has %d dead letters", id, letters[id])
		}
	}
	if got, want := len(letters)-len(v.crowd.future), v.crowd.litter; got != want {
		v.Errorf("%d pieces of litter are dead letters, want %d", got, want)
	}
}

// results looks that each command has one result.
func (v *verdict) results() {
	v.Helper()
	results := map[string]string{}
	v.scan(domain.WorkflowEvents, "effect_result", func(data []byte) {
		var r domain.EffectResult
		if err := json.Unmarshal(data, &r); err != nil {
			v.Fatal(err)
		}
		if was := results[r.CommandID]; was != "" && was != string(data) {
			v.Errorf("command %s has two results:\n%s\n%s", r.CommandID, was, data)
		}
		results[r.CommandID] = string(data)
		if !v.asked[r.CommandID] {
			v.Errorf("no instance has asked for what has the result %s", data)
		}
	})
	v.scan(domain.WorkflowCommands, "effect", func(data []byte) {
		var c domain.EffectCommand
		if err := json.Unmarshal(data, &c); err != nil || results[c.CommandID] == "" {
			v.Errorf("there is no result of %s: %v", data, err)
		}
	})
	for id := range v.asked {
		if results[id] == "" {
			v.Errorf("there is no result of command %s", id)
		}
	}
}

// leftovers looks that nothing is left of what moved the orders.
func (v *verdict) leftovers() {
	v.Helper()
	keys := layout.SagaKeys{Tenant: acme}
	for _, prefix := range []string{layout.OutboxPrefix, layout.SagaTimerPrefix, "outbox_index:"} {
		list, _, err := v.board.Keys(v.Context(), board.Space(shopping), prefix, "", 10)
		if err != nil || len(list) > 0 {
			v.Errorf("what is left on the board: %v, %v", list, err)
		}
	}
	for p := range 6 {
		list, err := v.board.Members(v.Context(), board.Space(shopping), keys.OutboxIndex("order", p), "", 10)
		if err != nil || len(list) > 0 {
			v.Errorf("in the outbox of partition %d are %v, %v", p, list, err)
		}
	}
	live, err := v.board.Live(v.Context(), board.Space(shopping), board.LiveItem{}, 10)
	if err != nil || len(live) > 0 {
		v.Errorf("what is unfinished: %v, %v", live, err)
	}
}

// replay computes all orders again from the streams.
func (v *verdict) replay() {
	v.Helper()
	out, err := v.engine.Rebuild(v.Context(), shopping, saga.Rebuild{Saga: "order"})
	if err != nil {
		v.Fatal(err)
	}
	if out.Instances != len(v.crowd.orders) {
		v.Errorf("%d instances come from the streams, want %d", out.Instances, len(v.crowd.orders))
	}
	for _, d := range out.Different {
		// That its poison was dropped is in no stream.
		if o := v.crowd.orders[d.Correlation]; o == nil || o.kind != spoiled {
			v.Errorf("%q comes out otherwise when it is computed again: %s", d.Correlation, strings.Join(d.Lines, "; "))
		}
	}
}
