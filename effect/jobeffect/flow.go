package jobeffect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/flow"
)

// Flows is what the kind needs of the flow engine.
type Flows interface {
	Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error)
	Wait(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(domain.FlowView) error) (domain.FlowView, error)
}

// flowOptions are those of the kind flow.
type flowOptions struct {
	// Blueprint is the name of one of the context that asks, and Version which
	// of it. Default: the newest.
	Blueprint string `yaml:"blueprint"`
	Version   int    `yaml:"version"`
	// Param is the name of a param that gets the whole payload as JSON. Default:
	// each field of the payload is a param.
	Param string `yaml:"param"`
	// Caller is the actor whose flow it is. Default: the operator.
	Caller   domain.ActorID    `yaml:"caller"`
	Priority int               `yaml:"priority"`
	Env      map[string]string `yaml:"env"`
}

// OpenFlow opens effects of the kind flow.
func OpenFlow(flows Flows) effect.Open {
	return func(def effect.Definition, _ effect.Host) (effect.Provider, error) {
		p := &flowOf{flows: flows, o: flowOptions{Caller: domain.Operator}}
		if err := def.Decode(&p.o); err != nil {
			return nil, err
		}
		if err := domain.ValidateName("blueprint", p.o.Blueprint); err != nil {
			return nil, def.Errorf("blueprint:", "%v", err)
		}
		switch {
		case p.o.Version < 0:
			return nil, def.Errorf("version", "is %d: want one of the blueprint's, or 0 for the newest", p.o.Version)
		case p.o.Caller == 0:
			return nil, def.Errorf("caller", "is 0: want the number of an actor")
		case p.o.Priority < 0 || p.o.Priority > domain.MaxPriority:
			return nil, def.Errorf("priority", "is %d: want 0 to %d", p.o.Priority, domain.MaxPriority)
		}
		return p, cmp.Or(checkParam(def, p.o.Param), checkEnv(def, p.o.Env))
	}
}

// flowOf does the effects of one definition.
type flowOf struct {
	open
	flows Flows
	o     flowOptions
}

var _ effect.Provider = (*flowOf)(nil)

// Target implements [effect.Provider].
func (p *flowOf) Target() string { return "flow " + p.o.Blueprint }

// Check implements [effect.Provider]. Which blueprints there are differs from
// context to context, so there is nothing to look for.
func (p *flowOf) Check(ctx context.Context, _ domain.TenantID) error { return p.take(ctx) }

// Do implements [effect.Provider].
func (p *flowOf) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	if err := p.take(ctx); err != nil {
		return nil, err
	}
	params, err := paramsOf(call.Payload, p.o.Param)
	if err != nil {
		return nil, err
	}
	receipts, err := p.flows.Submit(ctx, call.Tenant, []flow.Request{{Caller: p.o.Caller, Blueprint: p.o.Blueprint, Version: p.o.Version,
		Trigger: triggerOf(call.CommandID), Params: params, AnyParams: true, Env: p.o.Env, Priority: p.o.Priority}})
	if err == nil {
		err = receipts[0].Err
	}
	if err != nil {
		return nil, refuse(err)
	}
	what := fmt.Sprintf("flow %d", receipts[0].ID)
	ended, err := p.flows.Wait(ctx, call.Tenant, receipts[0].ID, nil)
	if errors.Is(err, domain.ErrNotFound) && receipts[0].Existing {
		return nil, effect.Refusedf("%s was made for this command and is no longer on the board; the archive may have it", what)
	}
	if err != nil {
		return nil, err
	}
	return answer{Flow: ended.ID, Status: string(ended.Status), Reason: string(ended.Reason), Error: ended.Error}.give(what, ended.Result)
}

// triggerOf is the trigger of the flow of a command: its id, or what is computed
// of it where it cannot be one.
func triggerOf(command string) string {
	if domain.ValidateTrigger(command) == nil {
		return command
	}
	sum := sha256.Sum256([]byte(command))
	return "command-" + hex.EncodeToString(sum[:16])
}
