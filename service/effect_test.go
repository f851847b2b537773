package service_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service/servicetest"
)

func TestEffectsAreShownToThoseWhoMayUseThem(t *testing.T) {
	r := newRig(t)
	for who, want := range map[domain.ActorID]string{reader: "go", servicetest.Neighbour: "go gone"} {
		in := house
		if who == servicetest.Neighbour {
			in = servicetest.Elsewhere
		}
		list, err := r.api.As(who).ListEffects(t.Context(), api.ListEffectsParams{Context: in})
		var names []string
		for _, e := range list.Effects {
			names = append(names, e.Name)
			if e.Contexts != nil {
				t.Errorf("actor %d sees the contexts %v", who, e.Contexts)
			}
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("actor %d: got %s, %v, want %s", who, got, err, want)
		}
	}
	c := r.api.As(admin)
	if e, err := c.ShowEffect(t.Context(), api.EffectParams{Context: house, Name: "go"}); err != nil || e.Target != "mirror:1" || e.Attempts != 5 {
		t.Errorf("show: got %+v, %v", e, err)
	}
	_, err1 := c.ShowEffect(t.Context(), api.EffectParams{Context: house, Name: "gone"})
	_, err2 := c.TestEffect(t.Context(), api.TestEffectParams{Context: house, Name: "gone"})
	_, err3 := c.PauseEffect(t.Context(), api.EffectParams{Context: house, Name: "mirror:2"})
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("of another context: got %v", err)
		}
	}
}

func TestAnEffectIsTriedOrOnlyLookedAt(t *testing.T) {
	r := newRig(t)
	c := r.api.As(admin)
	p := api.TestEffectParams{Context: house, Name: "go"}
	if got, err := c.TestEffect(t.Context(), p); err != nil || got.Outcome != domain.EffectDone || got.Error != "" || got.CommandID != "" {
		t.Errorf("look: got %+v, %v", got, err)
	}
	p.Payload = json.RawMessage(`{"a":1}`)
	if got, err := c.TestEffect(t.Context(), p); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a payload without a call: got %+v, %v", got, err)
	}
	p.Call = true
	if got, err := c.TestEffect(t.Context(), p); err != nil || string(got.Answer) != `{"a":1}` || got.CommandID == "" {
		t.Errorf("call: got %+v, %v", got, err)
	}
}

func TestAnEffectIsPausedByItsNameOrItsTarget(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"go", "mirror:1"} {
		p := api.EffectParams{Context: house, Name: name}
		if got, err := r.api.As(admin).PauseEffect(t.Context(), p); err != nil || !got.Done {
			t.Errorf("pause %s: got %+v, %v", name, got, err)
		}
		bans, err := r.api.As(reader).ListBans(t.Context(), api.ListBansParams{Context: house})
		if err != nil || len(bans.Bans) != 1 || bans.Bans[0].Name != name {
			t.Errorf("%s: got %+v, %v", name, bans, err)
		}
		if e, err := r.api.As(reader).ShowEffect(t.Context(), api.EffectParams{Context: house, Name: "go"}); err != nil || e.Paused != "the effect is paused" {
			t.Errorf("%s: got %+v, %v", name, e, err)
		}
		if got, err := r.api.As(admin).ResumeEffect(t.Context(), p); err != nil || !got.Done {
			t.Errorf("resume %s: got %+v, %v", name, got, err)
		}
	}
}
