package service_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/secret"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// noAnswers is a board that keeps no answers of requests: as if the node were killed each time between what
// it did and what it keeps of it.
type noAnswers struct{ service.Keys }

func (n noAnswers) Commit(ctx context.Context, b board.Batch) error {
	for _, op := range b.Ops {
		for _, f := range op.Fields {
			if f.Name == "answer" {
				return domain.Unavailablef("away")
			}
		}
	}
	return n.Keys.Commit(ctx, b)
}

// newOnceRig is a rig with all that requests with keys are about, whose node is killed before it keeps an answer.
func newOnceRig(t *testing.T) *rig {
	r := newScheduleRig(t)
	parts := servicetest.Parts(r.board, r.registry, r.engine)
	parts.Keys = noAnswers{parts.Keys}
	parts.Secrets = secret.New(precondition.Over(r.board), secret.Config{KeyFile: t.TempDir() + "/key"})
	r.api = service.New(parts)
	return r
}

// named is a key under which requests of the tests are made.
const named = "order-7"

// onceCase is an operation that makes something, or writes over it.
type onceCase struct {
	name string
	by   domain.ActorID
	ours any
	// theirs is what somebody else does after ours.
	theirs func(c service.Caller) error
	// is reads the thing as it is; count how many there are.
	is func(c service.Caller) (any, error)
}

func onceCases(t *testing.T, r *rig) []onceCase {
	ctx := t.Context()
	key := func() string {
		k, err := identity.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		return k.Pubkey()
	}
	text := func(script string) api.ApplyBlueprintParams {
		return api.ApplyBlueprintParams{Context: house, Text: "name: mine\nsteps:\n- {name: a, script: " + script + ", script_type: shell}\n"}
	}
	sagaText := func(state string) api.ApplySagaParams {
		return api.ApplySagaParams{Context: house, Text: "name: s\ntriggers: [{of: Order, types: [Placed]}]\ncorrelation: event.aggregate_id\ninitial: " + state +
			"\nstates:\n  " + state + ": {on: {Placed: handle}}\nscript: |\n  fn on_event(state, event) { #{} }\n"}
	}
	routine := func(script string) api.RoutineApplyParams {
		return api.RoutineApplyParams{Context: house, Routine: domain.Routine{Name: "r", Script: script, ScriptType: "shell"}}
	}
	listener := func(summary string) api.ListenerApplyParams {
		return api.ListenerApplyParams{Context: house, Listener: domain.Listener{Name: "l", Summary: summary, Blueprint: "b",
			On: domain.SagaTrigger{Of: "Order", Types: []string{"Placed"}}}}
	}
	later := nightly()
	later.Cron = "0 3 * * *"
	hook := api.WebhookCreateParams{Context: house, Webhook: domain.Webhook{Name: "w", Scheme: domain.WebhookGitHub, Blueprint: "b"}}
	anActor := api.CreateActorParams{Actor: domain.Actor{Pubkey: key()}}
	actors := func(c service.Caller) (any, error) { return c.ListActors(ctx, api.ListActorsParams{}) }
	contexts := func(c service.Caller) (any, error) { return c.ListContexts(ctx, api.ListContextsParams{}) }
	// granted gives the newest context another reader.
	granted := func(c service.Caller) error {
		list, err := c.ListContexts(ctx, api.ListContextsParams{})
		if err != nil {
			return err
		}
		for _, made := range list.Contexts {
			if made.Weight == 5 {
				_, err = r.api.As(admin).GrantContext(ctx, api.GrantParams{Context: made.ID, Actor: reader, Role: domain.Reader})
			}
		}
		return err
	}
	return []onceCase{
		{"blueprint.apply", admin, text("one"), func(c service.Caller) error { _, err := c.ApplyBlueprint(ctx, text("two")); return err },
			func(c service.Caller) (any, error) {
				return c.BlueprintVersions(ctx, api.BlueprintVersionsParams{Context: house, Name: "mine"})
			}},
		{"saga.apply", admin, sagaText("one"), func(c service.Caller) error { _, err := c.ApplySaga(ctx, sagaText("two")); return err },
			func(c service.Caller) (any, error) {
				return c.SagaVersions(ctx, api.SagaVersionsParams{Context: house, Name: "s"})
			}},
		{"schedule.apply", admin, nightly(), func(c service.Caller) error { _, err := c.ApplySchedule(ctx, later); return err },
			func(c service.Caller) (any, error) {
				s, err := c.ShowSchedule(ctx, api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: house, Name: "nightly"}})
				return s.Schedule, err
			}},
		{"routine.apply", admin, routine("one"), func(c service.Caller) error { _, err := c.ApplyRoutine(ctx, routine("two")); return err },
			func(c service.Caller) (any, error) {
				return c.ShowRoutine(ctx, api.RoutineParams{Context: house, Name: "r"})
			}},
		{"listener.apply", admin, listener("one"), func(c service.Caller) error { _, err := c.ApplyListener(ctx, listener("two")); return err },
			func(c service.Caller) (any, error) {
				l, err := c.ShowListener(ctx, api.ListenerParams{Context: house, Name: "l"})
				return l.Listener, err
			}},
		{"secret.set", admin, api.SetSecretParams{Context: house, Name: "db", Value: "hunter2"}, func(c service.Caller) error {
			_, err := c.SetSecret(ctx, api.SetSecretParams{Context: house, Name: "db", Value: "hunter3"})
			return err
		}, func(service.Caller) (any, error) {
			recs, err := r.board.Get(ctx, 7, "ramet:secret:db")
			return recs[0].Get("sealed"), err
		}},
		{"circle.submit", admin, api.SubmitTaskParams{Context: house, Circle: "c", TaskInput: api.TaskInput{ID: "t1", Script: "1"}}, func(service.Caller) error {
			b := board.Batch{Space: 7} // it has ended, and is gone
			return r.board.Commit(ctx, *b.Delete(layout.Task("t1")))
		}, func(service.Caller) (any, error) {
			keys, _, err := r.board.Keys(ctx, 7, layout.Task(""), "", 10)
			return len(keys), err
		}},
		{"webhook.create", admin, hook, func(c service.Caller) error {
			_, err := c.UpdateWebhook(ctx, api.WebhookUpdateParams{WebhookParams: api.WebhookParams{Context: house, Name: "w"},
				WebhookChange: api.WebhookChange{Blueprint: "b", Paused: true}})
			return err
		}, func(c service.Caller) (any, error) { return c.ListWebhooks(ctx, api.WebhookListParams{Context: house}) }},
		{"actor.create", operator, anActor, func(c service.Caller) error {
			_, err := c.CreateActor(ctx, api.CreateActorParams{Actor: domain.Actor{Pubkey: key()}})
			return err
		}, actors},
		{"context.create", operator, api.CreateContextParams{Tenant: domain.Tenant{Admins: []domain.ActorID{admin}, Weight: 5}}, granted, contexts},
		{"context.create", operator, api.CreateContextParams{Tenant: domain.Tenant{Alias: "shop", Admins: []domain.ActorID{admin}, Weight: 5}}, granted, contexts},
		{"context.create", operator, api.CreateContextParams{Tenant: domain.Tenant{ID: 500, Admins: []domain.ActorID{admin}, Weight: 5}}, granted, contexts},
	}
}

// once does an operation under the key.
func (r *rig) once(o *service.Operation, by domain.ActorID, params any, body byte) (map[string]any, error) {
	tenant := domain.TenantID(0)
	if strings.Contains(o.Path, "{context}") {
		tenant = house
	}
	got, _, err := r.api.As(by).CallOnce(r.Context(), o, tenant, pointerTo(params), named, [32]byte{body})
	text, _ := json.Marshal(got)
	answer := map[string]any{}
	if err == nil {
		if err := json.Unmarshal(text, &answer); err != nil {
			r.Fatal(err)
		}
	}
	return answer, err
}

// identifies are the fields of answers that say what was made.
var identifies = []string{"id", "name", "version", "hash", "secret", "alias", "set_ms", "task_id"}

func same(a, b map[string]any) bool {
	for _, name := range identifies {
		if !reflect.DeepEqual(a[name], b[name]) {
			return false
		}
	}
	return true
}

// TestWhatARequestHasMadeIsLeftAsOthersChangedIt, where its node was killed before it kept the answer.
func TestWhatARequestHasMadeIsLeftAsOthersChangedIt(t *testing.T) {
	for i, tc := range onceCases(t, newOnceRig(t)) {
		t.Run(tc.name, func(t *testing.T) {
			r := newOnceRig(t)
			tc := onceCases(t, r)[i]
			c, o := r.api.As(tc.by), service.Named(tc.name)
			if !o.Creates() {
				t.Fatal("it takes no key")
			}
			// A node that was killed before it did anything: it is done now.
			died := *o
			died.Call = func(context.Context, service.Caller, any) (any, error) { return nil, errors.New("killed") }
			if _, err := r.once(&died, tc.by, tc.ours, 1); err == nil {
				t.Fatal("it was not killed")
			}
			first, err := r.once(o, tc.by, tc.ours, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.theirs(c); err != nil {
				t.Fatal(err)
			}
			before, err := tc.is(c)
			if err != nil {
				t.Fatal(err)
			}
			again, err := r.once(o, tc.by, tc.ours, 1)
			if err != nil || !same(first, again) {
				t.Errorf("again: got %v, %v; the first time %v", again, err, first)
			}
			if after, err := tc.is(c); err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("it was done again: got %+v, %v; want %+v", after, err, before)
			}
			if _, err := r.once(o, tc.by, tc.ours, 2); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("another body: got %v", err)
			}
		})
	}
}

// TestADocumentThatOthersMadeAnewIsNotTheRequests: it has the number that the request's had, which was deleted.
func TestADocumentThatOthersMadeAnewIsNotTheRequests(t *testing.T) {
	for i, tc := range onceCases(t, newOnceRig(t))[:2] {
		t.Run(tc.name, func(t *testing.T) {
			r := newOnceRig(t)
			tc := onceCases(t, r)[i]
			c, o := r.api.As(tc.by), service.Named(tc.name)
			died := *o
			died.Call = func(context.Context, service.Caller, any) (any, error) { return nil, errors.New("killed") }
			if _, err := r.once(&died, tc.by, tc.ours, 1); err == nil {
				t.Fatal("it was not killed")
			}
			if _, err := r.once(o, tc.by, tc.ours, 1); err != nil {
				t.Fatal(err)
			}
			var err error
			if tc.name == "saga.apply" {
				_, err = c.DeleteSaga(t.Context(), api.DeleteSagaParams{Context: house, Name: "s"})
			} else {
				_, err = c.DeleteBlueprint(t.Context(), api.NameBlueprintParams{Context: house, Name: "mine"})
			}
			if err = errors.Join(err, tc.theirs(c)); err != nil {
				t.Fatal(err)
			}
			if got, err := r.once(o, tc.by, tc.ours, 1); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "deleted since") {
				t.Errorf("got %v, %v; want that what it stored was deleted", got, err)
			}
		})
	}
}

// TestWhatARequestHasFoundIsLeftAsOthersChangedIt: what it was to make was there already, so that
// it made nothing, and its node was killed before it kept the answer.
func TestWhatARequestHasFoundIsLeftAsOthersChangedIt(t *testing.T) {
	for i, tc := range onceCases(t, newOnceRig(t)) {
		t.Run(tc.name, func(t *testing.T) {
			r := newOnceRig(t)
			tc := onceCases(t, r)[i]
			c, o := r.api.As(tc.by), service.Named(tc.name)
			if _, err := o.Call(t.Context(), c, pointerTo(tc.ours)); err != nil {
				t.Fatal(err)
			}
			first, err := r.once(o, tc.by, tc.ours, 1)
			if errors.Is(err, domain.ErrConflict) { // it may be made only where it is not there
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.theirs(c); err != nil {
				t.Fatal(err)
			}
			before, err := tc.is(c)
			if err != nil {
				t.Fatal(err)
			}
			again, err := r.once(o, tc.by, tc.ours, 1)
			if changed := tc.name == "context.create" && errors.Is(err, domain.ErrConflict); !changed && (err != nil || !same(first, again)) {
				t.Errorf("again: got %v, %v; the first time %v", again, err, first)
			}
			if after, err := tc.is(c); err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("it was done again: got %+v, %v; want %+v", after, err, before)
			}
		})
	}
}

// TestTwoNodesDoARequestOnce: another node does the same between what this one looked at and what it does.
func TestTwoNodesDoARequestOnce(t *testing.T) {
	for i, tc := range onceCases(t, newOnceRig(t)) {
		t.Run(tc.name, func(t *testing.T) {
			r := newOnceRig(t)
			tc := onceCases(t, r)[i]
			c, o := r.api.As(tc.by), service.Named(tc.name)
			var first map[string]any
			var before any
			slow := *o
			slow.Call = func(ctx context.Context, caller service.Caller, params any) (any, error) {
				var err error
				if first, err = r.once(o, tc.by, tc.ours, 1); err != nil {
					return nil, err
				}
				if err := tc.theirs(c); err != nil {
					return nil, err
				}
				if before, err = tc.is(c); err != nil {
					return nil, err
				}
				return o.Call(ctx, caller, params)
			}
			again, err := r.once(&slow, tc.by, tc.ours, 1)
			if err != nil || !same(first, again) {
				t.Errorf("the slower: got %v, %v; the faster %v", again, err, first)
			}
			if after, err := tc.is(c); err != nil || !reflect.DeepEqual(before, after) {
				t.Errorf("it was done again: got %+v, %v; want %+v", after, err, before)
			}
		})
	}
}

// TestAHeldChangeWithAKeyIsDoneOnce: what it finds changed is what it has changed itself.
func TestAHeldChangeWithAKeyIsDoneOnce(t *testing.T) {
	r := newOnceRig(t)
	if _, err := r.api.As(admin).ApplySchedule(t.Context(), nightly()); err != nil {
		t.Fatal(err)
	}
	later := nightly()
	later.Cron = "0 3 * * *"
	o := *service.Named("schedule.apply")
	o.Call = func(ctx context.Context, c service.Caller, params any) (any, error) {
		return c.CallHeld(ctx, service.Named("schedule.apply"), params, func(answer any) error {
			if answer.(api.Schedule).Cron != "0 2 * * *" {
				return domain.Conflictf("it is not as it was read")
			}
			return nil
		})
	}
	for range 2 {
		if got, err := r.once(&o, admin, later, 1); err != nil || got["cron"] != "0 3 * * *" {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// TestASecretIsToldAgainUntilItIsRotated, to who made it and has the key, and lies nowhere else meanwhile.
func TestASecretIsToldAgainUntilItIsRotated(t *testing.T) {
	r := newOnceRig(t)
	create, rotate := service.Named("webhook.create"), service.Named("webhook.rotate")
	hook := api.WebhookCreateParams{Context: house, Webhook: domain.Webhook{Name: "w", Scheme: domain.WebhookGitHub, Blueprint: "b"}}
	first, err := r.once(create, admin, hook, 1)
	if err != nil || first["secret"] == nil {
		t.Fatalf("got %v, %v", first, err)
	}
	if keys, _, err := r.board.Keys(t.Context(), 7, "ramet:once:", "", 10); err != nil || len(keys) != 1 {
		t.Fatalf("got %v, %v", keys, err)
	} else if recs, err := r.board.Get(t.Context(), 7, keys[0]); err != nil || strings.Contains(strings.Join(texts(recs[0]), " "), first["secret"].(string)) {
		t.Errorf("the record of the request tells the secret: %v, %v", recs, err)
	}
	// Its body has a secret: of the same body another key keeps another digest.
	if _, err := r.once(create, reader, hook, 1); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("who has no right: got %v", err)
	}
	do := func(o *service.Operation, params any, key string) api.WebhookMade {
		got, _, err := r.api.As(admin).CallOnce(t.Context(), o, house, pointerTo(params), key, [32]byte{1})
		if err != nil {
			t.Fatal(err)
		}
		return got.(api.WebhookMade)
	}
	turn := api.WebhookRotateParams{WebhookParams: api.WebhookParams{Context: house, Name: "w"}}
	one := do(rotate, turn, "rotate-1")
	if again := do(rotate, turn, "rotate-1"); again.Secret != one.Secret || one.Secret == first["secret"] {
		t.Errorf("rotated once: got %q, then %q", one.Secret, again.Secret)
	}
	if got := do(create, hook, named); got.Secret != "" || !strings.Contains(got.Rotated, "ramet webhook rotate w") {
		t.Errorf("a secret that was rotated: got %+v", got)
	}
	if two := do(rotate, turn, "rotate-2"); two.Secret == one.Secret {
		t.Error("another key rotated nothing")
	}
	before, err := r.api.As(admin).ShowWebhook(t.Context(), turn.WebhookParams)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.api.As(admin).DeleteWebhook(t.Context(), turn.WebhookParams); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.api.As(admin).CallOnce(t.Context(), create, house, &hook, named, [32]byte{1}); !errors.Is(err, domain.ErrConflict) ||
		!strings.Contains(err.Error(), "deleted since") {
		t.Errorf("of one that was deleted: got %v", err)
	}
	// Nor is one told that somebody else has made of that name since.
	for r.board.Now().UnixMilli() <= before.State.RotatedMs { // in another millisecond
		continue
	}
	theirs := hook
	theirs.Summary = "theirs"
	if _, err := r.api.As(admin).CreateWebhook(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	for o, p := range map[*service.Operation]any{create: &hook, rotate: &turn} {
		key := named
		if o == rotate {
			key = "rotate-1"
		}
		if got, _, err := r.api.As(admin).CallOnce(t.Context(), o, house, p, key, [32]byte{1}); !errors.Is(err, domain.ErrConflict) ||
			!strings.Contains(err.Error(), "deleted since") {
			t.Errorf("%s of one that was made anew: got %+v, %v", o.Name, got, err)
		}
	}
}

func texts(rec board.Record) (list []string) {
	for _, f := range rec {
		list = append(list, f.Value)
	}
	return list
}

// TestNobodyGetsAContextOfThatNumber: the number that was drawn is chosen by hand meanwhile, for the same content.
func TestNobodyGetsAContextOfThatNumber(t *testing.T) {
	r := newOnceRig(t)
	o := service.Named("context.create")
	want := domain.Tenant{Admins: []domain.ActorID{admin}, Weight: 5}
	for id := range domain.TenantID(3) { // the counter has not been there
		theirs := want
		theirs.ID = id + 1
		if _, err := r.api.As(operator).CreateContext(t.Context(), api.CreateContextParams{Tenant: theirs}); err != nil {
			t.Fatal(err)
		}
	}
	first, err := r.once(o, operator, api.CreateContextParams{Tenant: want}, 1)
	if err != nil || first["id"].(float64) <= 3 || first["existing"] != false {
		t.Errorf("got %v, %v; want a context of its own", first, err)
	}
	if again, err := r.once(o, operator, api.CreateContextParams{Tenant: want}, 1); err != nil || !same(first, again) {
		t.Errorf("again: got %v, %v", again, err)
	}
}

// TestARefusedContextUsesNoNumberUp, with a key or without: on Redis each number is a database, and its advice names the next.
func TestARefusedContextUsesNoNumberUp(t *testing.T) {
	b := &fewSpaces{Board: memboard.Open(), most: 100}
	registry := identity.NewRegistry(precondition.Over(b))
	if _, err := servicetest.People(t.Context(), registry); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Next(t.Context(), 0, layout.Seq("context", 0), 100); err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, api: service.New(servicetest.Parts(b, registry, work.New(b, work.Config{})))}
	o := service.Named("context.create")
	for i, p := range []api.CreateContextParams{
		{Tenant: domain.Tenant{Admins: []domain.ActorID{admin}, Weight: 2}},
		{Tenant: domain.Tenant{Admins: []domain.ActorID{admin}, Weight: 3}},
		{Tenant: domain.Tenant{Alias: "named", Admins: []domain.ActorID{admin}}},
		{Tenant: domain.Tenant{Admins: []domain.ActorID{4711}}},
	} {
		_, err := r.api.As(operator).CreateContext(t.Context(), p)
		_, _, keyed := r.api.As(operator).CallOnce(t.Context(), o, 0, &p, fmt.Sprint("key ", i), [32]byte{byte(i)})
		for _, err := range []error{err, keyed} {
			if want := "context 101 has no place"; !errors.Is(err, domain.ErrInvalid) || i < 3 && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
	b.most = 200
	p := api.CreateContextParams{Tenant: domain.Tenant{Admins: []domain.ActorID{admin}, Weight: 2}}
	if got, _, err := r.api.As(operator).CallOnce(t.Context(), o, 0, &p, "key 0", [32]byte{0}); err != nil || got.(api.CreatedContext).ID != 101 {
		t.Errorf("once there is room: got %+v, %v", got, err)
	}
}

// fewSpaces has no place for contexts beyond most.
type fewSpaces struct {
	board.Board
	most board.Space
}

func (b *fewSpaces) room(space board.Space) error {
	if space > b.most {
		return domain.Invalidf("context %d has no place", space)
	}
	return nil
}

func (b *fewSpaces) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	if err := b.room(space); err != nil {
		return nil, err
	}
	return b.Board.Get(ctx, space, keys...)
}

func (b *fewSpaces) Commit(ctx context.Context, c board.Batch) error {
	return cmp.Or(b.room(c.Space), b.Board.Commit(ctx, c))
}

// TestAKeyIsForgottenAfterADay: the same request is another one then.
func TestAKeyIsForgottenAfterADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		o := service.Named("context.create")
		p := api.CreateContextParams{Tenant: domain.Tenant{Admins: []domain.ActorID{admin}}}
		first, err := r.once(o, operator, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(23 * time.Hour)
		if again, err := r.once(o, operator, p, 1); err != nil || !same(first, again) {
			t.Errorf("within a day: got %v, %v", again, err)
		}
		time.Sleep(2 * time.Hour)
		if again, err := r.once(o, operator, p, 2); err != nil || same(first, again) {
			t.Errorf("after a day: got %v, %v", again, err)
		}
	})
}

// halfSagas stores a saga, and fails at what follows from it.
type halfSagas struct {
	service.Sagas
	fails int
}

func (s *halfSagas) Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, def *domain.SagaDefinition,
	from domain.SagaFrom) (domain.StoredSaga, bool, error) {
	stored, existing, err := s.Sagas.Apply(ctx, tenant, actor, def, from)
	if s.fails--; err == nil && s.fails >= 0 {
		err = domain.Unavailablef("no answer")
	}
	return stored, existing, err
}

// TestARequestIsDoneOnceAllIsDone: that what it makes is there says nothing of what follows from the making, whose error is
// its caller's as long as it lasts. A lost answer alone is found out.
func TestARequestIsDoneOnceAllIsDone(t *testing.T) {
	r := newOnceRig(t)
	parts := servicetest.Parts(r.board, r.registry, r.engine)
	half := &halfSagas{Sagas: parts.Sagas}
	parts.Sagas = half
	r.api = service.New(parts)
	for _, tc := range onceCases(t, r) {
		if tc.name != "saga.apply" {
			continue
		}
		o := service.Named(tc.name)
		half.fails = 3 // two of the first request, one of the second
		for range 2 {
			if got, err := r.once(o, tc.by, tc.ours, 1); !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("what follows is not done: got %v, %v", got, err)
			}
		}
		for range 2 {
			if got, err := r.once(o, tc.by, tc.ours, 1); err != nil || got["version"] != 1. {
				t.Errorf("done: got %v, %v", got, err)
			}
		}
	}
}
