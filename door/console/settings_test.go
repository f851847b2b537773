package console_test

import (
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestHowAContextIsSetUpIsShown(t *testing.T) {
	r := newRig(t)
	hooks := &domain.Hooks{Failed: &domain.Hook{Script: "say <b>told</b>\nsay more", ScriptType: "words", Retries: 2}}
	do(r, admin, api.ContextUpdate, api.UpdateContextParams{Context: 7, TenantChange: domain.TenantChange{MaxRunning: new(9), On: hooks}})
	b := r.as(reader)
	a := b.get(200, path("rights/settings"))
	b.has(a, "jobs that run at once", ">9<", "0 B of 10 GiB", "has failed", "a script of type words", "say &lt;b&gt;told&lt;/b&gt; …")
	b.hasNot(a, "no hooks of its own")
	r.as(stranger).get(403, path("rights/settings"))
}
