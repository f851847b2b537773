package rhaiscript

import (
	"github.com/ramet-run/ramet/rhai/value"
	"github.com/ramet-run/ramet/script"
)

// This file holds the functions by which a script speaks with its job.

var (
	textParam = value.Param{Kinds: value.Of(value.StringKind)}
	anyParam  = value.Param{Kinds: value.AnyKind}
)

func functions(p *program) []*value.Native {
	return []*value.Native{
		{Name: "checkpoint", Volatile: true, Signature: "checkpoint() -> any",
			Doc:  "What an earlier attempt of this job has saved, () when nothing.",
			Call: func(c *value.Ctx, _ *value.Value, _ []value.Value) value.Value { return p.job.checkpoint(c) }},
		{Name: "set_checkpoint", Params: []value.Param{anyParam}, Volatile: true, Signature: "set_checkpoint(v: any)",
			Doc:  "Saves v, which must be representable as JSON, for the next attempt of this job.",
			Call: func(c *value.Ctx, v *value.Value, _ []value.Value) value.Value { return p.job.setCheckpoint(c, *v) }},
		{Name: "set_result", Params: []value.Param{textParam, anyParam}, Volatile: true, Signature: "set_result(key: string, v: any)",
			Doc: "Adds a key to the result of this job; what the script gives at its end goes before.",
			Call: func(c *value.Ctx, key *value.Value, args []value.Value) value.Value {
				return p.job.setResult(c, key.AsString(), args[0])
			}},
		{Name: "log", Params: []value.Param{textParam, anyParam}, Volatile: true, Signature: "log(level: string, v: any)",
			Doc: "Writes a line to the log of this job; level is debug, info, warn or error.",
			Call: func(c *value.Ctx, level *value.Value, args []value.Value) value.Value {
				text, ok := c.Display(args[0])
				if !ok {
					return value.Value{}
				}
				return p.job.log(c, level.AsString(), text)
			}},
		{Name: "secret", Params: []value.Param{textParam}, Volatile: true, Signature: "secret(name: string) -> string",
			Doc: "A secret that this job names, by the variable in which other scripts find it.",
			Call: func(c *value.Ctx, name *value.Value, _ []value.Value) value.Value {
				return p.job.secret(c, name.AsString())
			}},
	}
}

func (j *job) secret(c *value.Ctx, name string) value.Value {
	if text, ok := j.task.Secrets[name]; ok {
		return value.Str(text)
	}
	return c.Throw("secret: this job names no secret %s; write it under its secrets", name)
}

func (j *job) checkpoint(c *value.Ctx) value.Value {
	if j.task.Checkpoint == nil {
		return value.Unit
	}
	s := j.task.Checkpoint.Load()
	if s == "" {
		return value.Unit
	}
	v, err := value.ReadJSON(s)
	if err != nil {
		return value.Str(s) // somebody else has written it
	}
	return v
}

func (j *job) setCheckpoint(c *value.Ctx, v value.Value) value.Value {
	if j.task.Checkpoint == nil {
		return value.Unit
	}
	s, err := jsonOf(v, 2*script.MaxCheckpointBytes)
	if err == nil {
		err = j.task.Checkpoint.Save(s)
	}
	if err != nil {
		return c.Throw("set_checkpoint: %v", err)
	}
	return value.Unit
}

func (j *job) setResult(c *value.Ctx, key string, v value.Value) value.Value {
	s, err := text(v)
	if err == nil {
		err = script.CheckResult(map[string]string{key: s})
	}
	if err != nil {
		return c.Throw("set_result: %v", err)
	}
	// Nobody else bounds what is held here.
	old, known := j.result[key]
	j.bytes += len(key) + len(s) - len(old)
	if known {
		j.bytes -= len(key)
	} else if len(j.result) >= script.MaxResultKeys {
		return c.Throw("set_result: more than %d keys", script.MaxResultKeys)
	}
	if j.bytes > script.MaxResultBytes {
		return c.Throw("set_result: more than %d bytes", script.MaxResultBytes)
	}
	j.result[key] = s
	return value.Unit
}

func (j *job) log(c *value.Ctx, level, text string) value.Value {
	switch level {
	case "info":
		j.write(script.KeyStdout, text)
	case "debug", "warn", "error":
		j.write(script.KeyStderr, level+": "+text)
	default:
		return c.Throw("log: level %q: want debug, info, warn or error", level)
	}
	return value.Unit
}
