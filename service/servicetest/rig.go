package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/bulk"
	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/secret"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
	"github.com/ramet-run/ramet/webhook"
	"github.com/ramet-run/ramet/work"
)

// Faults compares the table with the operations there are, and says what is
// missing on either side.
func Faults() (faults []string) {
	there := map[string]bool{}
	for _, o := range service.Operations {
		there[o.Name] = true
		if _, has := Rights[o.Name]; !has {
			faults = append(faults, fmt.Sprintf("operation %s has no line in servicetest.Rights: who may use it?", o.Name))
		}
	}
	for name := range Rights {
		if !there[name] {
			faults = append(faults, fmt.Sprintf("servicetest.Rights has a line for %s, which is no operation", name))
		}
	}
	return faults
}

// May reports what the table says.
func (w Who) May(operation string) bool {
	return strings.IndexByte(Rights[operation], w.column) >= 0
}

// People registers the actors of the table and makes its contexts.
func People(ctx context.Context, r *identity.Registry) (keys map[domain.ActorID]identity.Key, err error) {
	keys = map[domain.ActorID]identity.Key{}
	for _, id := range []domain.ActorID{Operator, Admin, Executor, Reader, Stranger, Neighbour, Guest} {
		key, err := identity.NewKey()
		if err != nil {
			return nil, err
		}
		key.Actor = id
		keys[id] = key
		a := domain.Actor{ID: id, Pubkey: key.Pubkey()}
		if id == Guest {
			a.Address = []domain.Address{domain.Address("node:" + a.Pubkey)}
		}
		if _, _, err := r.CreateActor(ctx, a); err != nil {
			return nil, err
		}
	}
	for _, t := range []domain.Tenant{
		{ID: House, Admins: []domain.ActorID{Admin}, Executors: []domain.ActorID{Executor}, Readers: []domain.ActorID{Reader}},
		{ID: Open, Admins: []domain.ActorID{Admin}, Executors: []domain.ActorID{Executor}, Readers: []domain.ActorID{Reader}, ExecutorsMaySubmit: true},
		{ID: Elsewhere, Admins: []domain.ActorID{Neighbour}},
	} {
		if _, _, err := r.CreateTenant(ctx, t); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// Parts are what the operations stand on, all on one board, with nobody to run
// jobs and flows.
func Parts(b board.Board, r *identity.Registry, jobs *work.Engine) service.Parts {
	held := precondition.Over(b)
	blueprints := blueprint.NewStore(held)
	flows := flow.New(b, jobs, flow.Config{Blueprints: flow.Stored(blueprints)})
	audit := identity.NewAuditLog(r, nil)
	log := memstream.Open()
	access := identity.NewAccess(r, audit)
	return service.Parts{Tokens: identity.NewTokens(r, access, "n1"), Sagas: saga.New(b, log, saga.Config{Names: r}), Effects: effects(b, log, r),
		Jobs: jobs, Flows: flows, Directory: r, Access: access, Audit: audit, Records: b, Keys: b,
		Webhooks: webhook.New(held, plain{}, nil), Listeners: listener.New(held, log, r, nil),
		Schedules: clockwork.NewSchedules(held, flows, nil), Bans: ban.New(held), Blueprints: blueprints,
		Duties: clockwork.DutyRulesOn(held), Routines: clockwork.NewRoutines(held, jobs, nil), Bulks: bulk.New(b), Circles: circle.New(held, circle.Config{}),
		Info: func() api.Info {
			return api.Info{Name: "n1", Version: "test", Board: "memory", Durability: "memory", Ready: true}
		}}
}

// plain seals nothing.
type plain struct{}

func (plain) Seal(_ context.Context, place, value string) (secret.Sealed, error) {
	return secret.Sealed{Text: place + "\x00" + value}, nil
}

func (plain) Open(_ context.Context, place string, s secret.Sealed) (string, error) {
	return strings.TrimPrefix(s.Text, place+"\x00"), nil
}

// effects are one effect that all contexts may use, called as [Fill] calls
// everything, and one that is for another context only. They reach nothing.
func effects(b board.Board, log stream.Log, r *identity.Registry) *effect.Worker {
	open := func(effect.Definition, effect.Host) (effect.Provider, error) { return mirror{}, nil }
	set, err := effect.OpenSet([]effect.Definition{
		{Name: "go", Kind: "mirror", Target: "mirror:1"},
		{Name: "gone", Kind: "mirror", Target: "mirror:2", Contexts: []domain.TenantID{Elsewhere}},
	}, map[domain.EffectKind]effect.Open{"mirror": open}, effect.Host{})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return effect.NewWorker(log, b, set, effect.Config{Tenant: r.TenantByName})
}

// mirror is a provider that answers with what it was given.
type mirror struct{}

func (mirror) Do(_ context.Context, c effect.Call) (json.RawMessage, error) { return c.Payload, nil }
func (mirror) Check(context.Context, domain.TenantID) error                 { return nil }
func (mirror) Target() string                                               { return "mirror" }
func (mirror) Close() error                                                 { return nil }

// Post is an engine of messages for parts, whose node has the keys of all
// people but the reader's; dir is the node's folder.
func Post(ctx context.Context, b board.Board, r *identity.Registry, p service.Parts, keys map[domain.ActorID]identity.Key, dir string) (*post.Engine, error) {
	if err := os.Mkdir(filepath.Join(dir, identity.KeysFolder), 0o700); err != nil {
		return nil, err
	}
	for id, key := range keys {
		if id == Reader {
			continue
		}
		if err := identity.SaveKey(filepath.Join(dir, identity.KeysFolder, fmt.Sprintf("%d.key", id)), key); err != nil {
			return nil, err
		}
	}
	ring, err := identity.OpenKeyring(dir)
	if err != nil {
		return nil, err
	}
	if _, err := r.EnsureNode(ctx, ring.Node.Pubkey()); err != nil {
		return nil, err
	}
	return post.New(b, post.Config{Keys: ring, Registry: r, Access: p.Access.(*identity.Access), Work: p.Jobs.(*work.Engine), Flows: p.Flows.(*flow.Engine)}), nil
}

// values are what parameters of an operation get, by the name of the field.
func values(tenant domain.TenantID) map[string]any {
	return map[string]any{"Context": uint32(tenant), "In": uint32(tenant), "Caller": uint32(Admin), "ID": uint32(1), "Actor": uint32(Admin),
		"Flow": uint32(1), "Name": "go", "TimeoutMs": int64(1)}
}

// Fill gives the parameters of an operation what any of them may need, so that
// it is asked about something of a context.
func Fill(params any, tenant domain.TenantID) {
	v := reflect.ValueOf(params).Elem()
	for name, value := range values(tenant) {
		f := v.FieldByName(name)
		if !f.IsValid() || !plainly(v.Type(), name) {
			continue
		}
		if value := reflect.ValueOf(value); value.CanConvert(f.Type()) && f.Kind() == value.Kind() {
			f.Set(value.Convert(f.Type()))
		}
	}
}

// plainly is false for the few fields that mean something else.
func plainly(params reflect.Type, field string) bool {
	switch params {
	case reflect.TypeFor[api.SubmitParams](): // the rest is the job's
		return field == "Context"
	case reflect.TypeFor[api.ListTokensParams](), reflect.TypeFor[api.RevokeTokenParams](): // one's own
		return field != "Actor"
	case reflect.TypeFor[api.ListRunnersParams](), reflect.TypeFor[api.RunnerParams](), reflect.TypeFor[api.ActorParams](),
		reflect.TypeFor[api.ListPeersParams](), reflect.TypeFor[api.CardParams](): // another right than the table's
		return field != "Context"
	}
	return true
}

// Request is an operation as the HTTP door has it: its path with parameters,
// and a body where it takes one.
func Request(o *service.Operation, tenant domain.TenantID) (path, body string) {
	path = o.Path
	for _, f := range reflect.VisibleFields(reflect.TypeOf(o.NewParams()).Elem()) {
		name := f.Tag.Get("path")
		value := "1"
		switch {
		case name == "":
			continue
		case name == "context":
			value = fmt.Sprint(uint32(tenant))
		case name == "actor":
			value = fmt.Sprint(uint32(Admin))
		case f.Type.Kind() == reflect.String:
			value = "go"
		}
		path = strings.Replace(path, "{"+name+"}", value, 1)
	}
	if o.Method != "GET" && o.Method != "DELETE" {
		body = "{}"
	}
	return path, body
}
