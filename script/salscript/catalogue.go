package salscript

import (
	"slices"

	"github.com/ramet-run/ramet/rhai"
)

// function is one function of the catalogue: any Go function whose parameters
// and results scripts can have. Types of the catalogue stand first in methods.
type function struct {
	name string
	call any
}

// catalogue lists all functions.
func (h *host) catalogue() []function {
	return slices.Concat(
		[]function{{"checkpoint", h.checkpoint}, {"set_checkpoint", h.setCheckpoint}},
		h.fileFunctions(), h.downloadFunctions(), platformFunctions(), h.commandFunctions(), h.processFunctions(),
		textFunctions(), replacerFunctions(), templateFunctions(), h.netFunctions(), h.gitFunctions(),
		h.redisFunctions(), h.myceliumFunctions(), h.toolFunctions(),
	)
}

// registerTypes makes the types known, with their getters.
func (h *host) registerTypes(e *rhai.Engine) {
	result := rhai.RegisterType[commandResult](e, "CommandResult").ShowAs(func(r *commandResult) string { return r.stdout })
	rhai.Property(result, "stdout", func(r *commandResult) string { return r.stdout }, nil)
	rhai.Property(result, "stderr", func(r *commandResult) string { return r.stderr }, nil)
	rhai.Property(result, "success", func(r *commandResult) bool { return r.code == 0 }, nil)
	rhai.Property(result, "code", func(r *commandResult) int { return r.code }, nil)
	rhai.RegisterType[command](e, "CommandBuilder")

	process := rhai.RegisterType[processInfo](e, "ProcessInfo").ShowAs((*processInfo).show)
	h.processType = process
	rhai.Property(process, "pid", func(p *processInfo) int { return p.pid }, nil)
	rhai.Property(process, "name", func(p *processInfo) string { return p.name }, nil)
	rhai.Property(process, "memory", func(p *processInfo) float64 { return p.memory }, nil)
	rhai.Property(process, "cpu", func(p *processInfo) float64 { return p.cpu }, nil)

	rhai.RegisterType[replacer](e, "TextReplacer")
	rhai.RegisterType[template](e, "TemplateBuilder")
	rhai.RegisterType[gitTree](e, "GitTree")
	h.repoType = rhai.RegisterType[gitRepo](e, "GitRepo").ShowAs(func(r *gitRepo) string { return r.path })
	rhai.RegisterType[container](e, "Container").ShowAs(func(c *container) string { return c.name })
	rhai.RegisterType[builder](e, "Builder").ShowAs(func(b *builder) string { return b.name })
}

// Functions lists the names of the catalogue, sorted, for documentation and
// completion.
func Functions() []string {
	names := []string{}
	for _, f := range (&host{}).catalogue() {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
