package main

import (
	"context"
	"os"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect/effectscript"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/object"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/pythonscript"
)

// This file opens what scripts are run with beside the rest of a node: to look what
// walls can be had, and which interpreters there are, is mostly waiting for
// processes, as to open the board, the archive and the streams is for the disk.
// What is refused is refused in the old order: first for the board, then the
// archive, the jail and the runtimes, and then for what comes after them.

// openBeside runs open beside what its caller does meanwhile. wait waits for its end,
// after which what it has put into p can be read.
func (p *parts) openBeside(open func() error) (wait func() error) {
	var err error
	done := make(chan struct{})
	p.beside.Go(func() {
		defer close(done)
		err = open()
	})
	return func() error {
		<-done
		return err
	}
}

// openJail opens the jail of all runtimes, where the node runs jobs. It is for who has
// the lock of the data folder: that is what scripts must not see.
func (p *parts) openJail(cfg config, o options) (wait func() error) {
	if !o.run {
		return func() error { return nil }
	}
	p.hidden.Add(o.secretFiles(cfg)...)
	return p.openBeside(func() (err error) {
		p.jail, err = jail.Open(jail.Config{Hide: []string{o.dataDir}, Secrets: p.hidden, Level: cfg.Isolation, See: seen(cfg.Walls.See), Write: cfg.Walls.Write,
			User: cfg.Walls.User, Group: cfg.Walls.Group})
		return err
	})
}

// seen are what walled scripts may read besides the system: the program itself, too, whose
// commands they call for what they remember.
func seen(see []string) []string {
	path, err := os.Executable()
	if err != nil {
		return see
	}
	return append(slices.Clone(see), path)
}

// findPython finds the interpreter of Python, where the node runs such jobs: one that
// is a script looking for another takes as long as all else here.
func (p *parts) findPython(ctx context.Context, c config, o options) (found func() (pythonscript.Interpreter, error)) {
	rc := c.Runtimes[domain.ScriptPython]
	if !o.run || rc.Off || len(rc.Command) > 0 {
		return nil
	}
	var python pythonscript.Interpreter
	wait := p.openBeside(func() (err error) {
		python, err = pythonscript.Find(ctx, rc.Interpreter)
		return err
	})
	return func() (pythonscript.Interpreter, error) {
		err := wait()
		return python, err
	}
}

// openRuntimes opens the runtimes in the jail, and has them inspected. It is for who
// has opened the board.
func (p *parts) openRuntimes(ctx context.Context, cfg config, jailed func() error) (opened, inspected func() error) {
	objects := object.New(p.board, p.access)
	opened = p.openBeside(func() (err error) {
		if err = jailed(); err != nil || p.jail == nil {
			return err
		}
		cfg.Hide, cfg.HideToo = []string{p.options.dataDir}, p.hidden
		p.runtimes, err = openRuntimes(cfg, p.jail, objects)
		p.steps = effectscript.New(p.registry.TenantName)
		p.runtimes = append(p.runtimes, p.steps)
		return err
	})
	inspected = p.openBeside(func() error {
		if err := opened(); err != nil {
			return err
		}
		p.inspected = node.Inspect(ctx, p.runtimes, cfg.Slots, p.log)
		return nil
	})
	return opened, inspected
}
