package jobeffect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/internal/intake"
)

const (
	// keep is how long it is remembered which job was made for a command: as
	// long as the mark of the command itself.
	keep = 7 * 24 * time.Hour
	// commandEnv is the environment variable that tells a script for which
	// command it runs.
	commandEnv = "EFFECT_COMMAND_ID"
)

// Jobs is what the kind needs of the job engine.
type Jobs interface {
	SubmitOnce(ctx context.Context, tenant domain.TenantID, ticket string, keep time.Duration, j *domain.Job) (key domain.JobKey, existing bool, err error)
	Wait(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error)
	// CheckFlowJob says whether a job would be taken.
	CheckFlowJob(ctx context.Context, tenant domain.TenantID, j *domain.Job) error
	// RegisterTypes has jobs of a context be of types that no node serves.
	RegisterTypes(ctx context.Context, tenant domain.TenantID, types []domain.ScriptType) error
}

// jobOptions are those of the kind job.
type jobOptions struct {
	ScriptType domain.ScriptType `yaml:"script_type"`
	// Script is what is run. With ScriptFromPayload the payload has it instead,
	// as {"script": "…", "params": {…}}: whoever may send commands then runs
	// what he likes.
	Script            string `yaml:"script"`
	ScriptFromPayload bool   `yaml:"script_from_payload"`
	// Param is the name of a param that gets the whole payload as JSON. Default:
	// each field of the payload is a param.
	Param string `yaml:"param"`
	// Caller is the actor whose job it is. Default: the operator.
	Caller domain.ActorID `yaml:"caller"`
	// JobTimeout bounds one run, Retries is how often one that failed is run
	// again. Defaults: the node's, 0.
	JobTimeout time.Duration     `yaml:"job_timeout"`
	Retries    uint8             `yaml:"retries"`
	Priority   int               `yaml:"priority"`
	Env        map[string]string `yaml:"env"`
	Affinity   map[string]string `yaml:"affinity"`
}

// OpenJob opens effects of the kind job.
func OpenJob(jobs Jobs) effect.Open {
	return func(def effect.Definition, _ effect.Host) (effect.Provider, error) {
		p := &job{jobs: jobs, name: def.Name, o: jobOptions{Caller: domain.Operator}}
		if err := def.Decode(&p.o); err != nil {
			return nil, err
		}
		switch {
		case p.o.ScriptType == "":
			return nil, def.Errorf("script_type", "is missing: want the language of the script, such as python")
		case p.o.ScriptFromPayload == (p.o.Script != ""):
			return nil, def.Errorf("script", "and script_from_payload: want one of them")
		case p.o.ScriptFromPayload && p.o.Param != "":
			return nil, def.Errorf("param", "cannot be given with script_from_payload, whose payload has params")
		case p.o.JobTimeout < 0 || p.o.JobTimeout%time.Second != 0 || p.o.JobTimeout > domain.MaxTimeout*time.Second:
			return nil, def.Errorf("job_timeout", "is %s: want whole seconds, up to 30 days", p.o.JobTimeout)
		}
		if err := cmp.Or(checkParam(def, p.o.Param), checkEnv(def, p.o.Env)); err != nil {
			return nil, err
		}
		if err := p.job(cmp.Or(p.o.Script, "x"), nil, "x").Validate(); err != nil {
			return nil, def.Errorf("options:", "%v", err)
		}
		return p, nil
	}
}

// job does the effects of one definition.
type job struct {
	open
	jobs Jobs
	name string
	o    jobOptions
}

var _ effect.Provider = (*job)(nil)

// Target implements [effect.Provider]. Effects that run one script type share
// its runners.
func (p *job) Target() string { return "job " + string(p.o.ScriptType) }

// Check implements [effect.Provider]: is there a runtime for the script,
// or a worker of the context that serves its type?
func (p *job) Check(ctx context.Context, tenant domain.TenantID) error {
	if err := p.take(ctx); err != nil {
		return err
	}
	j := p.job(cmp.Or(p.o.Script, "x"), nil, "x")
	j.ID = 1
	return p.jobs.CheckFlowJob(ctx, tenant, j)
}

// Do implements [effect.Provider].
func (p *job) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	if err := p.take(ctx); err != nil {
		return nil, err
	}
	script, params, err := p.asked(call.Payload)
	if err != nil {
		return nil, err
	}
	// The operator has named the type, so that it is not misspelt by who asks: where its worker has yet to come, the job waits.
	if err := p.jobs.RegisterTypes(ctx, call.Tenant, []domain.ScriptType{p.o.ScriptType}); err != nil {
		return nil, refuse(err)
	}
	j := p.job(script, params, call.CommandID)
	j.TraceID = call.Metadata[domain.MetaTrace]
	key, existing, err := p.jobs.SubmitOnce(ctx, call.Tenant, "effect:"+p.name+":"+call.CommandID, keep, j)
	if err != nil {
		return nil, refuse(err)
	}
	ended, err := p.jobs.Wait(ctx, call.Tenant, key)
	if errors.Is(err, domain.ErrNotFound) && existing {
		return nil, effect.Refusedf("%s was made for this command and is no longer on the board; the archive may have it", key)
	}
	if err != nil {
		return nil, err
	}
	return answer{Job: key.String(), Status: string(ended.Status), Reason: string(ended.Reason), Error: ended.Error, ExitCode: ended.ExitCode}.
		give(key.String(), ended.Result)
}

// asked is the script to run, and its params.
//
// Errors: a *[effect.Refused].
func (p *job) asked(payload json.RawMessage) (script string, params map[string]string, err error) {
	if !p.o.ScriptFromPayload {
		params, err = paramsOf(payload, p.o.Param)
		return p.o.Script, params, err
	}
	var in struct {
		Script string          `json:"script"`
		Params json.RawMessage `json:"params"`
	}
	if err := intake.Read(payload, &in, intake.Limits{}); err != nil || in.Script == "" {
		return "", nil, effect.Refusedf(`payload: want {"script": "…", "params": {…}}`)
	}
	params, err = paramsOf(in.Params, "")
	return in.Script, params, err
}

// job is one for a command.
func (p *job) job(script string, params map[string]string, command string) *domain.Job {
	env := map[string]string{commandEnv: command}
	maps.Copy(env, p.o.Env)
	return &domain.Job{CallerID: p.o.Caller, Script: script, ScriptType: p.o.ScriptType, Timeout: uint32(p.o.JobTimeout / time.Second),
		Retries: p.o.Retries, Priority: p.o.Priority, Affinity: p.o.Affinity, EnvVars: env, Params: params,
		Origin: "effect:" + p.name}
}
