package saga_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/stream"
)

// This file holds a simulation against what is promised.

// account is a board that keeps account of what may happen once only, or only
// in an order.
type account struct {
	board.Board
	t *testing.T

	mu        sync.Mutex
	versions  map[place]int64             // of instances
	seen      map[place]int               // marks of events
	redone    map[place]bool              // events of which a person wanted more
	arrived   map[place]map[string]uint64 // by instance: what it had last of each stream
	events    map[place]map[string]bool   // by instance: what it had
	items     map[string]domain.WorkItem  // by id: all that was ever in an outbox
	positions map[place]map[string]uint64 // of checkpoints
	timers    map[string]bool             // that were ever set
	trace     []string                    // every commit, where -trace asks for it
}

// place is a key of a context.
type place struct {
	in  domain.TenantID
	key string
}

func newAccount(t *testing.T, b board.Board) *account {
	return &account{Board: b, t: t, versions: map[place]int64{}, seen: map[place]int{}, arrived: map[place]map[string]uint64{},
		events: map[place]map[string]bool{},
		items:  map[string]domain.WorkItem{}, positions: map[place]map[string]uint64{}, timers: map[string]bool{}}
}

func (a *account) Commit(ctx context.Context, b board.Batch) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.Board.Commit(ctx, b); err != nil {
		return err
	}
	if *simTrace {
		a.trace = append(a.trace, strings.ReplaceAll(fmt.Sprintf("%s %d: %v %+v", time.Now().UTC().Format("15:04:05.000"), b.Space,
			b.Guards[:min(len(b.Guards), 1)], b.Ops), "\n", "|"))
	}
	made := map[string]map[int64]bool{} // versions of instances, by what their history says
	for _, op := range b.Ops {
		p := place{domain.TenantID(b.Space), op.Key}
		kind, rest, _ := strings.Cut(op.Key, ":")
		if name, _ := (names{}).TenantName(ctx, p.in); name != "" {
			rest = strings.TrimPrefix(rest, name+":")
		}
		value := func(name string) string {
			for _, f := range op.Fields {
				if f.Name == name {
					return f.Value
				}
			}
			return ""
		}
		switch {
		case op.Kind == board.OpSet && kind == "saga":
			defer func() { a.moved(p, value(layout.SagaVersion), made[strings.TrimPrefix(p.key, "saga:")]) }()
		case op.Kind == board.OpSet && kind == "dedupe" && !strings.HasPrefix(rest, "effect:"):
			_, id, _ := strings.Cut(rest, ":")
			if a.seen[p]++; a.seen[p] > 1 && !a.redone[place{p.in, id}] {
				a.t.Errorf("%v: %s of context %d was handled twice", now(), p.key, p.in)
			}
		case op.Kind == board.OpSet && kind == "outbox":
			if text := value(layout.OutboxItem); text != "" || value(layout.OutboxTries) == "" { // that it was tried is noted beside it
				a.item(p, text)
			}
		case op.Kind == board.OpSet && kind == "schedule":
			a.timers[fmt.Sprint(p.in, " ", p.key)] = true
		case op.Kind == board.OpSet && kind == "checkpoint":
			a.moves(p, op.Fields)
		case op.Kind == board.OpAppend && strings.HasPrefix(op.Key, "ramet:saga:history:"):
			a.lines(p, op.Items, made)
		}
	}
	return nil
}

func now() string { return time.Now().UTC().Format("15:04:05.000") }

// moved checks that an instance's version goes up by one with each transition.
func (a *account) moved(p place, text string, made map[int64]bool) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v != a.versions[p]+int64(len(made)) || !made[v] || !made[a.versions[p]+1] {
		a.t.Errorf("%s: %s of context %d went from version %d to %q by %v", now(), p.key, p.in, a.versions[p], text, made)
	}
	a.versions[p] = v
}

// item checks that a work item is one thing only.
func (a *account) item(p place, text string) {
	var w domain.WorkItem
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		a.t.Errorf("%s: %s: %v", now(), p.key, err)
	}
	if was, there := a.items[w.ID]; there && !cmp.Equal(was, w) {
		a.t.Errorf("%s: %s became another one: %s", now(), p.key, cmp.Diff(was, w))
	}
	a.items[w.ID] = w
}

// moves checks that a position does not go back.
func (a *account) moves(p place, fields []board.Field) {
	if a.positions[p] == nil {
		a.positions[p] = map[string]uint64{}
	}
	for _, f := range fields {
		seq, err := strconv.ParseUint(f.Value, 10, 64)
		if f.Name == "generations" || strings.HasSuffix(f.Name, "/aside") {
			continue
		}
		if err != nil || seq < a.positions[p][f.Name] {
			a.t.Errorf("%s: %s of context %d, %s went from %d to %s", now(), p.key, p.in, f.Name, a.positions[p][f.Name], f.Value)
		}
		a.positions[p][f.Name] = seq
	}
}

// lines checks that an instance's events come in the order of their streams.
func (a *account) lines(p place, lines []string, made map[string]map[int64]bool) {
	id := strings.TrimPrefix(p.key, "ramet:saga:history:")
	if made[id] == nil {
		made[id] = map[int64]bool{}
	}
	if a.arrived[p] == nil {
		a.arrived[p], a.events[p] = map[string]uint64{}, map[string]bool{}
	}
	for _, line := range lines {
		var e domain.SagaEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			a.t.Errorf("%s: %s: %v", now(), p.key, err)
		}
		made[id][e.Version] = true
		if a.events[p][e.EventID] {
			continue // it was deferred, or held the instance
		}
		a.events[p][e.EventID] = true
		if was := a.arrived[p][e.Stream]; e.Seq <= was {
			a.t.Errorf("%s: %s of context %d had %d of %s after %d: %s", now(), p.key, p.in, e.Seq, e.Stream, was, line)
		}
		a.arrived[p][e.Stream] = e.Seq
	}
}

func (a *account) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	for i := range batches {
		errs[i] = a.Commit(ctx, batches[i])
	}
	return errs
}

var simSagas = []string{"order", "ship", "ledger"}

// each gives every instance.
func (s *sim) each(do func(in domain.TenantID, x *domain.SagaInstance)) {
	for _, in := range s.contexts {
		for _, name := range simSagas {
			for cursor := ""; ; {
				list, next, err := s.calm.Query(context.Background(), in, saga.Query{Saga: name, Limit: 1000, Cursor: cursor})
				s.must(err)
				for _, x := range list {
					do(in, x)
				}
				if cursor = next; cursor == "" {
					break
				}
			}
		}
	}
}

// keys are all keys of a context with a prefix.
func (s *sim) keys(in domain.TenantID, prefix string) (all []string) {
	for cursor := ""; ; {
		keys, next, err := s.board.Keys(context.Background(), layout.SpaceOf(in), prefix, cursor, 1000)
		s.must(err)
		all = append(all, keys...)
		if cursor = next; cursor == "" {
			slices.Sort(all)
			return slices.Compact(all)
		}
	}
}

// left is what still moves.
func (s *sim) left() (left []string) {
	for _, in := range s.contexts {
		for _, key := range s.keys(in, layout.OutboxPrefix) {
			left = append(left, fmt.Sprintf("context %d: %s", in, key))
		}
	}
	s.each(func(in domain.TenantID, x *domain.SagaInstance) {
		e, err := s.calm.Explain(context.Background(), in, x.Saga, x.Correlation)
		s.must(err)
		switch e.Standing {
		case domain.StandingEnded, domain.StandingHeld, domain.StandingPaused, domain.StandingEvents:
		default:
			left = append(left, fmt.Sprintf("context %d: %s in %s: %s", in, e.Key, x.State, e.Text))
		}
	})
	return left
}

// quiet waits until nothing moves any more, timers included.
func (s *sim) quiet() {
	var left []string
	for range 500 {
		time.Sleep(10 * time.Second)
		if left = s.left(); len(left) == 0 {
			time.Sleep(time.Minute) // doubled messages, late ends of pauses
			if left = s.left(); len(left) == 0 {
				return
			}
		}
	}
	for _, what := range left {
		s.t.Errorf("not drained: %s", what)
	}
}

// drained waits for the end, with what people paused and what is held; then
// has people let it go on, and waits again.
func (s *sim) drained() {
	s.quiet()
	ctx := context.Background()
	for range 30 {
		some := false
		s.each(func(in domain.TenantID, x *domain.SagaInstance) {
			if x.Paused && x.Status != domain.SagaEnded {
				some = true
				s.must(s.calm.Resume(ctx, in, x.Saga, x.Correlation))
			}
		})
		for _, in := range s.contexts {
			deadLetters, _, err := s.calm.DeadLetters(ctx, in, saga.DeadQuery{Limit: 1000})
			s.must(err)
			for _, d := range deadLetters {
				some = true
				s.decide(in, d, false)
			}
		}
		if !some {
			break
		}
		s.quiet()
	}
	s.each(func(in domain.TenantID, x *domain.SagaInstance) {
		if x.Paused && x.Status != domain.SagaEnded || x.Held != "" {
			s.t.Errorf("context %d: %s of %s is held by %q, paused %v", in, x.Correlation, x.Saga, x.Held, x.Paused)
		}
	})
	time.Sleep(20 * time.Second) // positions are saved
	for _, in := range s.contexts {
		for _, name := range simSagas {
			lags, err := s.calm.Lags(ctx, in, name)
			s.must(err)
			for _, l := range lags {
				if l.Aside != 0 || l.Behind != 0 {
					s.t.Errorf("context %d: %s has %d events of %s to deal with, %d of them put aside", in, name, l.Behind, l.Stream, l.Aside)
				}
			}
		}
	}
}

// judge checks the promises at the end.
func (s *sim) judge() {
	streams := map[domain.StreamName][]stream.Message{}
	for _, n := range []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents} {
		for from := uint64(1); ; {
			page, err := s.log.Scan(context.Background(), n, nil, from, 1000)
			s.must(err)
			if len(page) == 0 {
				break
			}
			streams[n] = append(streams[n], page...)
			from = page[len(page)-1].Seq + 1
		}
	}
	s.judgeEvents()
	s.judgeWork(streams)
	s.judgeTimers(streams)
	s.judgeLeases()
	s.judgeInstances(streams)
	s.judgeRebuild()
	s.must(s.board.Close())
}

// judgeEvents checks that every event that was acknowledged was dealt with.
func (s *sim) judgeEvents() {
	for p := range s.published {
		name, _ := (names{}).TenantName(context.Background(), p.in)
		if key := (layout.SagaKeys{Tenant: name}).Seen("order", p.key); s.board.seen[place{p.in, key}] == 0 {
			s.t.Errorf("context %d: event %s was acknowledged, and never handled", p.in, p.key)
		}
	}
}

// judgeWork checks that every work item arrived, as itself and in its turn.
func (s *sim) judgeWork(streams map[domain.StreamName][]stream.Message) {
	arrived := map[string][]arrival{}
	for id, list := range s.gateway.arrived {
		arrived[id] = list
	}
	for n, list := range streams {
		for _, m := range list {
			id := ""
			switch part := strings.Split(m.Subject, "."); part[len(part)-3] {
			case "effect":
				id = part[len(part)-1]
			case "workflow", "workflow_event":
				var ev domain.Event
				if json.Unmarshal(m.Data, &ev) != nil || ev.ID == "" || m.Header["ramet-event"] != "" {
					continue
				}
				id = ev.ID
			default:
				continue
			}
			if _, there := s.board.items[id]; !there {
				s.t.Errorf("%s has %s, which nobody asked for: %s", n, m.Subject, m.Data)
			}
			arrived[id] = append(arrived[id], arrival{m.Time, m.Seq, string(m.Data)})
		}
	}
	byInstance := map[string][]domain.WorkItem{}
	for id, w := range s.board.items {
		if len(arrived[id]) == 0 {
			s.t.Errorf("item %d of %s %s never arrived: %+v", w.N, w.Saga, w.Correlation, w)
			continue
		}
		for _, a := range arrived[id] {
			if a.text != arrived[id][0].text {
				s.t.Errorf("item %s arrived as\n%s\nand as\n%s", id, arrived[id][0].text, a.text)
			}
		}
		key := w.Tenant + ":" + w.Saga + ":" + w.Correlation
		byInstance[key] = append(byInstance[key], w)
		if w.Kind == domain.WorkCommand && !s.gateway.done[id] && !strings.Contains(string(w.Payload), `"refuse":true`) {
			s.t.Errorf("command %s was not done", id)
		}
	}
	for key, list := range byInstance {
		slices.SortFunc(list, func(a, b domain.WorkItem) int { return int(a.N - b.N) })
		for i := range list {
			if list[i].N != int64(i+1) {
				s.t.Errorf("%s: item %d has number %d", key, i+1, list[i].N)
			}
			if i == 0 || len(arrived[list[i].ID]) == 0 || len(arrived[list[i-1].ID]) == 0 {
				continue
			}
			a, b := arrived[list[i-1].ID][0], arrived[list[i].ID][0]
			if b.at.Before(a.at) || b.at.Equal(a.at) && streamOfKind(list[i-1].Kind) == streamOfKind(list[i].Kind) && b.seq < a.seq {
				s.t.Errorf("%s: item %d (%s) arrived at %s, item %d (%s) at %s", key, i, list[i-1].Kind, a.at, i+1, list[i].Kind, b.at)
			}
		}
	}
}

func streamOfKind(k domain.WorkKind) domain.StreamName {
	switch k {
	case domain.WorkCommand:
		return ""
	case domain.WorkFact:
		return domain.WorkflowEvents
	}
	return domain.WorkflowCommands
}

// judgeTimers checks that no timer came early or was never set, and that those
// that are set are whole.
func (s *sim) judgeTimers(streams map[domain.StreamName][]stream.Message) {
	for _, m := range streams[domain.WorkflowCommands] {
		var ev domain.Event
		if m.Header["ramet-event"] != "event" || json.Unmarshal(m.Data, &ev) != nil || ev.Timer == 0 {
			continue
		}
		in, err := names{}.TenantByName(context.Background(), ev.Tenant)
		s.must(err)
		key := layout.SagaKeys{Tenant: ev.Tenant}.Timer(ev.Saga, ev.Correlation, ev.Timer)
		if !s.board.timers[fmt.Sprint(in, " ", key)] {
			s.t.Errorf("%s of context %d came, and was never set", key, in)
		}
		if m.Time.Before(time.UnixMilli(ev.Timer)) {
			s.t.Errorf("%s of context %d came at %s", key, in, m.Time)
		}
	}
	for _, in := range s.contexts {
		name, _ := (names{}).TenantName(context.Background(), in)
		want := map[string]bool{}
		s.each(func(at domain.TenantID, x *domain.SagaInstance) {
			for _, t := range x.Timers {
				if at == in {
					want[layout.SagaKeys{Tenant: name}.Timer(x.Saga, x.Correlation, t.DueMs)] = true
				}
			}
		})
		for _, key := range s.keys(in, layout.SagaTimerPrefix) {
			if _, set, err := s.board.AlarmOf(context.Background(), layout.SpaceOf(in), layout.TimerAlarm(key)); err != nil || !set || !want[key] {
				s.t.Errorf("context %d: %s is there, wanted %v, its alarm is %v, %v", in, key, want[key], set, err)
			}
			delete(want, key)
		}
		for key := range want {
			s.t.Errorf("context %d: %s is set, and not there", in, key)
		}
	}
	due, err := s.board.Due(context.Background(), 10, 0)
	if err != nil || len(due) > 0 {
		s.t.Errorf("alarms are due: %v, %v", due, err)
	}
}

// judgeLeases checks that nobody holds anything any more.
func (s *sim) judgeLeases() {
	for _, in := range s.contexts {
		for _, key := range s.keys(in, "ramet:saga:shard:") {
			if l, held, err := s.board.LeaseOf(context.Background(), layout.SpaceOf(in), key); err != nil || held && l.Until.After(time.Now()) {
				s.t.Errorf("context %d: %s is held by %s, %v", in, key, l.Owner, err)
			}
		}
	}
}

// judgeInstances computes every instance again by the pure machine, and checks
// what it undid.
func (s *sim) judgeInstances(streams map[domain.StreamName][]stream.Message) {
	machines := map[string]*machine.Machine{}
	hashes := map[string]string{}
	events := map[place]domain.Event{}
	for _, list := range streams {
		for _, m := range list {
			name := ""
			if part := strings.Split(m.Subject, "."); part[0] == "tenant" {
				name = part[1]
			}
			in, err := names{}.TenantByName(context.Background(), name)
			s.must(err)
			if ev, err := saga.Decode(in, name, m); err == nil {
				events[place{in, fmt.Sprint(ev.ID, ":", ev.Stream, ":", ev.Seq)}] = *ev
			}
		}
	}
	s.each(func(in domain.TenantID, x *domain.SagaInstance) {
		s.judgeUndone(in, x)
		if s.touched[fmt.Sprintf("%d:%s:%s", in, x.Saga, x.Correlation)] {
			return
		}
		key := fmt.Sprintf("%d:%s:%d", in, x.Saga, x.Definition)
		m := machines[key]
		if m == nil {
			stored, err := s.calm.Definition(context.Background(), in, x.Saga, x.Definition)
			s.must(err)
			m, err = machine.Compile(stored.Definition)
			s.must(err)
			machines[key], hashes[key] = m, stored.Hash
		}
		is := m.New(x.Tenant, x.Correlation, hashes[key])
		lines, err := s.calm.History(context.Background(), in, x.Saga, x.Correlation, 0, 100_000)
		s.must(err)
		had := map[string]bool{}
		for _, line := range lines {
			if had[line.EventID] {
				continue
			}
			had[line.EventID] = true
			ev, there := events[place{in, fmt.Sprint(line.EventID, ":", line.Stream, ":", line.Seq)}]
			if !there {
				s.t.Errorf("context %d: %s %s had %+v, which no stream has", in, x.Saga, x.Correlation, line)
				return
			}
			var tr machine.Transition
			switch ev.Type {
			case saga.ControlPause:
				tr = m.Pause(is, ev.At())
			case saga.ControlResume:
				tr = m.Resume(is, ev.At())
			default:
				if tr, err = m.Advance(is, &ev); err != nil {
					tr = m.Fail(is, &ev, err)
				}
			}
			is = tr.Instance
		}
		if diff := cmp.Diff(layout.EncodeSaga(is), layout.EncodeSaga(x)); diff != "" {
			s.t.Errorf("context %d: %s %s (-computed +is):\n%s", in, x.Saga, x.Correlation, diff)
		}
	})
}

// judgeUndone checks that an instance undid what completed, the last first.
func (s *sim) judgeUndone(in domain.TenantID, x *domain.SagaInstance) {
	if x.Saga != "order" || x.Status != domain.SagaEnded {
		return
	}
	for _, st := range x.Steps {
		switch {
		case st.State == domain.StepAsked || st.State == domain.StepUndoing:
			s.t.Errorf("context %d: %s has ended, and step %s is %s", in, x.Correlation, st.Name, st.State)
		case x.State != "done" && st.State == domain.StepCompleted:
			s.t.Errorf("context %d: %s is %s, and step %s is completed", in, x.Correlation, x.State, st.Name)
		case x.State == "done" && st.State != domain.StepCompleted:
			s.t.Errorf("context %d: %s is done, and step %s is %s", in, x.Correlation, st.Name, st.State)
		case st.State == domain.StepCompleted && s.bank.done[st.CommandID] == 0, st.State == domain.StepUndone && s.bank.done[st.Undo] == 0:
			s.t.Errorf("context %d: %s: step %s is %s, and the bank did not do that", in, x.Correlation, st.Name, st.State)
		}
	}
	var undos []domain.WorkItem
	for _, w := range s.board.items {
		if w.Tenant == x.Tenant && w.Saga == x.Saga && w.Correlation == x.Correlation && w.Compensates != "" {
			undos = append(undos, w)
		}
	}
	slices.SortFunc(undos, func(a, b domain.WorkItem) int { return int(a.N - b.N) })
	last := 1 << 30
	for _, w := range undos {
		i := slices.IndexFunc(x.Steps, func(st domain.SagaStep) bool { return st.Name == w.Compensates })
		if i < 0 || x.Steps[i].Order == 0 || x.Steps[i].Order > last {
			s.t.Errorf("context %d: %s undid %s out of turn: %+v", in, x.Correlation, w.Compensates, x.Steps)
			continue
		}
		last = x.Steps[i].Order
	}
}

// judgeRebuild checks that the streams say the same as the board.
func (s *sim) judgeRebuild() {
	for _, in := range s.contexts {
		for _, name := range simSagas {
			out, err := s.calm.Rebuild(context.Background(), in, saga.Rebuild{Saga: name})
			if err != nil {
				s.t.Errorf("context %d: rebuild %s: %v", in, name, err)
				continue
			}
			for _, d := range out.Different {
				if !s.touched[fmt.Sprintf("%d:%s:%s", in, name, d.Correlation)] {
					s.t.Errorf("context %d: rebuild %s %s: %v", in, name, d.Correlation, d.Lines)
				}
			}
		}
	}
}
