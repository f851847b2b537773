package post

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/tracing"
	"github.com/ramet-run/ramet/work"
)

// Config says with what messages are sent.
type Config struct {
	// Keys are those that this node may sign with. Required.
	Keys *identity.Keyring
	// Registry and Access know actors, contexts and rights. Required.
	Registry *identity.Registry
	Access   *identity.Access
	// Work and Flows run what messages ask for. Required.
	Work  *work.Engine
	Flows *flow.Engine
	// Buses carry parcels to other sites; none: messages stay on this board.
	Buses []bus.Bus
	// Lease is how long a message may be in one supervisor's hands. Default:
	// [domain.DefaultLease].
	Lease time.Duration
	// Retention is how long ended messages stay on the board. Default: 24h.
	Retention time.Duration
	// PushMin and PushMax bound the back-off between pushes of a parcel whose
	// receipt does not come. Default: 1s, 1min.
	PushMin, PushMax time.Duration
	// Observer counts. Default: nobody.
	Observer Observer
	// Tracer takes the jobs that come in messages and belong to a trace. Default: nobody.
	Tracer *tracing.Tracer
	// Refused is told of every message and parcel that is not taken, for the
	// audit log. Default: nobody.
	Refused func(Refusal)
	// Room returns an error while no messages of other sites are to be taken in, but for
	// the answers to what was sent from here. Default: they always are.
	Room func() error
	// Logger takes what a person running it should know. Default: none.
	Logger *slog.Logger
}

// Observer counts what happens to messages. Its methods do not block.
type Observer interface {
	MessageSent(domain.MessageType)
	MessageReceived(domain.MessageType)
	MessageRefused(cause string)
	// MessageEnded is told how long the message took; 0 is that nobody knows.
	MessageEnded(t domain.MessageType, s domain.MessageStatus, took time.Duration)
}

// nobody observes nothing.
type nobody struct{}

func (nobody) MessageSent(domain.MessageType)                                       {}
func (nobody) MessageReceived(domain.MessageType)                                   {}
func (nobody) MessageRefused(string)                                                {}
func (nobody) MessageEnded(domain.MessageType, domain.MessageStatus, time.Duration) {}

// Engine sends and receives the messages of one board. It is safe for
// concurrent use.
type Engine struct {
	board board.Board
	cfg   Config
	log   *slog.Logger
	buses map[string]bus.Bus // by scheme
	sites *sites
	local *inflow // what stays on this board
	// signatures are those that this engine has made or checked.
	signatures *identity.Signatures
}

// New returns an engine on b.
func New(b board.Board, cfg Config) *Engine {
	cfg.Lease = cmp.Or(cfg.Lease, domain.DefaultLease)
	cfg.Retention = cmp.Or(cfg.Retention, 24*time.Hour)
	cfg.PushMin = cmp.Or(cfg.PushMin, time.Second)
	cfg.PushMax = cmp.Or(cfg.PushMax, time.Minute)
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	if cfg.Refused == nil {
		cfg.Refused = func(Refusal) {}
	}
	if cfg.Room == nil {
		cfg.Room = func() error { return nil }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{board: b, cfg: cfg, log: cfg.Logger, buses: map[string]bus.Bus{}, signatures: &identity.Signatures{}}
	for _, a := range cfg.Buses {
		e.buses[a.Scheme()] = a
	}
	e.sites = newSites(b, cfg.Keys.Node.Pubkey())
	e.local = &inflow{e: e}
	return e
}

// Node is this node's public key.
func (e *Engine) Node() string { return e.cfg.Keys.Node.Pubkey() }

// Addresses are where this node can be reached.
func (e *Engine) Addresses() []domain.Address {
	list := make([]domain.Address, 0, len(e.cfg.Buses))
	for _, b := range e.cfg.Buses {
		list = append(list, b.Self())
	}
	return list
}

// space is a context's.
func space(t domain.TenantID) board.Space { return layout.SpaceOf(t) }

// signedLine are the fields of a message by which it is known whether somebody's
// word is about it: all but those that may be large.
var signedLine = append([]string{layout.MessageSignature}, layout.MessageLine...)

// loadLine is load without text, jobs and logs.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) loadLine(ctx context.Context, s board.Space, key domain.MessageKey) (*domain.Message, board.Record, error) {
	recs, err := e.board.GetFields(ctx, s, signedLine, key.String())
	return loaded(s, key, recs, err)
}

// load reads a message as far as it can be read, with its record.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) load(ctx context.Context, s board.Space, key domain.MessageKey) (*domain.Message, board.Record, error) {
	recs, err := e.board.Get(ctx, s, key.String())
	return loaded(s, key, recs, err)
}

func loaded(s board.Space, key domain.MessageKey, recs []board.Record, err error) (*domain.Message, board.Record, error) {
	if err != nil {
		return nil, nil, err
	}
	if recs[0] == nil {
		return nil, nil, domain.NotFoundf("message %q does not exist in context %d", key, s)
	}
	m, _ := layout.DecodeMessage(key, recs[0])
	m.ContextID = domain.TenantID(s)
	return m, recs[0], nil
}
