package machine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file finds what is wrong with a definition, but for what its program says.

// maxFaults bounds what is told of them: nobody reads more.
const maxFaults = 50

// reservedEvents are what types of events do not begin with: those are ours.
var reservedEvents = []string{"ramet.", "ramet:"}

// nodePattern is that of the names of a graph's nodes: expressions use them.
var nodePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// faultsOf finds all that is wrong with a definition, but for what its program and
// its expressions say, which are compiled. Paths name states, nodes
// and events: "states.paying.timeout.event".
func faultsOf(d *domain.SagaDefinition) []domain.Fault {
	c := sagaChecker{d: d, arriving: arriving(d)}
	c.head()
	c.triggers()
	for i := range d.States {
		c.state(i)
	}
	for i := range d.Events {
		c.event(i)
	}
	c.program()
	c.compensation()
	return c.faults
}

// idle is what is not wrong but can have no effect: reactions to events
// that never come.
func idle(d *domain.SagaDefinition) (list []domain.Fault) {
	coming := arriving(d)
	if slices.Contains(coming, domain.AnyEvent) {
		return nil
	}
	for i := range d.States {
		s := &d.States[i]
		for _, typ := range slices.Sorted(maps.Keys(s.On)) {
			if typ == domain.AnyEvent || slices.Contains(coming, typ) || s.Timeout != nil && s.Timeout.Event == typ {
				continue
			}
			list = append(list, domain.Fault{
				Path: "states." + s.Name + ".on." + typ,
				Text: fmt.Sprintf("no trigger, effect or timer brings %q%s", domain.PlainText(typ, domain.MaxEventType), didYouMean(typ, coming)),
			})
		}
	}
	return list
}

func didYouMean(name string, known []string) string {
	if near := domain.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

type sagaChecker struct {
	d        *domain.SagaDefinition
	arriving []string
	faults   []domain.Fault
}

func (c *sagaChecker) fault(path, format string, args ...any) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, domain.Fault{Path: path, Text: fmt.Sprintf(format, args...)})
	}
}

// err adds what a validator says.
func (c *sagaChecker) err(path string, err error) {
	if err != nil {
		c.fault(path, "%s", err)
	}
}

func (c *sagaChecker) head() {
	d := c.d
	c.err("name", domain.ValidateName("name", d.Name))
	if d.Version < 0 || d.Version > domain.MaxVersion {
		c.fault("version", "%d: want 1 to %d, or none for the next", d.Version, domain.MaxVersion)
	}
	if n := len(d.Summary); n > domain.MaxSummaryBytes {
		c.fault("summary", "%d bytes, the limit is %d", n, domain.MaxSummaryBytes)
	}
	if d.Partitions < 0 || d.Partitions > domain.MaxSagaPartitions {
		c.fault("partitions", "%d: want 1 to %d", d.Partitions, domain.MaxSagaPartitions)
	}
	if d.Correlation != "" && d.CorrelationHeader != "" {
		c.fault("correlation_header", "correlation is given too; want one of them")
	}
	c.expr("correlation", d.Correlation)
	if h := d.CorrelationHeader; domain.PlainText(h, domain.MaxEventType) != h {
		c.fault("correlation_header", "%q: want the name of metadata", domain.PlainText(h, domain.MaxEventType))
	}
	c.names("effects", d.Effects, domain.MaxSagaEffects, func(name string) error { return domain.ValidateName("effect", name) })
	c.names("commands", d.Commands, domain.MaxSagaEffects, func(name string) error { return domain.ValidateName("step", name) })
	c.names("timers", d.Timers, domain.MaxSagaEvents, ownEvent)
	if g := d.Gateway; g != nil {
		if g.Attempts < 0 || g.Attempts > domain.MaxGatewayAttempts {
			c.fault("gateway.attempts", "%d: want 1 to %d, or none for as many as give_up allows", g.Attempts, domain.MaxGatewayAttempts)
		}
		if g.MaxBackoff > domain.MaxGatewayBackoff {
			c.fault("gateway.max_backoff", "%s: want up to %s", g.MaxBackoff.Time(), domain.MaxGatewayBackoff.Time())
		}
		if g.GiveUp > domain.MaxGatewayGiveUp {
			c.fault("gateway.give_up", "%s: want up to %s", g.GiveUp.Time(), domain.MaxGatewayGiveUp.Time())
		}
	}
	if d.OnPoison != "" && d.OnPoison != domain.PoisonHold && d.OnPoison != domain.PoisonSkip {
		c.fault("on_poison", "%q: want hold or skip", d.OnPoison)
	}
	switch d.OnVersion {
	case "", domain.VersionDead, domain.VersionIgnore:
	case domain.VersionCompensate:
		if d.Compensation == nil {
			c.fault("on_version", "compensate: the definition has no compensation")
		}
	default:
		c.fault("on_version", "%q: want deadletter, ignore or compensate", d.OnVersion)
	}
	switch n := len(d.States); {
	case n == 0:
		c.fault("states", "there are none: want at least one")
	case n > domain.MaxSagaStates:
		c.fault("states", "%d states, the limit is %d", n, domain.MaxSagaStates)
	}
	c.known("initial", d.Initial)
	if s := stateOf(d, d.Initial); s != nil && s.Final {
		c.fault("initial", "state %q is final: nothing would ever happen", d.Initial)
	}
}

// known checks that there is a state of that name.
func (c *sagaChecker) known(path, name string) {
	if stateOf(c.d, name) != nil {
		return
	}
	names := make([]string, 0, len(c.d.States))
	for i := range c.d.States {
		names = append(names, c.d.States[i].Name)
	}
	if name == "" {
		c.fault(path, "it is missing; want the name of a state")
		return
	}
	c.fault(path, "there is no state %q%s", domain.PlainText(name, domain.MaxNameBytes), didYouMean(name, names))
}

// names checks a list of names, each of which stands once.
func (c *sagaChecker) names(path string, list []string, most int, valid func(string) error) {
	if len(list) > most {
		c.fault(path, "%d names, the limit is %d", len(list), most)
		return
	}
	for i, name := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if err := valid(name); err != nil {
			c.err(at, err)
		} else if slices.Contains(list[:i], name) {
			c.fault(at, "%q is named twice", name)
		}
	}
}

// ownEvent checks the type of an event that the saga makes for itself.
func ownEvent(typ string) error {
	for _, prefix := range reservedEvents {
		if strings.HasPrefix(typ, prefix) {
			return domain.Invalidf("event type %q: those that begin with %q are Ramet's own", typ, prefix)
		}
	}
	return domain.ValidateEventType(typ)
}

func (c *sagaChecker) expr(path, text string) {
	if len(text) > domain.MaxWhenBytes {
		c.fault(path, "%d bytes, the limit is %d", len(text), domain.MaxWhenBytes)
	}
}

func (c *sagaChecker) triggers() {
	list := c.d.Triggers
	switch {
	case len(list) == 0:
		c.fault("triggers", "there are none: nothing would ever begin")
	case len(list) > domain.MaxSagaTriggers:
		c.fault("triggers", "%d triggers, the limit is %d", len(list), domain.MaxSagaTriggers)
		return
	}
	total := 0
	for i := range list {
		c.trigger(fmt.Sprintf("triggers[%d]", i), &list[i])
		total += len(list[i].Types)
	}
	if total > domain.MaxSagaEvents {
		c.fault("triggers", "%d types of events, the limit is %d", total, domain.MaxSagaEvents)
	}
}

// CheckTrigger looks at where events come from, for others than sagas; path begins what is wrong.
//
// Errors: [domain.ErrInvalid].
func CheckTrigger(path string, t *domain.SagaTrigger) error {
	var c sagaChecker
	if c.trigger(path, t); len(c.faults) > 0 {
		return domain.Invalidf("%s", c.faults[0])
	}
	return nil
}

func (c *sagaChecker) trigger(path string, t *domain.SagaTrigger) {
	valid := domain.ValidateEventType
	switch t.Source {
	case "", domain.SourceAggregate:
		if t.Of == "" {
			c.fault(path+".of", "%q: want the type of an aggregate, or \"*\" for any", t.Of)
		} else if t.Of != domain.AnyEvent {
			c.err(path+".of", domain.ValidateAggregateType(t.Of))
		}
	case domain.SourceFact:
		if t.Of != domain.AnyEvent {
			c.err(path+".of", domain.ValidateName("saga", t.Of))
		}
	case domain.SourceResult:
		if t.Of != domain.AnyEvent {
			c.err(path+".of", domain.ValidateName("effect", t.Of))
		}
		valid = func(typ string) error {
			if !slices.Contains(domain.ResultTypes, domain.ResultType(typ)) {
				return domain.Invalidf("%q: want Succeeded, Failed or TimedOut", domain.PlainText(typ, domain.MaxEventType))
			}
			return nil
		}
	case domain.SourceWorkflow:
		valid = ownEvent
		if t.Of != "" {
			c.fault(path+".of", "events of source workflow are of nobody; leave it out")
		}
	default:
		c.fault(path+".source", "%q: want aggregate, workflow_event, effect_result or workflow", domain.PlainText(string(t.Source), domain.MaxNameBytes))
	}
	if len(t.Types) == 0 && t.Source != domain.SourceResult {
		c.fault(path+".types", "there are none: want the types of events that are taken")
	}
	c.names(path+".types", t.Types, domain.MaxSagaEvents, valid)
}

func (c *sagaChecker) state(i int) {
	s := &c.d.States[i]
	path := "states." + s.Name
	if err := domain.ValidateName("name", s.Name); err != nil {
		c.err(fmt.Sprintf("states[%d].name", i), err)
		return
	}
	for k := range i {
		if c.d.States[k].Name == s.Name {
			c.fault(fmt.Sprintf("states[%d].name", i), "%q is the name of states[%d] too: each state needs its own", s.Name, k)
			return
		}
	}
	switch {
	case s.Outcome != "" && !s.Final:
		c.fault(path+".outcome", "only final states have an outcome")
	case s.Outcome != "" && s.Outcome != domain.OutcomeSucceeded && s.Outcome != domain.OutcomeFailed:
		c.fault(path+".outcome", "%q: want succeeded or failed", s.Outcome)
	}
	if s.Final {
		if len(s.On) > 0 {
			c.fault(path+".on", "the state is final: nothing comes after it")
		}
		if s.Timeout != nil {
			c.fault(path+".timeout", "the state is final: nothing comes after it")
		}
		return
	}
	c.reactions(path, s)
}

// reactions checks that a state says what it does with every event.
func (c *sagaChecker) reactions(path string, s *domain.SagaState) {
	if len(s.On) > domain.MaxSagaEvents {
		c.fault(path+".on", "%d reactions, the limit is %d", len(s.On), domain.MaxSagaEvents)
		return
	}
	for _, typ := range slices.Sorted(maps.Keys(s.On)) {
		at := path + ".on." + typ
		if typ != domain.AnyEvent {
			c.err(at, domain.ValidateEventType(typ))
		}
		if r := s.On[typ]; !slices.Contains(domain.Reactions, r) {
			c.fault(at, "%q: want handle, defer, ignore or fail", domain.PlainText(string(r), domain.MaxNameBytes))
		}
	}
	coming := c.arriving
	if t := s.Timeout; t != nil {
		if t.After == 0 {
			c.fault(path+".timeout.after", "it is missing; want a span of time, as 30m")
		}
		if err := ownEvent(t.Event); err != nil {
			c.err(path+".timeout.event", err)
		} else {
			coming = append(slices.Clone(coming), t.Event)
			if r := s.On[t.Event]; r == domain.Defer || r == "" && s.On[domain.AnyEvent] == domain.Defer {
				c.fault(path+".on", "%q is deferred: the time-out of a state is void when that is left, so it would never come", t.Event)
			}
		}
	}
	if s.On[domain.AnyEvent] != "" {
		return
	}
	var missing []string
	for _, typ := range coming {
		if s.On[typ] == "" {
			missing = append(missing, typ)
		}
	}
	slices.Sort(missing)
	if missing = slices.Compact(missing); len(missing) == 0 {
		return
	}
	const most = 8
	text := strings.Join(missing[:min(len(missing), most)], ", ")
	if more := len(missing) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	c.fault(path+".on", "it does not say what to do with %s; name each, or \"*\" for all others", text)
}

func (c *sagaChecker) event(i int) {
	e := &c.d.Events[i]
	path := "events." + e.Type
	if i == domain.MaxSagaEvents {
		c.fault("events", "%d events, the limit is %d", len(c.d.Events), domain.MaxSagaEvents)
	}
	if i >= domain.MaxSagaEvents {
		return
	}
	if err := domain.ValidateEventType(e.Type); err != nil {
		c.err(fmt.Sprintf("events[%d].type", i), err)
		return
	}
	for k := range i {
		if c.d.Events[k].Type == e.Type {
			c.fault(fmt.Sprintf("events[%d].type", i), "%q is named twice", e.Type)
			return
		}
	}
	low, high := max(e.MinVersion, 1), e.MaxVersion
	if e.MinVersion < 0 || high < 0 || high != 0 && low > high || low > domain.MaxVersion || high > domain.MaxVersion {
		c.fault(path+".versions", "%d to %d: want versions such as 1..3", e.MinVersion, high)
		return
	}
	c.upcasts(path, e, low, high)
}

// maxUpcasts bounds how many versions back an event may be.
const maxUpcasts = 100

func (c *sagaChecker) upcasts(path string, e *domain.SagaEvent, low, high int) {
	if len(e.Upcast) == 0 {
		return
	}
	if high == 0 || high-low > maxUpcasts {
		c.fault(path+".upcast", "want versions with an end, as 1..3, and up to %d of them", maxUpcasts)
		return
	}
	seen := map[int]bool{}
	for i, u := range e.Upcast {
		at := fmt.Sprintf("%s.upcast.%d", path, u.From)
		switch {
		case u.From < low || u.From >= high:
			c.fault(at, "there is nothing to make of version %d: %d to %d are taken", u.From, low, high)
		case seen[u.From]:
			c.fault(fmt.Sprintf("%s.upcast[%d]", path, i), "version %d stands twice", u.From)
		case u.Expr == "":
			c.fault(at, "it is empty; want an expression over payload")
		}
		c.expr(at, u.Expr)
		seen[u.From] = true
	}
	for v := low; v < high; v++ {
		if !seen[v] {
			c.fault(path+".upcast", "version %d is taken, but nothing makes version %d of it", v, v+1)
			return
		}
	}
}

func (c *sagaChecker) program() {
	d := c.d
	switch {
	case d.Script == "" && len(d.Nodes) == 0:
		c.fault("script", "there is no program; want script, or nodes")
	case d.Script != "" && len(d.Nodes) > 0:
		c.fault("nodes", "script is given too; want one of them")
	case len(d.Script) > domain.MaxSagaBytes:
		c.fault("script", "%d bytes, the limit is %d", len(d.Script), domain.MaxSagaBytes)
	}
	c.nodes("nodes", d.Nodes)
}

func (c *sagaChecker) nodes(path string, nodes []domain.SagaNode) {
	if len(nodes) > domain.MaxSagaNodes {
		c.fault(path, "%d nodes, the limit is %d", len(nodes), domain.MaxSagaNodes)
		return
	}
	for i := range nodes {
		n := &nodes[i]
		at := path + "." + n.Name
		if len(n.Name) > domain.MaxNameBytes || !nodePattern.MatchString(n.Name) {
			c.fault(fmt.Sprintf("%s[%d].name", path, i), "%q: want a lower-case letter first, then such, digits and '_', up to %d in all",
				domain.PlainText(n.Name, domain.MaxNameBytes), domain.MaxNameBytes)
			continue
		}
		if slices.ContainsFunc(nodes[:i], func(o domain.SagaNode) bool { return o.Name == n.Name }) {
			c.fault(fmt.Sprintf("%s[%d].name", path, i), "%q is named twice", n.Name)
		}
		if n.Expr == "" {
			c.fault(at+".expr", "it is empty; want a Rhai expression")
		}
		if len(n.Expr) > domain.MaxScriptBytes {
			c.fault(at+".expr", "%d bytes, the limit is %d", len(n.Expr), domain.MaxScriptBytes)
		}
		c.expr(at+".when", n.When)
	}
}

func (c *sagaChecker) compensation() {
	k := c.d.Compensation
	if k == nil {
		return
	}
	if len(k.Steps) == 0 {
		c.fault("compensation.steps", "there are none: want the steps that can be undone")
	}
	c.names("compensation.steps", k.Steps, domain.MaxSagaSteps, func(name string) error { return domain.ValidateName("step", name) })
	c.names("compensation.effects", k.Effects, domain.MaxSagaEffects, func(name string) error { return domain.ValidateName("effect", name) })
	if k.Attempts < 0 || k.Attempts > domain.MaxUndoAttempts {
		c.fault("compensation.attempts", "%d: want 1 to %d", k.Attempts, domain.MaxUndoAttempts)
	}
	c.known("compensation.done", k.Done)
	c.known("compensation.failed", k.Failed)
	switch {
	case c.d.Script != "" && len(k.Nodes) > 0:
		c.fault("compensation.nodes", "the program is a script, of which the function compensate says how a step is undone")
	case c.d.Script == "" && len(c.d.Nodes) > 0 && len(k.Nodes) == 0:
		c.fault("compensation.nodes", "there are none: want nodes that say what undoes a step, such as `effect:` and `payload:`")
	}
	c.nodes("compensation.nodes", k.Nodes)
}

// arriving are the types of events that may come to an instance in any state,
// in order: those of triggers, of timers, and of results of the effects that it
// may ask for, and refusals of its commands. The time-out of a state comes only there. "*" is among
// them where results of any effect may come.
func arriving(d *domain.SagaDefinition) []string {
	var list []string
	for i := range d.Triggers {
		t := &d.Triggers[i]
		switch {
		case t.Source != domain.SourceResult:
			list = append(list, t.Types...)
		case t.Of == domain.AnyEvent:
			list = append(list, domain.AnyEvent)
		default:
			for _, r := range domain.ResultTypes {
				if len(t.Types) == 0 || slices.Contains(t.Types, string(r)) {
					list = append(list, domain.ResultEvent(t.Of, r))
				}
			}
		}
	}
	for _, e := range d.Effects {
		for _, r := range domain.ResultTypes {
			list = append(list, domain.ResultEvent(e, r))
		}
	}
	for _, step := range d.Commands {
		list = append(list, domain.RefusedEvent(step))
	}
	list = append(list, d.Timers...)
	slices.Sort(list)
	return slices.Compact(list)
}

// stateOf finds a state; nil where there is none of that name.
func stateOf(d *domain.SagaDefinition, name string) *domain.SagaState {
	for i := range d.States {
		if d.States[i].Name == name {
			return &d.States[i]
		}
	}
	return nil
}
