package grpceffect

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

const (
	// idleTime is how long a connection without calls is kept.
	idleTime = 5 * time.Minute
	// schemaFresh is how long a server's word about a method is taken.
	schemaFresh = 5 * time.Minute
	// schemaNew is the age from which it is asked for again when a payload does
	// not fit: servers learn new fields.
	schemaNew = 10 * time.Second
)

// Provider calls the method of one definition.
type Provider struct {
	options Options
	lent    effect.Host
	links
	// fixed is what the operator says of the method; nil: the server is asked.
	fixed *schema

	// asking has a place for who asks the server, and with it what that told.
	asking chan struct{}
	told   *schema
	toldAt time.Time
}

var _ effect.Provider = (*Provider)(nil)

// Open makes the provider of a definition. It connects to nothing.
//
// Errors: [domain.ErrInvalid] naming the option.
func Open(def effect.Definition, lent effect.Host) (effect.Provider, error) {
	p := &Provider{lent: lent, asking: make(chan struct{}, 1)}
	if err := def.Decode(&p.options); err != nil {
		return nil, err
	}
	if field, err := p.options.fill(lent.Secrets); err != nil {
		return nil, def.Errorf(field, "%v", err)
	}
	var field string
	var err error
	if p.fixed, field, err = p.options.read(context.Background()); err != nil {
		return nil, def.Errorf(field, "%v", err)
	}
	if p.links.dial, err = p.dialer(); err != nil {
		return nil, def.Errorf("tls", "%v", err)
	}
	return p, nil
}

// Do calls the method once. The answer is its response as JSON.
func (p *Provider) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := p.take()
	if err != nil {
		return nil, err
	}
	defer p.give(l)
	s, err := p.schema(ctx, l, schemaFresh)
	if err != nil {
		return nil, p.describing(ctx, err)
	}
	request, err := s.request(call.Payload)
	if err != nil && p.fixed == nil {
		// The server may have learned meanwhile what we do not know of.
		if s, err = p.schema(ctx, l, schemaNew); err != nil {
			return nil, p.describing(ctx, err)
		}
		request, err = s.request(call.Payload)
	}
	if err != nil {
		return nil, err
	}
	md, err := p.metadata(ctx, call)
	if err != nil {
		return nil, err
	}
	var response []byte
	err = l.Invoke(metadata.NewOutgoingContext(ctx, md), "/"+p.options.Method, request, &response,
		grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallRecvMsgSize(p.options.MaxReceive))
	if tooLarge(err) {
		return asJSON(map[string]any{"truncated": true, "unreadable": "the response is larger than max_receive"}), nil
	}
	if err != nil {
		return nil, p.translate(ctx, s, err)
	}
	return s.answer(response), nil
}

// metadata is that of one call.
func (p *Provider) metadata(ctx context.Context, call effect.Call) (metadata.MD, error) {
	md := metadata.Pairs(keyIdempotency, call.CommandID)
	if call.TenantName != "" {
		md.Set(keyTenant, call.TenantName)
	}
	if trace := call.TraceParent(); trace != "" {
		md.Set(keyTrace, trace)
	}
	for key, text := range p.options.Metadata {
		value, err := text.Read(ctx, p.lent.Secrets)
		if err != nil {
			return nil, err
		}
		md.Set(key, value)
	}
	return md, nil
}

// schema is what the method takes and gives, no older than that.
func (p *Provider) schema(ctx context.Context, l *link, age time.Duration) (*schema, error) {
	if p.fixed != nil {
		return p.fixed, nil
	}
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.told != nil && time.Since(p.toldAt) < age {
		return p.told, nil
	}
	s, err := ask(ctx, l.ClientConn, p.options.Method)
	if err != nil {
		l.look(ctx, err)
		return nil, err
	}
	p.told, p.toldAt = s, time.Now()
	return s, nil
}

// describing is an error of asking for the schema.
func (p *Provider) describing(ctx context.Context, err error) error {
	if errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid) {
		return effect.Refusedf("grpc: %s", p.hide(err.Error()))
	}
	return p.translate(ctx, nil, err)
}

// Check connects, asks for the server's health where it tells it, and looks
// for the method.
func (p *Provider) Check(ctx context.Context, _ domain.TenantID) error {
	l, err := p.take()
	if err != nil {
		return err
	}
	defer p.give(l)
	health, err := grpc_health_v1.NewHealthClient(l).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch {
	case err == nil && health.GetStatus() == grpc_health_v1.HealthCheckResponse_NOT_SERVING:
		return domain.Unavailablef("grpc: the server says that it does not serve")
	case err != nil && (status.Code(err) == codes.Unavailable || ctx.Err() != nil):
		return p.translate(ctx, nil, err)
	}
	if _, err := p.schema(ctx, l, 0); err != nil {
		return p.describing(ctx, err)
	}
	return nil
}

// Target is grpc://host:port.
func (p *Provider) Target() string { return "grpc://" + p.options.Address }

// Close closes the connections.
func (p *Provider) Close() error {
	p.close()
	return nil
}
