package effect

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// FuzzCommand: a message is a command where its subject and its data say the same,
// and then it is what the data says; else what is known of it is what the subject
// says, so that nobody else's work is answered for.
func FuzzCommand(f *testing.F) {
	for _, s := range []string{"tenant.acme.effect.charge.c-1", "effect.charge.c-1", "tenant.acme.effect.charge.c-1.x",
		"tenant.tenant.effect.effect.x", "tenant.effect.charge.c-1", "effect..", "effect.charge.a b", ""} {
		f.Add(s, []byte(`{"tenant_id":"acme","command_id":"c-1","effect_name":"charge","payload":{"a":1}}`))
		f.Add(s, []byte(`{"command_id":"c-1","effect_name":"charge","metadata":{"a":"b"},"more":[1]}`))
	}
	f.Add("effect.charge.c-1", []byte(`{"command_id":"c-1","Command_id":"c-2","effect_name":"charge"}`))
	f.Add("effect.charge.c-1", []byte(`{"command_id":"c-1","command_id":"c-1","effect_name":"charge"}`))
	f.Fuzz(func(t *testing.T, on string, data []byte) {
		c, err := parseCommand(stream.Message{Subject: on, Data: data})
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("%q %q: got %v, want one of kind invalid", on, data, err)
			}
			if c.CommandID != "" && subject(c.TenantID, "effect", c.EffectName, c.CommandID) != on {
				t.Errorf("%q %q is refused as %+v", on, data, c)
			}
			return
		}
		if subject(c.TenantID, "effect", c.EffectName, c.CommandID) != on {
			t.Errorf("%q %q is taken as %+v", on, data, c)
		}
		if key := keys(c).Done(c.CommandID); len(key) > board.MaxKey {
			t.Errorf("%q: key %q", on, key)
		}
		var plain map[string]any
		if err := json.Unmarshal(data, &plain); err != nil {
			t.Fatalf("%q %q is taken: %v", on, data, err)
		}
		text := func(name string) string { s, _ := plain[name].(string); return s }
		if text("tenant_id") != c.TenantID || text("command_id") != c.CommandID || text("effect_name") != c.EffectName {
			t.Errorf("%q %q is taken as %+v", on, data, c)
		}
		if len(c.Payload) > 0 && !json.Valid(c.Payload) {
			t.Errorf("%q: payload %q", on, c.Payload)
		}
	})
}
