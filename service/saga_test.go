package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// shop is an API whose node moves sagas and does effects, in virtual time.
type shop struct {
	*testing.T
	api   *service.Service
	parts service.Parts
	board board.Board
}

func withSagas(t *testing.T, test func(t *testing.T, s *shop)) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		registry := identity.NewRegistry(precondition.Over(b))
		s := &shop{T: t, board: b}
		_, err := servicetest.People(t.Context(), registry)
		s.must(err)
		s.parts = servicetest.Parts(b, registry, work.New(b, work.Config{}))
		s.api = service.New(s.parts)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		engine := s.parts.Sagas.(*saga.Engine)
		all.Go(func() { s.must(saga.NewWorker(engine, saga.WorkerConfig{Owner: "n1/1"}).Run(ctx)) })
		all.Go(func() { s.must(s.parts.Effects.(*effect.Worker).Run(ctx)) })
		defer func() { cancel(); all.Wait() }()
		test(t, s)
	})
}

func (s *shop) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *shop) as(a domain.ActorID) service.Caller { return s.api.As(a) }

// orders is a saga that asks for an effect, and ends when that has.
const orders = `
name: order
summary: the first
triggers: [{of: Order, types: [Placed, Shipped]}]
correlation: event.aggregate_id
effects: [go]
initial: new
states:
  new: {on: {Placed: handle, "*": ignore}}
  paying: {on: {go.Succeeded: handle, "*": ignore}}
  paid: {on: {Shipped: handle, "*": ignore}}
  done: {final: true}
script: |
  fn on_event(state, event) {
    if event.type == "Placed" {
      if event.payload.total < 0 { throw "a negative total" }
      return #{state: #{total: event.payload.total}, next: "paying", work: [#{effect: "go", payload: event.payload}]}
    }
    if event.type == "Shipped" { return #{next: "done"} }
    #{next: "paid"}
  }
`

func (s *shop) apply(text string) (api.SagaApplied, error) {
	return s.as(admin).ApplySaga(s.Context(), api.ApplySagaParams{Context: house, File: "order.yaml", Text: text})
}

// publish stores events of orders, and waits until they are handled.
func (s *shop) publish(events ...api.EventInput) api.EventsPublished {
	s.Helper()
	out, err := s.as(admin).PublishEvents(s.Context(), api.PublishParams{Context: house, Events: events})
	s.must(err)
	s.settle()
	return out
}

func (s *shop) settle() { time.Sleep(10 * time.Second); synctest.Wait() }

func placed(id, payload string) api.EventInput {
	return api.EventInput{Type: "Placed", AggregateType: "Order", AggregateID: id, Payload: json.RawMessage(payload)}
}

func shipped(id string) api.EventInput {
	return api.EventInput{Type: "Shipped", AggregateType: "Order", AggregateID: id}
}

func (s *shop) instance(id string) *domain.SagaInstance {
	s.Helper()
	in, err := s.as(reader).ShowInstance(s.Context(), instanceOf(id))
	s.must(err)
	return in
}

func instanceOf(id string) api.InstanceParams {
	return api.InstanceParams{Context: house, Name: "order", Correlation: id}
}

// TestAnAuditByHandLooksAtSagas and says of one that is stuck what the node's auditor
// says.
func TestAnAuditByHandLooksAtSagas(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("7", `{"total":-1}`))
		in := s.instance("7")
		keys := layout.SagaKeys{Tenant: in.Tenant}
		b := board.Batch{Space: layout.SpaceOf(house)}
		s.must(s.board.Commit(t.Context(), *b.Delete(keys.Dead(domain.DeadSaga, saga.HeldBy(in)))))
		time.Sleep(2 * time.Minute)
		for _, all := range []bool{false, true} {
			got, err := s.as(admin).RunAudit(t.Context(), api.AuditParams{Context: house, All: all})
			if err != nil || got.Looked != 1 || len(got.Stuck) != 1 || got.Stuck[0].Key != keys.Instance("order", "7") || got.Partial {
				t.Errorf("got %+v, %v, want the instance that is held by nothing", got, err)
			}
		}
	})
}

func TestASagaFromItsFileToItsEnd(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		got, err := s.apply(orders)
		if err != nil || got.Version != 1 || got.Existing || got.By != admin || got.Summary != "the first" {
			t.Fatalf("got %+v, %v", got, err)
		}
		if again, err := s.apply(orders); err != nil || !again.Existing {
			t.Errorf("again: got %+v, %v", again, err)
		}
		s.settle()
		out := s.publish(placed("o/1", `{"total":3}`), placed("..", `{"total":4}`))
		if len(out.IDs) != 2 || out.IDs[0] == "" || out.IDs[0] == out.IDs[1] {
			t.Errorf("published %+v", out)
		}
		if in := s.instance(".."); in.State != "paid" || string(in.Data) != `{"total":4}` {
			t.Errorf("got %+v", in)
		}
		list, err := s.as(reader).ListInstances(t.Context(), api.ListInstancesParams{Context: house, Name: "order",
			InstanceFilter: api.InstanceFilter{Where: `state == "paid" && data.total > 3`}})
		if err != nil || len(list.Instances) != 1 || list.Instances[0].Correlation != ".." || list.Instances[0].Steps != nil {
			t.Errorf("instances: got %+v, %v", list, err)
		}
		s.publish(shipped("o/1"))
		if in := s.instance("o/1"); in.Status != domain.SagaEnded || in.Outcome != domain.OutcomeSucceeded {
			t.Errorf("got %+v", in)
		}
		h, err := s.as(reader).SagaHistory(t.Context(), api.HistoryParams{InstanceParams: instanceOf("o/1")})
		var steps []string
		for _, line := range h.Lines {
			steps = append(steps, line.Type+": "+line.From+" -> "+line.To)
		}
		if diff := cmp.Diff([]string{"Placed: new -> paying", "go.Succeeded: paying -> paid", "Shipped: paid -> done"}, steps); err != nil || diff != "" {
			t.Errorf("history: %v (-want +got)\n%s", err, diff)
		}
		if h, err := s.as(reader).SagaHistory(t.Context(), api.HistoryParams{InstanceParams: instanceOf("o/1"), From: 2, Limit: 2}); err != nil ||
			len(h.Lines) != 2 || h.Lines[0].Version != 2 {
			t.Errorf("the end of the history: got %+v, %v", h, err)
		}
		lags, err := s.as(reader).SagaLag(t.Context(), api.NameSagaParams{Context: house, Name: "order"})
		if err != nil || len(lags.Lags) != 3 || lags.Lags[0].Owner != "n1/1" || lags.Lags[0].Last != 3 || lags.Lags[0].Outbox != 0 {
			t.Errorf("lag: got %+v, %v", lags, err)
		}
		if lags, err := s.as(reader).SagaLag(t.Context(), api.NameSagaParams{Context: house, Name: "ordre"}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("lag of none: got %+v, %v", lags, err)
		}
		if x, err := s.as(reader).ExplainInstance(t.Context(), instanceOf("o/1")); err != nil || x.Standing != domain.StandingEnded {
			t.Errorf("explain: got %+v, %v", x, err)
		}
	})
}

// TestAnApplyWarnsOfEffectsThatNoNodeHas: by what this node does, and what others
// that are alive say.
func TestAnApplyWarnsOfEffectsThatNoNodeHas(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		b := s.parts.Records.(board.Board)
		for name, seen := range map[string]time.Time{"there": time.Now(), "gone": time.Now().Add(-time.Hour)} {
			var batch board.Batch
			fields := append(layout.EncodeNode(domain.Node{Effects: []string{"of-" + name}}), board.Field{Name: layout.NodeSeen, Value: fmt.Sprint(seen.UnixMilli())})
			s.must(b.Commit(t.Context(), *batch.Set(layout.Node(name), fields...)))
		}
		got, err := s.apply(strings.Replace(orders, "effects: [go]", "effects: [go, of-there, of-gone, goo]", 1))
		s.must(err)
		var texts []string
		for _, w := range got.Warnings {
			texts = append(texts, w.String())
		}
		want := []string{"effects[2]: no node has an effect \"of-gone\" for this context; `ramet effect list` shows those of a node",
			`effects[3]: no node has an effect "goo" for this context; did you mean "go"?`}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		checked, err := s.as(reader).CheckSaga(t.Context(), api.ApplySagaParams{Context: house,
			Text: strings.Replace(orders, "effects: [go]", "effects: [go, of-there, of-gone, goo]", 1)})
		s.must(err)
		if texts = nil; checked.Name != "order" || len(checked.Effects) != 2 {
			t.Errorf("a check: got %+v", checked)
		}
		for _, w := range checked.Effects {
			texts = append(texts, w.String())
		}
		if diff := cmp.Diff(want, texts); diff != "" {
			t.Errorf("a check (-want +got):\n%s", diff)
		}
		if list, err := s.as(reader).SagaVersions(t.Context(), api.SagaVersionsParams{Context: house, Name: "order"}); err != nil || len(list.Sagas) != 1 {
			t.Errorf("a check stored something: %+v, %v", list, err)
		}
		again, err := s.as(admin).ApplySaga(t.Context(), api.ApplySagaParams{Context: house, Text: orders, From: "start"})
		if s.must(err); len(again.Warnings) != 1 || again.Warnings[0].Path != "from" {
			t.Errorf("from for a saga that is there: got %v", again.Warnings)
		}
	})
}

// TestAnAuditFindsEffectsThatNoNodeHas, as an apply warns of them.
func TestAnAuditFindsEffectsThatNoNodeHas(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(strings.Replace(orders, "effects: [go]", "effects: [go, goo]", 1))
		s.must(err)
		s.settle()
		report, err := s.as(admin).RunAudit(t.Context(), api.AuditParams{Context: house})
		s.must(err)
		want := domain.List[domain.Finding]{{Key: "saga order", Text: `no node has an effect "goo" for this context; did you mean "go"?`}}
		if diff := cmp.Diff(want, report.Lacking); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestAnInstanceSaysThatNobodyDoesItsEffect: what an apply warned of is what keeps the
// instance then.
func TestAnInstanceSaysThatNobodyDoesItsEffect(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(strings.NewReplacer("[go]", "[nobody]", "go.Succeeded", "nobody.Succeeded", `"go"`, `"nobody"`).Replace(orders))
		s.must(err)
		s.settle()
		s.publish(placed("o/1", `{"total":3}`))
		x, err := s.as(reader).ExplainInstance(t.Context(), instanceOf("o/1"))
		s.must(err)
		if want := "; no node that is alive does nobody"; !strings.HasSuffix(x.Text, want) || len(x.Effects) != 1 || !x.Effects[0].Unserved {
			t.Errorf("got %+v, want %q at the end of its text", x, want)
		}
	})
}

func TestHistoryIsFollowedToTheEnd(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("1", `{"total":3}`))
		var events []api.Event
		done := make(chan error, 1)
		go func() {
			p := &api.HistoryParams{InstanceParams: instanceOf("1"), From: 2} // a stream that broke behind version 1
			done <- s.as(reader).FollowHistory(t.Context(), p, func(e api.Event) error { events = append(events, e); return nil })
		}()
		synctest.Wait()
		if len(events) != 1 || events[0].Name != api.EventHistory || events[0].ID != "2" {
			t.Fatalf("at first: got %+v", events)
		}
		s.publish(shipped("1"))
		s.must(<-done)
		if len(events) != 3 || events[1].ID != "3" || events[2].Name != api.EventEnd || events[2].Data.(*domain.SagaInstance).State != "done" {
			t.Errorf("in the end: got %+v", events)
		}
		p := &api.HistoryParams{InstanceParams: instanceOf("none")}
		if err := s.as(reader).FollowHistory(t.Context(), p, func(api.Event) error { return nil }); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("nobody's: got %v", err)
		}
	})
}

func TestVersionsOfASaga(t *testing.T) {
	r := newRig(t)
	apply := func(text string) error {
		_, err := r.api.As(admin).ApplySaga(t.Context(), api.ApplySagaParams{Context: house, Text: text})
		return err
	}
	c, ctx := r.api.As(reader), t.Context()
	for _, text := range []string{orders, strings.Replace(orders, "the first", "the second", 1)} {
		if err := apply(text); err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.DiffSaga(ctx, api.DiffSagaParams{Context: house, Name: "order"})
	if err != nil || len(d.Changes) != 1 || d.Changes[0].Path != "summary" || d.From.Version != 1 || d.To.Version != 2 {
		t.Errorf("diff: got %+v, %v", d, err)
	}
	if _, err := c.DiffSaga(ctx, api.DiffSagaParams{Context: house, Name: "order", To: 1}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("before the first: got %v", err)
	}
	if got, err := c.ShowSaga(ctx, api.SagaParams{Context: house, Name: "order", Version: 1}); err != nil || got.Definition.Summary != "the first" {
		t.Errorf("show: got %+v, %v", got, err)
	}
	page, err := c.SagaVersions(ctx, api.SagaVersionsParams{Context: house, Name: "order", Limit: 1})
	if err != nil || len(page.Sagas) != 1 || page.Sagas[0].Version != 2 || page.Next != "2" {
		t.Errorf("versions: got %+v, %v", page, err)
	}
	for _, p := range []api.SagaVersionsParams{{Cursor: "x"}, {Limit: -1}} {
		p.Context, p.Name = house, "order"
		if _, err := c.SagaVersions(ctx, p); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v", p, err)
		}
	}
	if list, err := c.ListSagas(ctx, api.ListSagasParams{Context: house}); err != nil || len(list.Sagas) != 1 || list.Sagas[0].Version != 2 {
		t.Errorf("list: got %+v, %v", list, err)
	}
	if schema, err := c.SagaSchema(ctx, api.SagaSchemaParams{}); err != nil || !json.Valid(schema) {
		t.Errorf("schema: got %s, %v", schema, err)
	}
	got := r.api.ProblemOf(ctx, apply("name: x\nstates: {}\n"))
	if len(got.Faults) == 0 || got.Faults[0].Line == 0 || got.Code != "invalid" {
		t.Errorf("what is wrong: got %+v", got)
	}
	if list, err := c.ListInstances(ctx, api.ListInstancesParams{Context: house, Name: "ordre"}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("instances of none: got %+v, %v", list, err)
	}
	cut := api.InstanceFilter{Where: "1 +"}
	if _, err := c.ListInstances(ctx, api.ListInstancesParams{Context: house, Name: "order", InstanceFilter: cut}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a condition that is none: got %v", err)
	}
	if out, err := r.api.As(admin).DeleteSaga(ctx, api.DeleteSagaParams{Context: house, Name: "order"}); err != nil || out.Versions != 2 {
		t.Errorf("delete: got %+v, %v", out, err)
	}
	if list, err := c.ListSagas(ctx, api.ListSagasParams{Context: house}); err != nil || len(list.Sagas) != 0 {
		t.Errorf("list: got %+v, %v", list, err)
	}
}

func TestASagaIsPausedWhollyOrByItsInstance(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("1", `{"total":3}`), placed("2", `{"total":3}`))
		one := api.SteerSagaParams{Context: house, Name: "order", Correlation: "1"}
		got, err := s.as(admin).PauseSaga(t.Context(), one)
		if want := (api.SagaDone{Saga: "order", Correlation: "1"}); err != nil || got != want {
			t.Errorf("pause: got %+v, %v", got, err)
		}
		s.settle()
		s.publish(shipped("1"), shipped("2"))
		if a, b := s.instance("1"), s.instance("2"); a.State != "paid" || !a.Paused || b.State != "done" {
			t.Errorf("got %+v and %+v", a, b)
		}
		_, err = s.as(admin).ResumeSaga(t.Context(), one)
		s.must(err)
		s.settle()
		if in := s.instance("1"); in.State != "done" {
			t.Errorf("resumed: got %+v", in)
		}
		one.Correlation = "none"
		if _, err := s.as(admin).PauseSaga(t.Context(), one); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("nobody: got %v", err)
		}
		// All of it, by a ban that who may pause may end.
		whole := api.SteerSagaParams{Context: house, Name: "order"}
		if got, err := s.as(admin).PauseSaga(t.Context(), whole); err != nil || !got.Done {
			t.Errorf("pause all: got %+v, %v", got, err)
		}
		shows := func(want bool) {
			t.Helper()
			got, err := s.as(reader).ShowSaga(t.Context(), api.SagaParams{Context: house, Name: "order"})
			if err != nil || got.Paused != want {
				t.Errorf("saga.show says paused %t, %v, want %t", got.Paused, err, want)
			}
		}
		shows(true)
		bans, err := s.as(reader).ListBans(t.Context(), api.ListBansParams{Context: house})
		if err != nil || len(bans.Bans) != 1 || bans.Bans[0].Words() != "saga order --context 7" {
			t.Errorf("bans: got %+v, %v", bans, err)
		}
		if got, err := s.as(admin).ResumeSaga(t.Context(), whole); err != nil || !got.Done {
			t.Errorf("resume all: got %+v, %v", got, err)
		}
		shows(false)
		if bans, err := s.as(reader).ListBans(t.Context(), api.ListBansParams{Context: house}); err != nil || len(bans.Bans) != 0 {
			t.Errorf("bans: got %+v, %v", bans, err)
		}
		whole.Name = "ordre"
		if _, err := s.as(admin).PauseSaga(t.Context(), whole); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a saga that there is not: got %v", err)
		}
	})
}

// TestAPauseIsNoWayAroundABan: what the operator holds up, only the operator
// lets go on, whoever may pause.
func TestAPauseIsNoWayAroundABan(t *testing.T) {
	r := newRig(t)
	if _, err := r.api.As(admin).ApplySaga(t.Context(), api.ApplySagaParams{Context: house, Text: orders}); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []domain.BanScope{{Kind: domain.BanSaga, Context: house, Name: "order"}, {Kind: domain.BanEffect, Context: house, Name: "go"}} {
		if _, err := r.api.As(operator).SetBanAnywhere(t.Context(), api.BanInput{BanScope: scope, Level: domain.BanPick, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	c := r.api.As(admin)
	_, err1 := c.ResumeSaga(t.Context(), api.SteerSagaParams{Context: house, Name: "order"})
	_, err2 := c.PauseSaga(t.Context(), api.SteerSagaParams{Context: house, Name: "order"})
	_, err3 := c.ResumeEffect(t.Context(), api.EffectParams{Context: house, Name: "go"})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("got %v", err)
		}
	}
}

func TestDeadLettersAreReplayedAndDropped(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("1", `{"total":-1}`), placed("2", `{"total":-2}`), placed("3", `{"total":-3}`))
		list, err := s.as(reader).ListDeadLetters(t.Context(), api.ListDeadLettersParams{Context: house, DeadLetterFilter: api.DeadLetterFilter{Saga: "order"}})
		if err != nil || len(list.DeadLetters) != 3 || !list.DeadLetters[0].Holds || list.DeadLetters[0].Event != nil ||
			!strings.Contains(list.DeadLetters[0].Cause, "a negative total") {
			t.Fatalf("got %+v, %v", list, err)
		}
		d := list.DeadLetters[slices.IndexFunc(list.DeadLetters, func(d *domain.DeadLetter) bool { return d.Correlation == "1" })]
		if got, err := s.as(reader).ShowDeadLetter(t.Context(), api.DeadLetterParams{Context: house, Kind: d.Kind, ID: d.ID}); err != nil ||
			got.Event == nil || got.Event.AggregateID != "1" {
			t.Errorf("show: got %+v, %v", got, err)
		}
		replay := func(c api.DeadLetterChoice) (api.DeadLettersDone, error) {
			return s.as(admin).ReplayDeadLetters(t.Context(), api.ChooseDeadLettersParams{Context: house, DeadLetterChoice: c})
		}
		if out, err := replay(api.DeadLetterChoice{Saga: "order", All: true, CountOnly: true}); err != nil || out.Count != 3 || out.Done != 0 {
			t.Errorf("count: got %+v, %v", out, err)
		}
		if out, err := replay(api.DeadLetterChoice{Saga: "other", All: true}); err != nil || out.Count != 0 || out.Done != 0 {
			t.Errorf("of another saga: got %+v, %v", out, err)
		}
		if out, err := replay(api.DeadLetterChoice{Kind: d.Kind, ID: d.ID}); err != nil || out.Done != 1 {
			t.Errorf("one: got %+v, %v", out, err)
		}
		s.settle() // it fails once more, and is a dead letter once more
		again, err := s.as(reader).ShowDeadLetter(t.Context(), api.DeadLetterParams{Context: house, Kind: d.Kind, ID: d.ID})
		if err != nil || again.Attempts != 2 {
			t.Errorf("again: got %+v, %v", again, err)
		}
		for _, wrong := range []api.DeadLetterChoice{{}, {Saga: "order"}, {ID: d.ID}, {Kind: d.Kind, ID: d.ID, All: true}, {Kind: "thing", All: true}} {
			if out, err := replay(wrong); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%+v: got %+v, %v", wrong, out, err)
			}
		}
		if _, err := replay(api.DeadLetterChoice{Kind: domain.DeadSaga, ID: "none"}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("none: got %v", err)
		}
		out, err := s.as(admin).DropDeadLetters(t.Context(),
			api.ChooseDeadLettersParams{Context: house, DeadLetterChoice: api.DeadLetterChoice{Saga: "order", All: true}})
		if err != nil || out.Done != 3 || len(out.Failed) != 0 {
			t.Errorf("drop: got %+v, %v", out, err)
		}
		s.settle()
		if list, err := s.as(reader).ListDeadLetters(t.Context(), api.ListDeadLettersParams{Context: house}); err != nil || len(list.DeadLetters) != 0 {
			t.Errorf("left: got %+v, %v", list, err)
		}
		s.publish(placed("1", `{"total":1}`))
		if in := s.instance("1"); in.Held != "" || in.State != "paid" {
			t.Errorf("it goes on: got %+v", in)
		}
	})
}

func TestInstancesAreMigrated(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("1", `{"total":3}`), placed("2", `{"total":-3}`), placed("3", `{"total":3}`))
		s.publish(shipped("3"))
		next := strings.Replace(orders, "script: |", "script: |\n  fn migrate(state, from) { state.from = from; state }", 1)
		_, err = s.apply(strings.ReplaceAll(next, "new", "begun"))
		s.must(err)
		s.settle()
		p := api.MigrateSagaParams{Context: house, Name: "order"}
		got, err := s.as(admin).MigrateSaga(t.Context(), p)
		if err != nil || got.To != 2 || len(got.Instances) != 1 || got.Applied != 0 || len(got.Refused) != 1 {
			t.Fatalf("dry: got %+v, %v", got, err)
		}
		if m := got.Instances[0]; m.Correlation != "1" || m.From != 1 || !slices.Contains(m.Lines, `data: {"total":3} -> {"from":1,"total":3}`) {
			t.Errorf("dry: got %+v", m)
		}
		if m := got.Refused[0]; m.Correlation != "2" || !strings.Contains(m.Error, `state "new", which version 2 does not have`) {
			t.Errorf("refused: got %+v", m)
		}
		if in := s.instance("1"); in.Definition != 1 {
			t.Errorf("a dry run changed %+v", in)
		}
		p.Apply = true
		if got, err := s.as(admin).MigrateSaga(t.Context(), p); err != nil || got.Applied != 1 {
			t.Errorf("for real: got %+v, %v", got, err)
		}
		s.settle()
		if in := s.instance("1"); in.Definition != 2 || string(in.Data) != `{"from":1,"total":3}` {
			t.Errorf("got %+v", in)
		}
		// Computed again, it is migrated again at its place.
		if got, err := s.as(admin).ReplaySaga(t.Context(), api.ReplaySagaParams{Context: house, Name: "order", Correlation: "1"}); err != nil || got.Same != 1 {
			t.Errorf("replay: got %+v, %v", got, err)
		}
		s.publish(shipped("1"))
		if in := s.instance("1"); in.State != "done" {
			t.Errorf("it goes on: got %+v", in)
		}
	})
}

func TestAReplaySaysWhatDiffers(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("1", `{"total":3}`))
		got, err := s.as(admin).ReplaySaga(t.Context(), api.ReplaySagaParams{Context: house, Name: "order"})
		if err != nil || got.Instances != 1 || got.Same != 1 || len(got.Different) != 0 {
			t.Errorf("got %+v, %v", got, err)
		}
		out, err := s.as(admin).RewindSaga(t.Context(), api.RewindSagaParams{Context: house, Name: "order", Stream: "AGGREGATE_EVENTS"})
		if err != nil || !out.Done {
			t.Errorf("rewind: got %+v, %v", out, err)
		}
		s.settle()
		if in := s.instance("1"); in.Version != 2 || in.State != "paid" {
			t.Errorf("what it had is passed over: got %+v", in)
		}
		if _, err := s.as(admin).RewindSaga(t.Context(), api.RewindSagaParams{Context: house, Name: "order", Stream: "OTHER"}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("no stream: got %v", err)
		}
	})
}

func TestADeletedSagaIsGoneWithAllItHas(t *testing.T) {
	withSagas(t, func(t *testing.T, s *shop) {
		_, err := s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("1", `{"total":3}`), placed("2", `{"total":-3}`))
		del := api.DeleteSagaParams{Context: house, Name: "order"}
		if out, err := s.as(admin).DeleteSaga(t.Context(), del); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "have not ended") {
			t.Errorf("while they live: got %+v, %v", out, err)
		}
		s.publish(shipped("1")) // it is served still
		if in := s.instance("1"); in.State != "done" {
			t.Errorf("got %+v", in)
		}
		del.Force = true
		out, err := s.as(admin).DeleteSaga(t.Context(), del)
		if want := (domain.SagaDeleted{Saga: "order", Versions: 1, Instances: 2, DeadLetters: 1}); err != nil || out != want {
			t.Errorf("got %+v, %v, want %+v", out, err, want)
		}
		for _, id := range []string{"1", "2"} {
			if _, err := s.as(reader).ShowInstance(t.Context(), instanceOf(id)); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("instance %s: got %v", id, err)
			}
		}
		if list, err := s.as(reader).ListDeadLetters(t.Context(), api.ListDeadLettersParams{Context: house}); err != nil || len(list.DeadLetters) != 0 {
			t.Errorf("letters: got %+v, %v", list, err)
		}
		s.publish(placed("3", `{"total":3}`)) // nobody reads it
		// One of the same name begins anew, with what comes from now on.
		_, err = s.apply(orders)
		s.must(err)
		s.settle()
		s.publish(placed("4", `{"total":3}`))
		if in := s.instance("4"); in.State != "paid" || in.Version != 2 {
			t.Errorf("anew: got %+v", in)
		}
		if _, err := s.as(reader).ShowInstance(t.Context(), instanceOf("3")); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("what came in between: got %v", err)
		}
	})
}

func TestEventsAreRefusedBeforeAnyIsStored(t *testing.T) {
	r := newRig(t)
	publish := func(p api.PublishParams) error {
		p.Context = house
		_, err := r.api.As(admin).PublishEvents(t.Context(), p)
		return err
	}
	for _, c := range []struct {
		name string
		p    api.PublishParams
		want string
	}{
		{"of nobody", api.PublishParams{EventInput: api.EventInput{Type: "x"}}, "either an aggregate type or a saga"},
		{"of two", api.PublishParams{EventInput: api.EventInput{Type: "x", AggregateType: "A", AggregateID: "1", Saga: "order", Correlation: "1"}},
			"either an aggregate type or a saga"},
		{"a subject in a type", api.PublishParams{EventInput: api.EventInput{Type: "x", AggregateType: "A.>", AggregateID: "1"}}, "without spaces"},
		{"one of Ramet's own", api.PublishParams{EventInput: api.EventInput{Type: "ramet:pause", Saga: "order", Correlation: "1"}}, "Ramet's own"},
		{"a list with one that is wrong", api.PublishParams{Events: []api.EventInput{placed("1", "{}"), {Type: "x"}}}, "events[1]: "},
		{"too many", api.PublishParams{Events: make([]api.EventInput, api.MaxEvents+1)}, "the limit is 1000"},
		{"too large", api.PublishParams{EventInput: placed("1", `"`+strings.Repeat("x", domain.MaxEventBytes)+`"`)}, "the limit is"},
	} {
		if err := publish(c.p); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if err := publish(api.PublishParams{Events: []api.EventInput{}}); err != nil {
		t.Errorf("none: got %v", err)
	}
}

func TestANodeWithoutStreamsSaysWhatToSet(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	registry := identity.NewRegistry(precondition.Over(b))
	if _, err := servicetest.People(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	parts := servicetest.Parts(b, registry, work.New(b, work.Config{}))
	parts.Sagas, parts.Effects = nil, nil
	c := service.New(parts).As(admin)
	_, err1 := c.ListSagas(t.Context(), api.ListSagasParams{Context: house})
	_, err2 := c.PublishEvents(t.Context(), api.PublishParams{Context: house, EventInput: placed("1", "{}")})
	_, err3 := c.ListEffects(t.Context(), api.ListEffectsParams{Context: house})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "--stream") {
			t.Errorf("got %v", err)
		}
	}
}
