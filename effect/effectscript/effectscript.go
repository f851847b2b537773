package effectscript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/script"
)

// exitErrored is the exit code of a call without an answer that counts: flows
// take codes from 125 on for errors, those below for failures.
const exitErrored = 125

// Effects are those of the node: an [effect.Worker].
type Effects interface {
	Call(ctx context.Context, call effect.Call, waits func(why string)) (json.RawMessage, error)
	Kinds() map[string]domain.EffectKind
	Reserved() map[string][]domain.TenantID
	Changed() <-chan struct{}
}

// Runtime runs scripts that call effects.
type Runtime struct {
	name  func(ctx context.Context, id domain.TenantID) (string, error)
	bound chan struct{} // closed by Bind

	mu      sync.RWMutex
	effects Effects
}

var _ script.Selective = (*Runtime)(nil)

// New returns a runtime without effects. name is what subjects call a context:
// Registry.TenantName.
func New(name func(ctx context.Context, id domain.TenantID) (string, error)) *Runtime {
	return &Runtime{name: name, bound: make(chan struct{}), effects: none{}}
}

// Bind gives it the effects of its node, once: effects may be jobs and flows of
// the node, which must have its runtimes before.
func (r *Runtime) Bind(effects Effects) {
	r.mu.Lock()
	r.effects = effects
	r.mu.Unlock()
	close(r.bound)
}

func (r *Runtime) of() Effects {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.effects
}

// none is a node without effects.
type none struct{}

func (none) Call(_ context.Context, call effect.Call, _ func(string)) (json.RawMessage, error) {
	return nil, domain.NotFoundf("this node has no effect %q", call.Effect)
}
func (none) Kinds() map[string]domain.EffectKind    { return nil }
func (none) Reserved() map[string][]domain.TenantID { return nil }
func (none) Changed() <-chan struct{}               { return nil }

// Type implements [script.Runtime].
func (r *Runtime) Type() domain.ScriptType { return domain.ScriptEffect }

// Info implements [script.Runtime].
func (r *Runtime) Info() script.Info {
	return script.Info{Summary: "calls of effects", Slots: script.InProcessSlots, InProcess: true, Outside: true}
}

// Check implements [script.Runtime]. A node without effects serves the type too:
// it may get some when it reads its config again.
func (r *Runtime) Check(context.Context) error { return nil }

// Close implements [script.Runtime].
func (r *Runtime) Close() error { return nil }

// Offers implements [script.Selective]: the names of the node's effects.
func (r *Runtime) Offers() map[string][]string {
	names := slices.Sorted(maps.Keys(r.of().Kinds()))
	if len(names) == 0 {
		return nil
	}
	return map[string][]string{domain.LabelEffect: names}
}

// Reserved implements [script.Selective].
func (r *Runtime) Reserved() map[string][]domain.TenantID {
	reserved := map[string][]domain.TenantID{}
	for name, contexts := range r.of().Reserved() {
		reserved[domain.Offer(domain.LabelEffect, name)] = contexts
	}
	return reserved
}

// Changed implements [script.Selective].
func (r *Runtime) Changed() <-chan struct{} {
	if changed := r.of().Changed(); changed != nil {
		return changed
	}
	return r.bound
}

// Run implements [script.Runtime].
func (r *Runtime) Run(ctx context.Context, task script.Task, host script.Host) (script.Outcome, error) {
	call, err := r.call(ctx, task)
	if errors.Is(err, domain.ErrInvalid) {
		return failed(err.Error(), nil), nil
	}
	if err != nil {
		return script.Outcome{}, err
	}
	answer, err := r.of().Call(ctx, call, func(why string) { host.Log("ramet", []byte("effect "+call.Effect+" waits: "+why)) })
	var refused *effect.Refused
	switch {
	case err == nil:
		out := script.Outcome{Verdict: script.Succeeded, Result: resultOf(answer)}
		out.Result[script.KeyExitCode] = "0"
		return out, nil
	case errors.As(err, &refused):
		return failed(refused.Cause, refused.Answer), nil
	case ctx.Err() != nil:
		return script.Outcome{Verdict: script.Stopped, ExitCode: 143, Error: "stopped"}, nil
	case errors.Is(err, domain.ErrNotFound):
		return script.Outcome{}, err // the config was read again meanwhile: another node may have it
	}
	return script.Outcome{Verdict: script.Errored, ExitCode: exitErrored, Error: err.Error(), After: afterOf(err),
		Result: map[string]string{script.KeyExitCode: fmt.Sprint(exitErrored)}}, nil
}

// failed is the outcome of a call that would end the same when tried again.
func failed(cause string, answer json.RawMessage) script.Outcome {
	out := script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: cause, Final: true, Result: resultOf(answer)}
	out.Result[script.KeyExitCode] = "1"
	return out
}

// afterOf is when the target wants to be asked again.
func afterOf(err error) time.Duration {
	var later *effect.RetryAfter
	if errors.As(err, &later) {
		return later.After
	}
	return 0
}

// call is what a script asks for.
//
// Errors: [domain.ErrInvalid].
func (r *Runtime) call(ctx context.Context, task script.Task) (effect.Call, error) {
	var s domain.EffectScript
	if err := intake.Decode([]byte(task.Script), &s, intake.Limits{Bytes: domain.MaxScriptBytes}); err != nil {
		return effect.Call{}, domain.Invalidf(`the script is no call of an effect, as {"target": "…", "params": {…}, "command_id": "…"}: %v`, err)
	}
	switch kind, here := r.of().Kinds()[s.Target]; {
	case s.CommandID == "" || len(s.CommandID) > domain.MaxEventID:
		return effect.Call{}, domain.Invalidf("command_id: want a UUID, which tells the target that it is asked the same again")
	case !here:
		return effect.Call{}, domain.NotFoundf("this node has no effect %q; a job that asks for affinity %s=%s goes to one that has", s.Target,
			domain.LabelEffect, s.Target)
	case s.Kind != "" && string(kind) != s.Kind:
		return effect.Call{}, domain.Invalidf("effect %s is of kind %s, not %q", s.Target, kind, s.Kind)
	}
	name, err := r.name(ctx, task.Context)
	if err != nil {
		return effect.Call{}, err
	}
	in, err := inputOf(task)
	if err != nil {
		return effect.Call{}, err
	}
	payload, err := payloadOf(ctx, task, &s.EffectCall, in)
	if err != nil {
		return effect.Call{}, err
	}
	var told []string
	if s.Payload == "" && namesSecret(s.Params) {
		if kind := r.of().Kinds()[s.Target]; kind == domain.EffectJob || kind == domain.EffectFlow {
			return effect.Call{}, domain.Invalidf("effect %s is of kind %s, whose params stand on records: let what it makes name the secret itself", s.Target, kind)
		}
		payload, err = withSecrets(payload, task.Secrets)
		told = slices.Collect(maps.Values(task.Secrets))
	}
	return effect.Call{Tenant: task.Context, TenantName: name, CommandID: s.CommandID, Effect: s.Target, Payload: payload,
		Metadata: in.metadata(task), Attempt: int(task.Attempt), Secrets: told}, err
}
