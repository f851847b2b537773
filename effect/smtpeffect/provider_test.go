package smtpeffect_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/smtpeffect"
)

// options are those of an effect on a server, with others beside or in place
// of them.
func (s *server) options(others map[string]any) map[string]any {
	o := map[string]any{
		"address": s.addr, "tls": map[string]any{"ca": s.cert.CA}, "user": "ramet", "password": "${secret:SECRET}",
		"from": "Shop <shop@example.com>",
	}
	for k, v := range others {
		if v == nil {
			delete(o, k)
		} else {
			o[k] = v
		}
	}
	return o
}

// open opens a provider on a server.
func open(t testing.TB, s *server, others map[string]any) effect.Provider {
	t.Helper()
	p, err := smtpeffect.Open(effecttest.Definition(t, domain.EffectSMTP, s.options(others)), effecttest.Host(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

const order = `{"to": ["ada@example.com"], "subject": "Your order", "text": "It is on its way."}`

func TestProvider(t *testing.T) {
	effecttest.Run(t, effecttest.Config{
		Open: func(t *testing.T) (effect.Provider, effecttest.Target) {
			s := newServer(t)
			return open(t, s, nil), target{s}
		},
		Payload: json.RawMessage(order),
		Features: effecttest.Features{
			NotOnce:  "mail servers take every mail; its reader can tell by the Message-ID",
			NoAnswer: "a server answers one line, of which a part is kept",
		},
	})
}

// send sends one mail.
func send(t *testing.T, p effect.Provider, payload string) (json.RawMessage, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	return p.Do(ctx, callOf(payload))
}

func callOf(payload string) effect.Call {
	return effect.Call{Tenant: 1, CommandID: "018f5b1e-0000-7000-8000-000000000001", Effect: "tested", Payload: json.RawMessage(payload), Attempt: 1}
}

// refusal is the refusal that an error is.
func refusal(t *testing.T, err error) *effect.Refused {
	t.Helper()
	var no *effect.Refused
	if !errors.As(err, &no) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return no
}
