package smtpeffect

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"sync/atomic"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// Provider sends mails for one definition. Each mail has a connection of its
// own: servers end those that wait, and one that was just opened tells at once
// when it fails.
type Provider struct {
	options Options
	host    string // of the server, without the port
	tls     *tls.Config
	lent    effect.Host
	closed  atomic.Bool
}

var _ effect.Provider = (*Provider)(nil)

// Open makes the provider of a definition. It connects to nothing.
//
// Errors: [domain.ErrInvalid] naming the option.
func Open(def effect.Definition, lent effect.Host) (effect.Provider, error) {
	p := &Provider{lent: lent}
	if err := def.Decode(&p.options); err != nil {
		return nil, err
	}
	if field, err := p.options.fill(lent.Secrets); err != nil {
		return nil, def.Errorf(field, "%v", err)
	}
	p.host, _, _ = net.SplitHostPort(p.options.Address)
	var err error
	if p.tls, err = p.options.TLS.Config(p.host); err != nil {
		return nil, def.Errorf("tls", "%v", err)
	}
	return p, nil
}

// Do sends one mail. The answer is {"message_id", "recipients", "response"}.
func (p *Provider) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	if p.closed.Load() {
		return nil, domain.Unavailablef("mail: the effect was closed")
	}
	l, err := p.options.compose(call)
	if err != nil {
		return nil, err
	}
	s, err := p.login(ctx)
	if err != nil {
		return nil, err
	}
	response, err := s.send(ctx, l)
	s.end()
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		MessageID  string `json:"message_id"`
		Recipients int    `json:"recipients"`
		Response   string `json:"response"`
	}{"<" + l.id + ">", len(l.to), response})
}

// Check connects, logs in and says good-bye.
func (p *Provider) Check(ctx context.Context, _ domain.TenantID) error {
	s, err := p.login(ctx)
	if err != nil {
		return err
	}
	s.end()
	return nil
}

// Target is smtp://host:port.
func (p *Provider) Target() string { return "smtp://" + p.options.Address }

// Close lets no mail go from now on. No connection is kept.
func (p *Provider) Close() error {
	p.closed.Store(true)
	return nil
}
