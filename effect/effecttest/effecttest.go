// Package effecttest is the suite that every effect.Provider passes. A driver's
// test brings the far side as a [Target], which counts what it was asked for
// and can be made to fail, to hang and to be away.
package effecttest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/egress"
)

// Target is the far side, as a driver's test has it: a server in the test's
// process, or a real one behind a proxy. It is safe for concurrent use.
type Target interface {
	// Asked is how often a call with this key came, however it ended, and
	// Applied how often it was done; "" is all calls. A target that fails does
	// not apply. What Provider.Check does is no call.
	Asked(key string) int
	Applied(key string) int

	// Fail lets the next n calls fail: refused, so that each attempt ends the
	// same, or in a way that another attempt may not meet.
	Fail(n int, refused bool)

	// Hang lets calls stay without an answer: before they are applied, or
	// after. arrived has one entry for each that does; release lets all go on,
	// and later ones be as always. It may be called twice.
	Hang(applied bool) (arrived <-chan struct{}, release func())

	// Away lets nobody reach the target until back is called.
	Away() (back func())

	// Answer lets it answer at least so many bytes from now on.
	Answer(bytes int)
}

// Config is what a driver's test says of itself.
type Config struct {
	// Open makes a target, and a provider that calls it with the secret Secret
	// in its options, by effecttest.Host or one like it. The suite closes the
	// provider; the target ends with t.
	Open func(t *testing.T) (effect.Provider, Target)
	// Payload is what a call that succeeds carries.
	Payload json.RawMessage
	// Features say what the kind cannot do.
	Features Features
}

// Features say what a kind cannot do, each with the reason; "": it can.
type Features struct {
	// NotOnce: its targets do a call twice that comes twice under one key.
	NotOnce string
	// NoRefusal: its targets refuse nothing.
	NoRefusal string
	// NoAnswer: its targets give nothing back whose size is theirs.
	NoAnswer string
	// NoHang: its targets cannot be made to wait in a test.
	NoHang string
	// NoAway: its targets are always there.
	NoAway string
	// NoBadPayload: what a payload may be is not the kind's.
	NoBadPayload string
}

// Secret is the value of the secret SECRET that [Host] has: no error may have it.
const Secret = "s3cret-Pa$$word/%41&x=\"1\""

// Host is one that may connect to this machine, and has [Secret].
func Host(t testing.TB) effect.Host {
	t.Helper()
	t.Setenv("RAMET_EFFECTTEST_SECRET", Secret)
	secrets, err := effect.NewSecrets(map[string]effect.SecretSource{"SECRET": {Env: "RAMET_EFFECTTEST_SECRET"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := egress.Parse([]string{"127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	return effect.Host{Secrets: secrets, Dialer: effect.NewDialer(rules)}
}

// Definition is one with options, and defaults for the rest.
func Definition(t testing.TB, kind domain.EffectKind, options map[string]any) effect.Definition {
	t.Helper()
	d, err := effect.Definition{Name: "tested", Kind: kind, Options: options}.Filled()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// patience is how long something may take that should come at once. It bounds
// a test that has failed already.
const patience = 2 * time.Minute

// bounded is a context for a call that should succeed.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
