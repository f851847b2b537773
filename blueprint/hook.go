package blueprint

import (
	"encoding/json"
	"fmt"

	"github.com/ramet-run/ramet/domain"
)

// ValidateHooks checks hooks that are not a blueprint's.
//
// Errors: [domain.ErrInvalid].
func ValidateHooks(h *domain.Hooks) error {
	if text, err := json.Marshal(h); err != nil || len(text) > domain.MaxHooksBytes {
		return domain.Limitf("on: hooks have more than %d bytes as JSON", domain.MaxHooksBytes)
	}
	c := checker{b: &domain.Blueprint{On: h}}
	c.hooks()
	names := templates{b: c.b, any: true}
	names.hooks()
	if faults := append(c.faults, names.faults...); len(faults) > 0 {
		return domain.Invalidf("%s", faults[0])
	}
	return nil
}

// hooks finds what is wrong with them.
func (c *checker) hooks() {
	for _, on := range domain.HookOns {
		h := c.b.On.Of(on)
		if h == nil {
			continue
		}
		at := func(field string) string { return fmt.Sprintf("on.%s.%s", on, field) }
		s := h.Step(on)
		if h.Script == "" && h.Effect == nil {
			c.fault("on."+string(on), "there is nothing to be done: want a script, or an effect")
			continue
		}
		if h.Script != "" && h.Effect != nil {
			c.fault(at("script"), "an effect is given too; want one of them")
			continue
		}
		c.kind(&s, at)
		c.attempts(&s, at)
		switch {
		case on == domain.HookLate && h.After == 0:
			c.fault(at("after"), "want how long a flow may take before it is late, as 2h")
		case on != domain.HookLate && h.After != 0:
			c.fault(at("after"), "it is of late alone: the others begin when the flow has ended")
		}
	}
}
