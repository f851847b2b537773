package saga

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/saga/machine"
)

// machines are the definitions that are in use, compiled. A version never
// changes while there are instances of it, so one that was compiled stays good.
type machines struct {
	board board.Board
	store *definition.Store

	mu    sync.Mutex
	known map[versionOf]*compiled
}

type versionOf struct {
	tenant  domain.TenantID
	saga    string
	version int
}

type compiled struct {
	*machine.Machine
	def     *domain.SagaDefinition
	hash    string
	version int
}

// advance is the machine's, and turns a panic of the program's runtime into
// the error that it is for one instance.
func (c *compiled) advance(in *domain.SagaInstance, ev *domain.Event) (tr machine.Transition, err error) {
	defer caught(&err)
	return c.Advance(in, ev)
}

// replay is the same of a replay.
func (c *compiled) replay(in *domain.SagaInstance, ev *domain.Event, nowMs int64) (tr machine.Transition, err error) {
	defer caught(&err)
	return c.Replay(in, ev, nowMs)
}

func caught(err *error) {
	if p := recover(); p != nil {
		*err = domain.Invalidf("BUG: the program's runtime panics: %v\n%s", p, debug.Stack())
	}
}

// maxCompiled bounds what is kept: then all is forgotten, and what is needed
// compiled again.
const maxCompiled = 10_000

func newMachines(b board.Board, s *definition.Store) *machines {
	return &machines{board: b, store: s, known: map[versionOf]*compiled{}}
}

// newest is the number of the newest version.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (m *machines) newest(ctx context.Context, tenant domain.TenantID, saga string) (int, error) {
	recs, err := m.board.GetFields(ctx, layout.SpaceOf(tenant), []string{layout.VersionNumber}, layout.SagaDefKeys.Newest(saga))
	if err != nil {
		return 0, err
	}
	version, _ := strconv.Atoi(recs[0].Get(layout.VersionNumber))
	if version == 0 {
		return 0, domain.NotFoundf("there is no saga %q", saga)
	}
	return version, nil
}

// get is a version of a definition, compiled; version 0 is the newest.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable]; [domain.ErrInvalid]
// where it cannot be compiled any more.
func (m *machines) get(ctx context.Context, tenant domain.TenantID, saga string, version int) (*compiled, error) {
	return m.pinned(ctx, tenant, saga, version, "")
}

// pinned is a version with this content: a saga that was deleted and applied
// again has other ones under the same numbers.
func (m *machines) pinned(ctx context.Context, tenant domain.TenantID, saga string, version int, hash string) (*compiled, error) {
	if version != 0 {
		m.mu.Lock()
		c := m.known[versionOf{tenant, saga, version}]
		m.mu.Unlock()
		if c != nil && (hash == "" || hash == c.hash) {
			return c, nil
		}
	}
	s, err := m.store.Get(ctx, tenant, saga, version)
	if err != nil {
		return nil, err
	}
	at := versionOf{tenant, saga, s.Version}
	m.mu.Lock()
	c := m.known[at]
	m.mu.Unlock()
	if c != nil && c.hash == s.Hash {
		return c, nil
	}
	mach, err := machine.Compile(s.Definition)
	if err != nil {
		return nil, fmt.Errorf("saga %s, version %d: %w", saga, s.Version, err)
	}
	c = &compiled{mach, s.Definition, s.Hash, s.Version}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= maxCompiled {
		clear(m.known)
	}
	m.known[at] = c
	return c, nil
}
