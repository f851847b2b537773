package main

import (
	"context"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/door/console"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/webhook"
)

// openDoor makes the operator where there is none, and the door.
func (p *parts) openDoor(ctx context.Context, dataDir string, cfg config) error {
	if err := http.CheckMetricsToken(cfg.MetricsTokenFile); err != nil {
		return err
	}
	op, err := p.registry.EnsureOperator(ctx, dataDir)
	if err != nil {
		return err
	}
	if op.Made {
		p.log.Info("operator made: actor 1, admin of context 1", "key", op.KeyFile)
	}
	p.node.Metrics.Built(version)
	p.node.Metrics.CountDenials(p.access.Denials)
	p.node.Metrics.CountAuditDropped(p.audit.Dropped)
	p.node.Metrics.CountDoors(p.budget.Used, p.budget.Refusals)
	began, durability := time.Now(), func() string { return string(p.board.Durability()) }
	parts := service.Parts{
		Durability: durability,
		Jobs:       p.node.Work, Flows: p.node.Flows, Schedules: p.node.Schedules, Directory: p.registry, Records: p.board, Keys: p.board,
		Blueprints: blueprint.NewStore(precondition.Over(p.board)), Logger: p.log,
		Access: p.access, Tokens: p.tokens, Audit: p.audit, Bans: ban.New(precondition.Over(p.board)), Duties: clockwork.DutyRulesOn(precondition.Over(p.board)),
		Writable: p.writable, Intake: p.disk.Intake,
		Routines: p.node.Routines, Circles: p.node.Circles, Bulks: p.node.Bulks,
		Info: func() api.Info {
			info := api.Info{Name: p.node.Name(), Version: version, RunnerID: p.node.RunnerID(), Board: p.kind,
				Durability: durability(), Archive: p.archived, Ready: p.node.Ready(), Off: p.node.Duties.Off(), StartedMs: began.UnixMilli()}
			info.Locked, info.Links = p.secrecy.LockedOut(), links(p.buses)
			p.sagasInfo(&info)
			return info
		},
		Drain: p.drain, Tracer: p.tracer,
	}
	parts.Encryption, parts.Secrets, parts.Evictions = p.secrecy, p.vault, p.evictions
	parts.Settings, parts.Certificates, parts.Sizes = p.settings, p.certificates, p.sizes
	p.starters(cfg, &parts)
	if p.archive != nil {
		parts.Archive = p.archive
	}
	parts.Board = boardCheck(p.board, p.node.Name())
	if p.streams != nil {
		parts.Streams = func(ctx context.Context) error { return p.streams.Check(ctx) }
	}
	if p.node.Post != nil {
		parts.Post = p.node.Post
	}
	parts.NoStreams, parts.Reload, parts.LogLevel, parts.Backup = p.noStreams, p.reload, p.options.level, p.backup
	if p.node.Sagas != nil {
		parts.Sagas = p.node.Sagas
	}
	parts.SagasUnserved = p.sagasUnserved
	if p.node.Effects != nil {
		parts.Effects = p.node.Effects
	}
	a := service.New(parts)
	p.operations = a
	var pages http.Console
	if p.options.serve {
		cfg := console.Config{Node: p.node.Name(), Tokens: p.tokens, Address: func() string { return p.address }, Changes: a.Changes, Logger: p.log,
			Audit: p.audit, Now: p.board.Now}
		if p.options.dev != nil {
			cfg.Faults, cfg.Sessions = faults{p}, p.options.dev.sessions
		}
		p.pages = console.New(cfg)
		pages = p.pages
	}
	p.door = http.New(a, http.Config{Console: pages, Node: p.node.Name(), Tokens: p.tokens, MetricsToken: cfg.MetricsTokenFile, Origins: cfg.Doors.Origins,
		Cookie: p.cookie, Budget: p.budget, Metrics: p.node.Metrics.Handler(), Answered: p.node.Metrics.HTTPAnswered, Tracer: p.tracer,
		Logger: p.log, Audit: p.audit})
	return nil
}

// writable returns an error while the node takes nothing in.
//
// It is a [domain.ErrUnavailable].
func (p *parts) writable() error {
	if p.node.Duties.Has(domain.RoleGateway) {
		return nil
	}
	return domain.Unavailablef("this node has lost the duty of a gateway and takes nothing in; ask another, or see `ramet duty show`")
}

// starters are what starts flows for programs outside: webhooks, and listeners.
func (p *parts) starters(cfg config, parts *service.Parts) {
	if p.node.Listeners != nil {
		parts.Listeners = p.node.Listeners
	}
	hooks := webhook.New(precondition.Over(p.board), p.vault, p.log)
	hooks.Observe(p.metrics)
	p.services = append(p.services, hooks.Run)
	parts.Webhooks, parts.PublicURL = hooks, strings.TrimSuffix(cfg.PublicURL, "/")
	p.metrics.ExpectDeliveries(webhook.Outcomes...)
	parts.ListenersUnserved = func(ctx context.Context, t domain.TenantID) ([]domain.Finding, error) {
		if p.node.ReadsEvents() { // it may not have said so on the board yet
			return nil, nil
		}
		return listener.Unserved(ctx, p.board, p.registry, t)
	}
	parts.NoHTTP = p.options.serve && p.options.listen == cli.ListenNone
}
