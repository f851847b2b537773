package blueprint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// dotted is what a template has instead of a text.
var dotted = regexp.MustCompile(`\$\{([^{}]*)\}`)

// FillTemplate puts what value says for its name, parted at its dots, in the place of each
// ${name} of a template.
//
// Errors: those of value; [domain.ErrLimit] for a text that is longer than params may be.
func FillTemplate(text string, value func(path []string) (string, error)) (string, error) {
	var out strings.Builder
	end := 0
	for _, at := range dotted.FindAllStringSubmatchIndex(text, -1) {
		v, err := value(strings.Split(text[at[2]:at[3]], "."))
		if err != nil {
			return "", err
		}
		out.WriteString(text[end:at[0]])
		out.WriteString(v)
		if end = at[1]; out.Len() > domain.MaxParamBytes {
			return "", domain.Limitf("with what its names stand for it has more than %d bytes", domain.MaxParamBytes)
		}
	}
	out.WriteString(text[end:])
	return out.String(), nil
}

// flow checks the flow of a step of kind flow.
func (c *checker) flow(s *domain.Step, at func(string) string) {
	if s.Flow == nil || s.Flow.Blueprint == "" {
		c.fault(at("flow"), "a step of kind flow needs flow.blueprint, the name of a blueprint")
		return
	}
	c.err(at("flow.blueprint"), domain.ValidateName("blueprint", s.Flow.Blueprint))
	if s.Flow.Blueprint == c.b.Name {
		c.fault(at("flow.blueprint"), "%s", CircleText([]string{c.b.Name, c.b.Name}))
	}
	if s.Flow.Version < 0 || s.Flow.Version > domain.MaxVersion {
		c.fault(at("flow.version"), "%d: want 1 to %d, or none for the newest", s.Flow.Version, domain.MaxVersion)
	}
	c.params(at("flow.params"), s.Flow.Params)
	for _, name := range slices.Sorted(maps.Keys(s.Flow.Params)) {
		c.template(s, at("flow.params."+name), s.Flow.Params[name])
	}
	c.template(s, at("flow.trigger"), s.Flow.Trigger)
	for field, given := range map[string]bool{"at": s.At != "", "affinity": len(s.Affinity) > 0, "checkpoint": s.Checkpoint, "script_type": s.ScriptType != ""} {
		if given {
			c.fault(at(field), "a step of kind flow runs nothing itself; say it in the steps of blueprint %s", s.Flow.Blueprint)
		}
	}
	if s.Listed() {
		c.list(s, at)
	}
}

// template checks the names in a template.
func (c *checker) template(s *domain.Step, path, text string) {
	if n := len(text); n > domain.MaxTemplateBytes {
		c.fault(path, "%d bytes, the limit is %d", n, domain.MaxTemplateBytes)
		return
	}
	_, err := FillTemplate(text, func(name []string) (string, error) { return "", c.stands(s, name) })
	if err != nil {
		c.fault(path, "%s", err)
	}
}

// stands says why a name in a template stands for nothing.
func (c *checker) stands(s *domain.Step, path []string) error {
	whole := "${" + strings.Join(path, ".") + "}"
	switch root := path[0]; {
	case root == "needs" && len(path) == 3:
		if _, known := c.steps[path[1]]; !known {
			return domain.Invalidf("%s: there is no step %q%s", whole, path[1], c.meant(path[1]))
		}
		if !follows(c.b, c.steps[s.Name], c.steps[path[1]], c.steps) {
			return domain.Invalidf("%s: the step does not need %q, and finds nothing of it; add it to its needs", whole, path[1])
		}
	case root == "needs":
		return domain.Invalidf("%s: want ${needs.<step>.<key>}", whole)
	case root == "item" || len(path) == 1 && (root == "index" || root == "key"):
		if !s.Listed() {
			return domain.Invalidf("%s: the step has neither each nor matrix", whole)
		}
		if root == "key" && s.Key == "" {
			return domain.Invalidf("%s: the step has no key", whole)
		}
	case len(path) == 1 || len(path) == 2 && root == "params":
		if err := domain.ValidateName("param", path[len(path)-1]); err != nil {
			return domain.Invalidf("%s: %s", whole, err)
		}
	default:
		return domain.Invalidf("%s: want ${<param>}, ${needs.<step>.<key>}, ${item}, ${item.<field>}, ${index} or ${key}", whole)
	}
	return nil
}

// FlowCalls are the places of the steps that make flows.
func FlowCalls(b *domain.Blueprint) (steps []int) {
	for i := range b.Steps {
		if b.Steps[i].KindOr() == domain.StepFlow && b.Steps[i].Flow != nil {
			steps = append(steps, i)
		}
	}
	return steps
}

// CircleText says that blueprints make flows of each other without end.
func CircleText(names []string) string {
	return fmt.Sprintf("blueprints make flows of each other in a circle: %s", strings.Join(names, " -> "))
}
