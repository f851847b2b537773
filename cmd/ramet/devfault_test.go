package main

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// TestTheNextCallOfOneEffectFails, and no call of another.
func TestTheNextCallOfOneEffectFails(t *testing.T) {
	var dev development
	target := &told{}
	open := dev.effects(map[domain.EffectKind]effect.Open{domain.EffectHTTP: func(effect.Definition, effect.Host) (effect.Provider, error) { return target, nil }})
	call := func(name string) error {
		p, err := open[domain.EffectHTTP](effect.Definition{Name: name}, effect.Host{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Do(t.Context(), effect.Call{Payload: json.RawMessage(`{}`)})
		return err
	}
	dev.failNamed.Store("weigh", true)
	if err := call("mail"); err != nil {
		t.Errorf("another effect failed: %v", err)
	}
	if err := call("weigh"); !errors.Is(err, domain.ErrUnavailable) || target.calls != 1 {
		t.Errorf("got %v, %d calls", err, target.calls)
	}
	if err := call("weigh"); err != nil {
		t.Errorf("it fails more than once: %v", err)
	}
}

// TestALeaseIsDroppedOfOneItem: its renewal is refused though others are renewed, and it runs out; one that nobody has
// is no fault to cause.
func TestALeaseIsDroppedOfOneItem(t *testing.T) {
	ctx := t.Context()
	b := &faultyBoard{Board: memboard.Open()}
	defer b.Close()
	var held []board.Held
	for _, item := range []string{"job:1:1", "job:1:2", "job:1:3"} {
		token, err := b.Occupy(ctx, 7, item, "n1/r", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, board.Held{Space: 7, Item: item, Token: token})
	}
	if err := b.drop(ctx, 7, "job:1:9"); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("a lease that is not there: %v", err)
	}
	if err := b.drop(ctx, 7, "job:1:2"); err != nil {
		t.Fatal(err)
	}
	answers, err := b.Extend(ctx, "n1/r", time.Minute, held)
	if want := []board.Answer{board.Renewed, board.Lost, board.Renewed}; err != nil || !slices.Equal(answers, want) {
		t.Errorf("got %v, %v, want %v", answers, err, want)
	}
	l, found, err := b.LeaseOf(ctx, 7, "job:1:2")
	if err != nil || !found || time.Until(l.Until) > board.MinLease {
		t.Errorf("the lease lasts on: %+v, %v", l, err)
	}
}
