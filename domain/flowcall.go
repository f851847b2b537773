package domain

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// MaxFlowDepth is how deep flows may be within each other: one that no step made is 1.
	MaxFlowDepth = 8
	// MaxTemplateBytes bounds a text in which ${name} stands for something else.
	MaxTemplateBytes = 8 << 10
)

// FlowCall is the flow that a step makes.
type FlowCall struct {
	// Blueprint is the name of a stored one, Version which of it. 0: the newest when the
	// flow with the step is submitted.
	Blueprint string `json:"blueprint"`
	Version   int    `json:"version,omitzero"`
	// Params are those of the new flow, and Trigger is its name: texts in which ${name}
	// stands for a param of the step, ${needs.<step>.<key>} for a result, ${item},
	// ${item.<field>}, ${index} and ${key} for the element.
	Params  map[string]string `json:"params,omitzero"`
	Trigger string            `json:"trigger,omitzero"`
}

// FlowParent is the step that made a flow.
type FlowParent struct {
	Flow FlowID `json:"flow"`
	Step string `json:"step"`
	// Index is the place of the element in the step's list, and Key its name.
	Index int64  `json:"index,omitzero"`
	Key   string `json:"key,omitzero"`
	// Depth is how many flows are above.
	Depth int `json:"depth"`
	// List is the first record of the results of the step; see [Need.List].
	List int `json:"list"`
	// One says that the step has made this flow only.
	One bool `json:"one,omitzero"`
}

// dotted is what a template has instead of a text.
var dotted = regexp.MustCompile(`\$\{([^{}]*)\}`)

// FillTemplate puts what value says for its name, parted at its dots, in the place of each
// ${name} of a template.
//
// Errors: those of value; [ErrLimit] for a text that is longer than params may be.
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
		if end = at[1]; out.Len() > MaxParamBytes {
			return "", Limitf("with what its names stand for it has more than %d bytes", MaxParamBytes)
		}
	}
	out.WriteString(text[end:])
	return out.String(), nil
}

// flow checks the flow of a step of kind flow.
func (c *checker) flow(s *Step, at func(string) string) {
	if s.Flow == nil || s.Flow.Blueprint == "" {
		c.fault(at("flow"), "a step of kind flow needs flow.blueprint, the name of a blueprint")
		return
	}
	c.err(at("flow.blueprint"), ValidateName("blueprint", s.Flow.Blueprint))
	if s.Flow.Blueprint == c.b.Name {
		c.fault(at("flow.blueprint"), "%s", CircleText([]string{c.b.Name, c.b.Name}))
	}
	if s.Flow.Version < 0 || s.Flow.Version > MaxVersion {
		c.fault(at("flow.version"), "%d: want 1 to %d, or none for the newest", s.Flow.Version, MaxVersion)
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
func (c *checker) template(s *Step, path, text string) {
	if n := len(text); n > MaxTemplateBytes {
		c.fault(path, "%d bytes, the limit is %d", n, MaxTemplateBytes)
		return
	}
	_, err := FillTemplate(text, func(name []string) (string, error) { return "", c.stands(s, name) })
	if err != nil {
		c.fault(path, "%s", err)
	}
}

// stands says why a name in a template stands for nothing.
func (c *checker) stands(s *Step, path []string) error {
	whole := "${" + strings.Join(path, ".") + "}"
	switch root := path[0]; {
	case root == "needs" && len(path) == 3:
		if _, known := c.steps[path[1]]; !known {
			return Invalidf("%s: there is no step %q%s", whole, path[1], c.meant(path[1]))
		}
		if !c.b.Follows(c.steps[s.Name], c.steps[path[1]], c.steps) {
			return Invalidf("%s: the step does not need %q, and finds nothing of it; add it to its needs", whole, path[1])
		}
	case root == "needs":
		return Invalidf("%s: want ${needs.<step>.<key>}", whole)
	case root == "item" || len(path) == 1 && (root == "index" || root == "key"):
		if !s.Listed() {
			return Invalidf("%s: the step has neither each nor matrix", whole)
		}
		if root == "key" && s.Key == "" {
			return Invalidf("%s: the step has no key", whole)
		}
	case len(path) == 1 || len(path) == 2 && root == "params":
		if err := ValidateName("param", path[len(path)-1]); err != nil {
			return Invalidf("%s: %s", whole, err)
		}
	default:
		return Invalidf("%s: want ${<param>}, ${needs.<step>.<key>}, ${item}, ${item.<field>}, ${index} or ${key}", whole)
	}
	return nil
}

// FlowCalls are the places of the steps that make flows.
func (b *Blueprint) FlowCalls() (steps []int) {
	for i := range b.Steps {
		if b.Steps[i].KindOr() == StepFlow && b.Steps[i].Flow != nil {
			steps = append(steps, i)
		}
	}
	return steps
}

// CircleText says that blueprints make flows of each other without end.
func CircleText(names []string) string {
	return fmt.Sprintf("blueprints make flows of each other in a circle: %s", strings.Join(names, " -> "))
}
