package clockwork

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

const (
	// dutyEvery is the pause between looks at the rules, the net below the watch.
	dutyEvery = 30 * time.Second
	// dutyAgain is the pause after the board could not be asked.
	dutyAgain = time.Second
)

// Duties knows which roles this node has: all, but for those that the board's
// rules take from it, and those that it gave up itself. It is safe for concurrent use.
type Duties struct {
	board         board.Board
	log           *slog.Logger
	host, version string

	mu      sync.RWMutex
	off     []domain.Off
	given   []domain.Off  // of off, those that the node gave up itself
	changed chan struct{} // closed when off changes
}

// NewDuties returns the duties of a node on that host, of that version. It has
// all; Load and Run follow the rules.
func NewDuties(b board.Board, host, version string, log *slog.Logger) *Duties {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Duties{board: b, log: log, host: host, version: version, changed: make(chan struct{})}
}

// Has reports whether the node has a role.
func (d *Duties) Has(role domain.Role) bool {
	has, _ := d.May(role)
	return has
}

// May reports whether the node has a role, and returns a channel that is
// closed when its roles change.
func (d *Duties) May(role domain.Role) (has bool, changed <-chan struct{}) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return !slices.ContainsFunc(d.off, func(o domain.Off) bool { return o.Role == role }), d.changed
}

// Off lists the roles that the node has lost.
func (d *Duties) Off() []domain.Off {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Clone(d.off)
}

// Changed is closed when the node's roles change after this call.
func (d *Duties) Changed() <-chan struct{} {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.changed
}

// Load reads the rules: a node does it before it begins anything.
func (d *Duties) Load(ctx context.Context) error {
	rules, err := DutyRulesOn(d.board).Rules(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	off := slices.Clone(d.given)
	for _, o := range rolesOff(rules, d.host, d.version) {
		if !slices.ContainsFunc(off, func(g domain.Off) bool { return g.Role == o.Role }) {
			off = append(off, o)
		}
	}
	if slices.Equal(off, d.off) {
		return nil
	}
	for _, o := range off[len(d.given):] {
		d.log.Info("a rule takes a role from this node", "role", string(o.Role), "rule", o.Rule, "why", o.Why)
	}
	if len(off) == 0 {
		d.log.Info("the node has all its roles again")
	}
	d.set(off)
	return nil
}

func (d *Duties) set(off []domain.Off) {
	d.off = off
	close(d.changed)
	d.changed = make(chan struct{})
}

// GiveUp takes roles from this node until it ends, whatever the rules say: it cannot play them,
// and others may.
func (d *Duties) GiveUp(why string, roles ...domain.Role) {
	d.mu.Lock()
	defer d.mu.Unlock()
	given := len(d.given)
	for _, role := range roles {
		if !slices.ContainsFunc(d.given, func(o domain.Off) bool { return o.Role == role }) {
			d.given = append(d.given, domain.Off{Role: role, Why: why})
		}
	}
	if len(d.given) == given {
		return
	}
	d.log.Error("the node leaves to others what it cannot do any more, until it is started anew", "roles", roles, "why", why)
	rest := slices.DeleteFunc(slices.Clone(d.off), func(o domain.Off) bool {
		return slices.ContainsFunc(d.given, func(g domain.Off) bool { return g.Role == o.Role })
	})
	d.set(slices.Concat(d.given, rest))
}

// Run follows the rules until ctx ends.
func (d *Duties) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := d.follow(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("rules of duty not read; those known before stay", "err", err)
			pause.For(ctx, dutyAgain)
		}
	}
	return nil
}

func (d *Duties) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := d.board.Watch(ctx, 0, layout.Duty)
	if err != nil {
		return err
	}
	look := time.NewTicker(dutyEvery)
	defer look.Stop()
	for {
		if err := d.Load(ctx); err != nil {
			return err
		}
		select {
		case _, open := <-events:
			if !open {
				return nil
			}
		case <-look.C:
		}
	}
}

// DutyRules are the rules of one board, as people set them.
type DutyRules struct{ board board.Board }

// DutyRulesOn returns the rules of b.
func DutyRulesOn(b board.Board) DutyRules { return DutyRules{b} }

// Rules reads the rules. Those that cannot be read take nothing from anybody:
// better too many workers than none.
func (d DutyRules) Rules(ctx context.Context) (domain.Duties, error) {
	recs, err := d.board.Get(ctx, 0, layout.Duty)
	if err != nil || recs[0] == nil {
		return domain.Duties{}, err
	}
	var rules domain.Duties
	if err := json.Unmarshal([]byte(recs[0].Get(layout.DutyRules)), &rules); err != nil || checkDuties(rules) != nil {
		return domain.Duties{}, nil
	}
	return rules, nil
}

// SetRules puts rules in place of those before; none takes them away.
//
// Errors: [domain.ErrInvalid].
func (d DutyRules) SetRules(ctx context.Context, rules domain.Duties) error {
	if err := checkDuties(rules); err != nil {
		return err
	}
	var batch board.Batch
	if len(rules.Rules) == 0 {
		return d.board.Commit(ctx, *batch.Delete(layout.Duty))
	}
	text, err := json.Marshal(rules)
	if err != nil {
		return err
	}
	return d.board.Commit(ctx, *batch.Set(layout.Duty, board.Field{Name: layout.DutyRules, Value: string(text)}))
}
