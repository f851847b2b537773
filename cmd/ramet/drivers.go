package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/processscript"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/script/salscript"
	"github.com/ramet-run/ramet/sdk"
)

// This file lists every driver by hand. Those that a program can be built without
// stand in files of their own; see optional.go.

// openBoard opens the board that the options' URL names; "" is the embedded one in
// the data folder.
func openBoard(ctx context.Context, o options) (board.Board, error) {
	url, log := o.boardURL, o.log
	scheme, _, _ := strings.Cut(url, ":")
	switch scheme {
	case "", "pebble":
		b, err := pebbleboard.Open(filepath.Join(o.dataDir, boardFolder), pebbleboard.Config{Logger: log, Fatal: boardFailed, AcceptLoss: o.acceptLoss,
			Outside: domain.OutsideOwner, OutsideFor: domain.DefaultLease})
		if err != nil {
			return nil, err // not b: a nil *Board is no nil board.Board
		}
		return b, nil
	case "redis", "rediss", "valkey", "valkeys", "unix":
		b, err := redisboard.Open(ctx, url, redisboard.Config{Logger: log, MayLose: o.mayLose})
		if err != nil {
			return nil, err
		}
		for _, ask := range []func(context.Context) ([]string, error){b.Settings, b.Evictions} {
			texts, _ := ask(ctx) // a server that has gone meanwhile is told of by whoever needs it
			for _, text := range texts {
				log.Warn(text)
			}
		}
		return b, nil
	case "etcd", "etcds":
		return openEtcd(ctx, o)
	case "mem":
		log.Warn("the board is in memory: everything is gone when this process ends")
		return memboard.Open(), nil
	}
	return nil, noBoard(url)
}

// noBoard says of a URL that it is none of a board.
func noBoard(url string) error {
	return domain.Invalidf("board %q: want nothing (embedded), redis://host:port, rediss://, unix:///path, etcd://host:port,…, "+
		"etcds:// or mem:", domain.HideURL(url))
}

// boardFailed ends the process when the embedded board can no longer be
// written: a node that only refuses must not look alive. Nothing acknowledged
// is lost, and running jobs go on from the queue at the next start.
func boardFailed(err error) {
	fmt.Fprintln(os.Stderr, "ramet:", err)
	os.Exit(api.FailureNamed("unavailable").Exit)
}

// boardKind names the kind of board that a URL opens, for people.
func boardKind(url string) string {
	scheme, _, _ := strings.Cut(url, ":")
	switch scheme {
	case "", "pebble":
		return "embedded"
	case "mem":
		return "memory"
	case "etcd", "etcds":
		return "etcd"
	}
	return "redis"
}

// builtin are the runtimes that need no configuration.
var builtin = map[domain.ScriptType]runtimeConfig{
	domain.ScriptShell:  {},
	domain.ScriptPython: {},
	domain.ScriptV:      {Command: []string{"v", "run", processscript.Placeholder}, Suffix: ".v", Version: []string{"v", "version"}},
	domain.ScriptRhai:   {},
	domain.ScriptOSIS:   {},
	domain.ScriptSAL:    {},
	domain.ScriptNode:   {Command: []string{"node", processscript.Placeholder}, Suffix: ".mjs", Version: []string{"node", "--version"}},
}

// openRuntimes makes the runtimes, built in and configured, whose processes j
// holds in. Scripts of type osis reach objects.
func openRuntimes(c config, j *jail.Jail, objects rhaiscript.Objects) ([]script.Runtime, error) {
	all := maps.Clone(builtin)
	for t, rc := range c.Runtimes {
		all[t] = rc.of(builtin[t])
	}
	var list []script.Runtime
	for _, t := range slices.Sorted(maps.Keys(all)) {
		if all[t].Off {
			continue
		}
		rt, err := openRuntime(t, all[t], c, j, objects)
		if err != nil {
			return nil, err
		}
		list = append(list, rt)
	}
	return list, nil
}

// of fills in how scripts are run from what is built in, where a block of the
// config file says only what else is to be so.
func (rc runtimeConfig) of(builtin runtimeConfig) runtimeConfig {
	if len(rc.Command) == 0 {
		rc.Command = builtin.Command
		rc.Suffix = cmp.Or(rc.Suffix, builtin.Suffix)
	}
	if slices.Equal(rc.Command, builtin.Command) && len(rc.Version) == 0 {
		rc.Version = builtin.Version
	}
	return rc
}

func openRuntime(t domain.ScriptType, rc runtimeConfig, c config, j *jail.Jail, objects rhaiscript.Objects) (script.Runtime, error) {
	_, asked := c.Runtimes[t]
	process := processscript.Config{Type: t, Unasked: !asked, Command: rc.Command, Suffix: rc.Suffix, Version: rc.Version, Env: rc.Env,
		Limits: c.Limits.limits(), Jail: j, Level: rc.Isolation, See: rc.See}
	switch {
	case t == domain.ScriptPython && len(rc.Command) == 0:
		plain := rc.Fork != nil && !*rc.Fork
		return pythonscript.New(pythonscript.Config{Interpreter: rc.Interpreter, Found: c.Python, Plain: plain, Reuse: rc.Reuse, Env: rc.Env,
			Limits: c.Limits.limits(), Jail: j, Level: rc.Isolation, See: rc.See})
	case t == domain.ScriptShell && len(rc.Command) == 0:
		return processscript.Shell(process), nil
	case t == domain.ScriptNode:
		process.Library = script.Library{Files: map[string]string{"node_modules/ramet/index.js": sdk.JavaScript,
			"node_modules/ramet/package.json": `{"name": "ramet", "type": "module", "exports": "./index.js"}`}}
		return processscript.New(process)
	case t == domain.ScriptRhai && len(rc.Command) == 0:
		return rhaiscript.New(rhaiscript.Config{}), nil
	case t == domain.ScriptOSIS && len(rc.Command) == 0:
		return rhaiscript.New(rhaiscript.Config{Objects: objects}), nil
	case t == domain.ScriptSAL && len(rc.Command) == 0:
		return salscript.New(salscript.Config{On: rc.On, Tools: rc.Tools, Write: rc.Write, Hide: c.Hide, Secrets: c.HideToo, Env: rc.Env,
			Limits: c.Limits.limits(), Jail: j,
			Level: rc.Isolation, See: rc.See}), nil
	}
	return processscript.New(process)
}
