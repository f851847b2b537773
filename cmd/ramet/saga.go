package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/node"
	"github.com/ramet-run/ramet/saga"
)

// sagasConfig are the fields of the config file about sagas.
type sagasConfig struct {
	Off        bool          `yaml:"off"`
	EffectsOff bool          `yaml:"effects_off"`
	Tenants    []string      `yaml:"tenants"`
	Names      []string      `yaml:"names"`
	Partitions []int         `yaml:"partitions"`
	Lease      time.Duration `yaml:"lease"`
	Gateway    gatewayConfig `yaml:"gateway"`
}

// gatewayConfig is where commands go.
type gatewayConfig struct {
	URL         string                 `yaml:"url"`
	Headers     map[string]effect.Text `yaml:"headers"`
	Timeout     time.Duration          `yaml:"timeout"`
	MaxInFlight int                    `yaml:"max_in_flight"`
}

func (c *sagasConfig) check() error {
	for _, p := range c.Partitions {
		if p < 0 || p >= domain.MaxSagaPartitions {
			return domain.Invalidf("sagas.partitions has %d, want 0 to %d", p, domain.MaxSagaPartitions-1)
		}
	}
	if c.Gateway.URL == "" {
		return nil
	}
	u, err := url.Parse(c.Gateway.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return domain.Invalidf("sagas.gateway.url: want the http:// or https:// address that takes commands")
	}
	return nil
}

func (c *sagasConfig) placement() saga.Placement {
	return saga.Placement{Tenants: slices.Clone(c.Tenants), Sagas: slices.Clone(c.Names), Partitions: slices.Clone(c.Partitions)}
}

// header reads the headers anew for each command: their secrets may change.
func (c *gatewayConfig) header(secrets *effect.Secrets) func(ctx context.Context) (map[string]string, error) {
	if len(c.Headers) == 0 {
		return nil
	}
	return func(ctx context.Context) (map[string]string, error) {
		all := make(map[string]string, len(c.Headers))
		for name, text := range c.Headers {
			v, err := text.Read(ctx, secrets)
			if err != nil {
				return nil, err
			}
			all[name] = v
		}
		return all, nil
	}
}

// sagas is what a node has of its config file about sagas and effects, as it is
// now.
type sagas struct {
	file      string
	began     config // what the file said when the node began
	placement atomic.Pointer[saga.Placement]
	secrets   *effect.Secrets // of the gateway
	kinds     map[domain.EffectKind]effect.Open
	samples   []effect.Definition // beside those of the file, on a node for development
	log       *slog.Logger
}

// sagasUnserved finds the sagas of a context that no node of this board serves.
func (p *parts) sagasUnserved(ctx context.Context, t domain.TenantID) ([]domain.Finding, error) {
	return saga.Unserved(ctx, p.board, p.registry, t)
}

// openStreams opens the streams that sagas live on. A node with a board of its
// own has streams of its own; nodes that share a board must share streams too,
// and be told which.
func (p *parts) openStreams(ctx context.Context, cfg config, o options) (err error) {
	text := o.streamURL
	switch {
	case !o.serve:
		p.noStreams = "this is no node that stays: start one with `ramet serve`"
		return nil
	case text == "" && p.kind == "embedded" && withNATS:
		text = "nats:"
	case text == "" && p.kind == "embedded":
		p.noStreams = "this ramet was built without NATS, on which they lie (build tag no_nats): take a full one"
		return nil
	case text == "":
		p.noStreams = "the board is shared, and no streams are: start all its nodes with --stream nats://…"
		return nil
	case text == "off":
		p.noStreams = "this node was started with --stream off"
		return nil
	}
	var known []domain.StreamName
	if !o.acceptLoss {
		if known, err = saga.KnownStreams(ctx, p.board); err != nil {
			return err
		}
	}
	p.streams, err = p.openStream(ctx, text, o.dataDir, known, o.mayLose, o.log)
	return err
}

// open reads what is said of sagas and effects.
func (s *sagas) open(cfg config) (err error) {
	if s.secrets, err = effect.NewSecrets(cfg.Secrets, s.log); err != nil {
		return err
	}
	placement := cfg.Sagas.placement()
	s.placement.Store(&placement)
	return nil
}

// config is how the node serves sagas.
func (p *parts) sagasConfig(c config) node.SagasConfig {
	s := p.sagas
	return node.SagasConfig{
		Log: p.streams, AcceptLoss: saga.Loss{Fewer: p.options.acceptLoss || p.options.mayLose, Others: p.options.acceptLoss},
		Names: p.registry, Serve: !c.Sagas.Off, ServeEffects: !c.Sagas.EffectsOff, Lease: c.Sagas.Lease,
		StreamRetention: p.streamRetention(c), StreamBytes: c.StreamBytes,
		Placement: func() saga.Placement { return *s.placement.Load() },
		Gateway: saga.GatewayConfig{URL: c.Sagas.Gateway.URL, Header: c.Sagas.Gateway.header(s.secrets), Timeout: c.Sagas.Gateway.Timeout,
			MaxInFlight: c.Sagas.Gateway.MaxInFlight},
		Effects: func(n *node.Node) (*effect.Set, error) {
			s.kinds = effectKinds(n)
			if dev := p.options.dev; dev != nil {
				s.kinds, s.samples = dev.effects(s.kinds), []effect.Definition{sampleEffect}
			}
			return s.effects(c)
		},
	}
}

// ownStreamRetention is how long the streams in the node's own server keep what everybody
// has read, unless something else is said.
const ownStreamRetention = 30 * 24 * time.Hour

// streamRetention is how long streams keep it. A server elsewhere may have other readers,
// which the node does not know: its streams are cut where somebody says so.
func (p *parts) streamRetention(c config) time.Duration {
	if c.StreamRetention == 0 && p.ownStreams {
		return ownStreamRetention
	}
	return c.StreamRetention
}

// effects opens the effects of a config. Each set has secrets and egress rules
// of its own: calls in flight end with what they began with.
func (s *sagas) effects(c config) (*effect.Set, error) {
	secrets, err := effect.NewSecrets(c.Secrets, s.log)
	if err != nil {
		return nil, err
	}
	rules, err := egress.Parse(c.Egress)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(c.Effects, s.samples)
	if c.EffectsDir != "" {
		more, err := effect.ReadDefinitions(c.EffectsDir)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return effect.OpenSet(list, s.kinds, effect.Host{Secrets: secrets, Dialer: effect.NewDialer(rules), Folders: c.EffectFolders})
}

// reload reads the config file again and takes from it what can change while
// the node runs: effects with their secrets and egress rules, and which sagas it
// serves. It returns the keys of what else has changed, which wants a restart.
//
// Errors: those of loadConfig and effect.OpenSet; what was before stays then.
func (p *parts) reload(context.Context) (restart []string, err error) {
	c, err := loadConfig(p.sagas.file)
	if err != nil {
		return nil, err
	}
	c.Isolation = cmp.Or(p.options.isolation, c.Isolation) // as when the node began
	p.hidden.Add(p.options.secretFiles(c)...)
	set, err := p.sagas.effects(c)
	if err != nil {
		return nil, err
	}
	if err := p.sagas.secrets.Use(c.Secrets); err != nil {
		return nil, cmp.Or(set.Close(), err)
	}
	placement := c.Sagas.placement()
	p.sagas.placement.Store(&placement)
	rules, err := egress.Parse(c.Egress) // without error: the effects were opened by them
	if err != nil {
		return nil, err
	}
	p.egress.Use(rules)
	restart = restartKeys(p.sagas.began, c)
	p.log.Info("config file reloaded", "effects", len(set.Names()), "restart", restart)
	return restart, p.node.Effects.Use(set)
}

// sagasInfo says what this node does of sagas and effects.
func (p *parts) sagasInfo(info *api.Info) {
	info.Roles = p.node.Roles()
	if p.streams == nil {
		return
	}
	info.Stream, info.StreamDurability, info.Streams = "nats", string(p.streams.Durability()), domain.StreamNames
	info.Sagas, info.Effects, info.Consumers = p.node.Partitions(), p.node.ServedEffects(), p.node.Consumers()
}
