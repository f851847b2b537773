//go:build unix && !linux

package pythonscript

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
)

// pooled tells whether this system can have a pool: its jobs are held in by what
// only Linux has.
const pooled = false

// pool is none.
type pool struct{}

// ending is how a job ended.
type ending struct {
	exit    script.Exit
	unknown bool
}

func newPool(bool, Config, *jail.Lazy, func(context.Context) (Interpreter, error)) *pool { return nil }

func (p *pool) run(context.Context, script.Task, string, *script.Capture) (end ending, stopped error, err error) {
	return end, nil, domain.Unavailablef("there is no pool on this system")
}

func (p *pool) reuse(context.Context, script.Task, string, script.Host) (outcome script.Outcome, ran bool, err error) {
	return outcome, false, nil
}

func (p *pool) close() {}
