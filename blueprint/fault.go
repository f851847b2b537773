package blueprint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// ValidateFields checks a blueprint and says the first thing that is wrong.
//
// Errors: [domain.ErrInvalid].
func ValidateFields(b *domain.Blueprint) error {
	if faults := FieldFaults(b); len(faults) > 0 {
		more := ""
		if n := len(faults) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		return domain.Invalidf("blueprint %q: %s%s", b.Name, faults[0], more)
	}
	return nil
}

// maxFaults bounds what FieldFaults says: nobody reads more.
const maxFaults = 50

// FieldFaults finds all that is wrong with a blueprint, but for the `when`
// expressions, which are compiled elsewhere.
func FieldFaults(b *domain.Blueprint) []domain.Fault {
	c := checker{b: b, steps: make(map[string]int, len(b.Steps))}
	c.head()
	for i := range b.Steps {
		c.name(i)
	}
	for i := range b.Steps {
		c.step(i)
	}
	c.hooks()
	c.concurrency()
	c.rate()
	c.circle()
	c.output()
	return c.faults
}

type checker struct {
	b      *domain.Blueprint
	steps  map[string]int // by name
	faults []domain.Fault
}

func (c *checker) fault(path, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, domain.Fault{Path: path, Text: fmt.Sprintf(format, args...)})
	}
}

// err adds what a validator says.
func (c *checker) err(path string, err error) {
	if err != nil {
		c.fault(path, "%s", err)
	}
}

func (c *checker) head() {
	b := c.b
	c.err("name", domain.ValidateName("name", b.Name))
	if b.Version < 0 || b.Version > domain.MaxVersion {
		c.fault("version", "%d: want 1 to %d, or none for the next", b.Version, domain.MaxVersion)
	}
	c.summary("summary", b.Summary)
	c.priority("priority", b.Priority)
	if b.MaxParallel < 0 {
		c.fault("max_parallel", "%d: want 1 or more, or 0 for no bound", b.MaxParallel)
	}
	if b.OnError != "" && b.OnError != domain.OnErrorAbort && b.OnError != domain.OnErrorContinue {
		c.fault("on_error", "%q: want abort or continue", b.OnError)
	}
	c.params("params", b.Params)
	c.err("params", domain.ParamsApart(b.Params))
	c.inputs()
	c.env("env", b.Env)
	c.secrets("secrets", b.Secrets, b.Env)
	switch n := len(b.Steps); {
	case n == 0:
		c.fault("steps", "there are none: want at least one")
	case n > domain.MaxFlowSteps:
		c.fault("steps", "%d steps, the limit is %d", n, domain.MaxFlowSteps)
	}
}

func (c *checker) summary(path, text string) {
	if len(text) > domain.MaxSummaryBytes {
		c.fault(path, "%d bytes, the limit is %d", len(text), domain.MaxSummaryBytes)
	}
}

func (c *checker) priority(path string, p int) {
	if p < 0 || p > domain.MaxPriority {
		c.fault(path, "%d: want 0 to %d", p, domain.MaxPriority)
	}
}

// Maps are gone through in order, so that the same faults are told each time.

func (c *checker) params(path string, params map[string]string) {
	before := len(c.faults)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		c.err(path+"."+name, domain.ValidateParam(name, params[name]))
	}
	if len(c.faults) == before {
		c.err(path, domain.ValidateTexts(params))
	}
}

// apart refuses params of a step that are one variable, among each other or with those of
// the blueprint.
func (c *checker) apart(path string, params map[string]string) {
	if len(params) == 0 || domain.ParamsApart(c.b.Params) != nil {
		return // that is told once
	}
	c.err(path, domain.ParamsApart(c.b.Params, params))
}

func (c *checker) env(path string, env map[string]string) {
	before := len(c.faults)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if fault := domain.EnvFault(name, env[name]); fault != "" {
			c.fault(path+"."+name, "%s", fault)
		}
	}
	if len(c.faults) == before {
		c.err(path, domain.ValidateEnv(env))
	}
}

func (c *checker) secrets(path string, secrets, env map[string]string) {
	if len(secrets) > domain.MaxSecrets {
		c.fault(path, "%d secrets, the limit is %d", len(secrets), domain.MaxSecrets)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		if fault := domain.SecretFault(name, secrets[name], env); fault != "" {
			c.fault(path+"."+name, "%s", fault)
		}
	}
}

func (c *checker) affinity(path string, labels map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		c.err(path+"."+name, domain.ValidateName("label", name))
		if n := len(labels[name]); n > domain.MaxNameBytes {
			c.fault(path+"."+name, "%d bytes, the limit is %d", n, domain.MaxNameBytes)
		}
	}
}

func (c *checker) name(i int) {
	s := &c.b.Steps[i]
	path := fmt.Sprintf("steps[%d].name", i)
	if err := domain.ValidateName("name", s.Name); err != nil {
		c.err(path, err)
		return
	}
	if first, twice := c.steps[s.Name]; twice {
		c.fault(path, "%q is the name of steps[%d] too: each step needs its own", s.Name, first)
		return
	}
	c.steps[s.Name] = i
}

func (c *checker) step(i int) {
	s := &c.b.Steps[i]
	at := func(field string) string { return fmt.Sprintf("steps[%d].%s", i, field) }
	c.kind(s, at)
	c.summary(at("summary"), s.Summary)
	c.priority(at("priority"), s.Priority)
	c.attempts(s, at)
	if s.Phase < 0 || s.Phase > domain.MaxPhase {
		c.fault(at("phase"), "%d: want 0 to %d", s.Phase, domain.MaxPhase)
	}
	if s.Weight < 0 || s.Weight > domain.MaxStepWeight {
		c.fault(at("weight"), "%d: want 1 to %d", s.Weight, domain.MaxStepWeight)
	}
	if len(s.When) > domain.MaxWhenBytes {
		c.fault(at("when"), "%d bytes, the limit is %d", len(s.When), domain.MaxWhenBytes)
	}
	if _, err := domain.ParsePlace(s.At); s.At != "" && err != nil {
		c.fault(at("at"), "%s", strings.TrimPrefix(err.Error(), "at "))
	}
	c.artifacts(s, at)
	c.repeat(s, at)
	c.cache(s, at)
	c.needs(i, s)
}

// attempts checks what a step's jobs find, and how they are tried.
func (c *checker) attempts(s *domain.Step, at func(string) string) {
	c.params(at("params"), s.Params)
	c.apart(at("params"), s.Params)
	c.env(at("env"), s.Env)
	c.secrets(at("secrets"), s.Secrets, s.Env)
	switch {
	case len(s.Secrets) > 0 && s.At != "":
		c.fault(at("secrets"), "the step runs at %s, where this context's secrets do not go", s.At)
	case len(s.Secrets) > 0 && s.KindOr() == domain.StepApproval:
		c.fault(at("secrets"), "nothing runs in a step of kind approval")
	}
	if s.Retries < 0 || s.Retries > domain.MaxRetries {
		c.fault(at("retries"), "%d: want 0 to %d", s.Retries, domain.MaxRetries)
	}
	if f, wrong := s.Retry.Fault(s.Retries); wrong {
		c.fault(at("retry."+f.Path), "%s", f.Text)
	}
	if s.Timeout > domain.MaxTimeout {
		c.fault(at("timeout"), "%d s, the limit is %d (30 days)", s.Timeout, domain.MaxTimeout)
	}
	c.affinity(at("affinity"), s.Affinity)
}

func (c *checker) kind(s *domain.Step, at func(string) string) {
	kind := s.KindOr()
	if !slices.Contains(domain.StepKinds, kind) {
		c.fault(at("kind"), "%q: want single, shard, pack, each, approval, effect or flow", kind)
		return
	}
	runs := kind == domain.StepSingle || kind == domain.StepShard || kind == domain.StepPack || kind == domain.StepEach
	switch {
	case runs && s.Script == "":
		c.fault(at("script"), "a step of kind %s needs a script", kind)
	case runs && len(s.Script) > domain.MaxScriptBytes:
		c.fault(at("script"), "%d bytes, the limit is %d", len(s.Script), domain.MaxScriptBytes)
	case strings.IndexByte(s.Script, 0) >= 0:
		c.fault(at("script"), "it has a NUL byte")
	case !runs && s.Script != "":
		c.fault(at("script"), "a step of kind %s has no script", kind)
	}
	if runs {
		c.err(at("script_type"), s.ScriptType.Validate())
	}
	if s.Shard != nil && kind != domain.StepShard {
		c.fault(at("shard"), "the step is of kind %s", kind)
	}
	if s.Pack != nil && kind != domain.StepPack {
		c.fault(at("pack"), "the step is of kind %s", kind)
	}
	if s.Each != "" && kind != domain.StepEach && kind != domain.StepFlow {
		c.fault(at("each"), "the step is of kind %s", kind)
	}
	if s.Matrix != nil && kind != domain.StepEach && kind != domain.StepFlow {
		c.fault(at("matrix"), "the step is of kind %s", kind)
	}
	if s.Window != 0 && kind != domain.StepEach && !(kind == domain.StepFlow && s.Listed()) {
		c.fault(at("window"), "it is that of a step with each; shard and pack have their own")
	}
	if s.Flow != nil && kind != domain.StepFlow {
		c.fault(at("flow"), "the step is of kind %s", kind)
	}
	if s.Key != "" && kind != domain.StepEach && !(kind == domain.StepFlow && s.Listed()) {
		c.fault(at("key"), "it names the elements of a step with each or matrix")
	}
	if s.Effect != nil && kind != domain.StepEffect {
		c.fault(at("effect"), "the step is of kind %s", kind)
	}
	if s.Approval != nil && kind != domain.StepApproval {
		c.fault(at("approval"), "the step is of kind %s", kind)
	}
	switch kind {
	case domain.StepShard:
		c.shard(s.Shard, at)
	case domain.StepPack:
		c.pack(s.Pack, at)
	case domain.StepEach:
		c.list(s, at)
	case domain.StepEffect:
		c.effect(s, at)
	case domain.StepFlow:
		c.flow(s, at)
	case domain.StepApproval:
		c.approval(s, at)
	}
}

func (c *checker) artifacts(s *domain.Step, at func(string) string) {
	switch {
	case len(s.Artifacts) == 0:
		return
	case s.KindOr() == domain.StepApproval || s.KindOr() == domain.StepEffect:
		c.fault(at("artifacts"), "a step of kind %s leaves no files", s.KindOr())
	case s.ScriptType == domain.ScriptRhai:
		c.fault(at("artifacts"), "a script of type rhai has no folder to leave files in; want another script_type, or the result for what is small")
	case s.At != "":
		c.fault(at("artifacts"), "the step has at: files stay in the context where its jobs run")
	}
	if err := domain.ValidateArtifacts(s.Artifacts); err != nil {
		c.fault(at("artifacts"), "%s", strings.TrimPrefix(err.Error(), "artifacts: "))
	}
}

func (c *checker) effect(s *domain.Step, at func(string) string) {
	if s.Effect == nil || s.Effect.Target == "" {
		c.fault(at("effect"), "a step of kind effect needs effect.target, the name of an effect")
		return
	}
	c.call(s.Effect, at, "effect")
	if s.At != "" {
		c.fault(at("at"), "a step of kind effect runs here, on a node that has the effect")
	}
	if s.Affinity[domain.LabelEffect] != "" {
		c.fault(at("affinity."+domain.LabelEffect), "it says which node has an effect, which effect.target says already")
	}
}

// call checks a call to the outside, which is a field of the step.
func (c *checker) call(call *domain.EffectCall, at func(string) string, field string) {
	c.err(at(field+".target"), domain.ValidateName("effect", call.Target))
	c.params(at(field+".params"), call.Params)
	switch {
	case len(call.Payload) > domain.MaxWhenBytes:
		c.fault(at(field+".payload"), "%d bytes, the limit is %d", len(call.Payload), domain.MaxWhenBytes)
	case call.Payload != "" && len(call.Params) > 0:
		c.fault(at(field+".payload"), "%s.params are given too; want one of them", field)
	}
}

func (c *checker) needs(i int, s *domain.Step) {
	if len(s.Needs) > domain.MaxDependends {
		c.fault(fmt.Sprintf("steps[%d].needs", i), "%d steps, the limit is %d", len(s.Needs), domain.MaxDependends)
		return
	}
	for k, need := range s.Needs {
		path := fmt.Sprintf("steps[%d].needs[%d]", i, k)
		on, known := c.steps[need]
		switch {
		case need == s.Name:
			c.fault(path, "the step needs itself")
		case !known:
			c.fault(path, "there is no step %q%s", need, c.meant(need))
		case slices.Contains(s.Needs[:k], need):
			c.fault(path, "%q is named twice", need)
		case c.b.Steps[on].Phase > s.Phase:
			c.fault(path, "%q is of phase %d, which comes after this step's phase %d", need, c.b.Steps[on].Phase, s.Phase)
		}
	}
}

// maxMeant bounds among how many steps a similar name is looked for.
const maxMeant = 1000

// meant suggests a step with a similar name.
func (c *checker) meant(name string) string {
	if len(c.faults) >= maxFaults {
		return ""
	}
	names := make([]string, 0, min(len(c.b.Steps), maxMeant))
	for i := range c.b.Steps[:cap(names)] {
		names = append(names, c.b.Steps[i].Name)
	}
	if known := domain.Nearest(name, names); known != "" {
		return fmt.Sprintf("; did you mean %q?", known)
	}
	return ""
}

// maxCircle bounds how many steps of a circle are named.
const maxCircle = 20

// circle finds steps that need each other. A need of no step, or of the step itself, is
// told already.
func (c *checker) circle() {
	const unseen, open, done = 0, 1, 2
	state := make([]int, len(c.b.Steps))
	type frame struct{ step, next int }
	for root := range c.b.Steps {
		if state[root] != unseen {
			continue
		}
		stack := []frame{{step: root}}
		state[root] = open
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			needs := c.b.Steps[top.step].Needs
			if top.next == len(needs) {
				state[top.step] = done
				stack = stack[:len(stack)-1]
				continue
			}
			on, known := c.steps[needs[top.next]]
			top.next++
			if !known || on == top.step {
				continue
			}
			switch state[on] {
			case open:
				from := slices.IndexFunc(stack, func(f frame) bool { return f.step == on })
				names, more := "", ""
				for n, f := range stack[from:] {
					if n == maxCircle {
						more = fmt.Sprintf("%d more -> ", len(stack)-from-n)
						break
					}
					names += c.b.Steps[f.step].Name + " -> "
				}
				c.fault(fmt.Sprintf("steps[%d].needs", on), "steps need each other in a circle: %s%s%s", names, more, c.b.Steps[on].Name)
				return
			case unseen:
				state[on] = open
				stack = append(stack, frame{step: on})
			}
		}
	}
}

func (c *checker) output() {
	for _, name := range slices.Sorted(maps.Keys(c.b.Output)) {
		from, path := c.b.Output[name], "output."+name
		step, key, ok := strings.Cut(from, ".")
		if !ok || key == "" {
			c.fault(path, "%q: want \"<step>.<key>\"", from)
			continue
		}
		if _, known := c.steps[step]; !known {
			c.fault(path, "there is no step %q%s", step, c.meant(step))
		}
	}
}

// follows reports whether a step comes after another in any case: it needs that, directly or
// through others, or is of a later phase. places are where steps stand, by name.
func follows(b *domain.Blueprint, i, on int, places map[string]int) bool {
	if b.Steps[on].Phase < b.Steps[i].Phase || slices.Contains(b.Steps[i].Needs, b.Steps[on].Name) {
		return true
	}
	seen := make([]bool, len(b.Steps))
	for left := []int{i}; len(left) > 0; {
		from := left[len(left)-1]
		left = left[:len(left)-1]
		for _, need := range b.Steps[from].Needs {
			k, known := places[need]
			if known && k == on {
				return true
			}
			if known && !seen[k] {
				seen[k], left = true, append(left, k)
			}
		}
	}
	return false
}
