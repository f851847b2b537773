package durable

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file has what a script has others do: its children, which are made in the commit
// that remembers them, and waited for as signals are.

// callAgain is when a child is asked for again that cannot be made now.
const callAgain = 5 * time.Second

// callAll answers a call: when all its children have ended.
func (s *Script) callAll(c *call) (Answer, error) {
	places := make([]*place, len(c.Calls))
	for i := range c.Calls {
		p, over, err := s.callOne(c, &c.Calls[i])
		if err != nil || !over {
			return Answer{Suspend: err == nil}, err
		}
		places[i] = p
	}
	for {
		open, err := s.returned(c, places)
		if err != nil {
			return Answer{}, err
		}
		if len(open) == 0 {
			return Answer{Done: true, Ends: endsOf(places)}, nil
		}
		what := pending{}
		for _, p := range open {
			what.children = append(what.children, p.child)
		}
		if over, err := s.hold(c, open[0].placeID, what); err != nil || !over {
			return Answer{Suspend: err == nil}, err
		}
	}
}

func endsOf(places []*place) []End {
	ends := make([]End, len(places))
	for i, p := range places {
		ends[i] = End{Value: p.value, Failure: p.failure, Child: p.child}
	}
	return ends
}

// callOne gives a call its place, and makes its child where the history has none. over is
// false where that cannot be now, and the script is to end.
func (s *Script) callOne(c *call, one *domain.Call) (p *place, over bool, err error) {
	if s.clean != nil {
		one.Name = s.clean(one.Name)
	}
	id, p, err := s.nextOf(c, DoCall, one.Name)
	if err != nil || p != nil {
		return p, true, err
	}
	return s.makeChild(c, id, Event{Kind: DoCall, Name: id.name, N: id.n}, one)
}

// makeChild makes a child in the commit that writes e, the event that says so. That one can
// never be made is remembered as the failure of the call.
func (s *Script) makeChild(c *call, id placeID, e Event, one *domain.Call) (p *place, over bool, err error) {
	for {
		var item string
		err := s.store.Call(c.ctx, s.h.events, *one, domain.CalledBy{Name: id.name, N: id.n}, func(child string) (string, error) {
			e.Child = child
			var err error
			item, err = s.encode(&e)
			return item, err
		})
		switch {
		case err == nil:
			return s.took(e, item), true, nil
		case errors.Is(err, ErrLater):
			// What is in the way is often over soon; the script's slot is for others meanwhile.
			if over, err := s.hold(c, id, pending{until: s.store.Now().Add(callAgain)}); err != nil || !over {
				return nil, false, err
			}
		case errors.Is(err, ErrLost), errors.Is(err, domain.ErrUnavailable), c.ctx.Err() != nil:
			return nil, false, err
		default:
			e.Child, e.Ended, e.Failure = "", true, &Failure{Kind: ErrorOf(err).Kind, Text: cut(err.Error(), MaxFailure)}
			p, err = s.write(c.ctx, e)
			return p, true, err
		}
	}
}

// returned looks which children have ended, and remembers how. It returns the places of
// those that have not.
func (s *Script) returned(c *call, places []*place) (open []*place, err error) {
	for _, p := range places {
		if !p.done && !slices.Contains(open, p) {
			open = append(open, p)
		}
	}
	if len(open) == 0 {
		return nil, nil
	}
	children := make([]string, len(open))
	for i, p := range open {
		children[i] = p.child
	}
	ends, err := s.store.Ended(c.ctx, children)
	if err != nil {
		return nil, err
	}
	var still []*place
	for i, p := range open {
		end := ends[i]
		if end == nil {
			still = append(still, p)
			continue
		}
		e := Event{Kind: EventReturned, Name: p.name, N: p.n, Failure: end.Failure}
		if e.Failure == nil {
			e.Value, e.Failure = resultValue(end.Result)
		}
		if e.Failure != nil {
			f := *e.Failure
			f.Text, e.Failure = cut(f.Text, MaxFailure), &f
		}
		delete(s.pending, p.placeID)
		if _, err := s.write(c.ctx, e); err != nil {
			return nil, err
		}
	}
	return still, nil
}

// resultValue is what a child has left, as an answer that is remembered.
func resultValue(result map[string]string) (json.RawMessage, *Failure) {
	if result == nil {
		result = map[string]string{}
	}
	value, err := json.Marshal(result)
	if err == nil && len(value) > MaxAnswer {
		err = domain.Limitf("its result has %d bytes, the limit of what is remembered is %d; have it leave where the result is", len(value), MaxAnswer)
	}
	if err != nil {
		return nil, &Failure{Kind: "limit", Text: err.Error()}
	}
	return value, nil
}

// waitOther waits for what is no signal.
func (s *Script) waitOther(c *call) (Answer, error) {
	id, p, err := s.next(c)
	if err != nil {
		return Answer{}, err
	}
	if c.Approval != nil || p != nil && p.child != "" {
		return s.waitApproval(c, id, p)
	}
	first := p == nil
	if first {
		e := Event{Kind: DoWait, Name: id.name, N: id.n, Prerequisite: c.Prerequisite}
		if c.TimeoutMs != nil {
			e.UntilMs = s.store.Now().UnixMilli() + *c.TimeoutMs
		}
		if p, err = s.write(c.ctx, e); err != nil {
			return Answer{}, err
		}
	}
	what := pending{prerequisite: p.prerequisite}
	if p.untilMs != 0 {
		what.until = time.UnixMilli(p.untilMs)
	}
	for !p.done {
		came := Event{Kind: EventCame, Name: id.name, N: id.n}
		switch met, err := s.store.Met(c.ctx, p.prerequisite, first); {
		case errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrConflict) && !errors.Is(err, ErrLost):
			came.Failure = &Failure{Kind: ErrorOf(err).Kind, Text: cut(err.Error(), MaxFailure)}
		case err != nil:
			return Answer{}, err
		case met:
			came.Value = json.RawMessage("true")
		case !what.until.IsZero() && !what.until.After(s.store.Now()):
			came.TimedOut = true
		default:
			if over, err := s.hold(c, id, what); err != nil || !over {
				return Answer{Suspend: err == nil}, err
			}
			continue
		}
		delete(s.pending, id)
		if _, err := s.write(c.ctx, came); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Done: true, Value: p.value, Failure: p.failure, TimedOut: p.timedOut}, nil
}

// waitApproval waits for what a person decides: the child is a flow of that one step.
func (s *Script) waitApproval(c *call, id placeID, p *place) (Answer, error) {
	if p == nil {
		ask := domain.CallApproval(*c.Approval)
		if c.TimeoutMs != nil {
			ask.Deadline = domain.Span((*c.TimeoutMs + 999) / 1000)
		}
		var over bool
		var err error
		if p, over, err = s.makeChild(c, id, Event{Kind: DoWait, Name: id.name, N: id.n}, &domain.Call{Name: id.name, Approval: &ask}); err != nil || !over {
			return Answer{Suspend: err == nil}, err
		}
	}
	for !p.done {
		ends, err := s.store.Ended(c.ctx, []string{p.child})
		if err != nil {
			return Answer{}, err
		}
		if end := ends[0]; end != nil {
			came := Event{Kind: EventCame, Name: id.name, N: id.n, Failure: end.Failure, TimedOut: end.Late}
			if came.Failure == nil && !came.TimedOut {
				came.Value, came.Failure = decision(end)
			}
			delete(s.pending, id)
			if _, err := s.write(c.ctx, came); err != nil {
				return Answer{}, err
			}
			break
		}
		if over, err := s.hold(c, id, pending{children: []string{p.child}}); err != nil || !over {
			return Answer{Suspend: err == nil}, err
		}
	}
	return Answer{Done: true, Value: p.value, Failure: p.failure, TimedOut: p.timedOut}, nil
}

// decision is what a person has decided: whether yes, who, why, and what was answered.
func decision(end *domain.ChildEnd) (json.RawMessage, *Failure) {
	answers := map[string]string{}
	for name, text := range end.Result {
		if name != "by" && name != "comment" {
			answers[name] = text
		}
	}
	value, err := json.Marshal(struct {
		Approved bool              `json:"approved"`
		By       string            `json:"by"`
		Comment  string            `json:"comment"`
		Answers  map[string]string `json:"answers"`
	}{end.Decided, end.Result["by"], end.Result["comment"], answers})
	if err == nil && len(value) > MaxAnswer {
		return nil, &Failure{Kind: "limit", Text: "what was answered is larger than what is remembered"}
	}
	return value, nil
}

// OpenChildren are the children of a history whose ends it does not have.
func OpenChildren(items []string) (children []string, err error) {
	open := map[placeID]string{}
	var order []placeID
	for _, item := range items {
		e, err := DecodeEvent(item)
		if err != nil {
			return nil, err
		}
		id := placeID{verbOf(e.Kind), e.Name, e.N}
		if e.Child != "" && !e.Ended {
			open[id] = e.Child
			order = append(order, id)
		} else {
			delete(open, id)
		}
	}
	for _, id := range order {
		if child, is := open[id]; is {
			children = append(children, child)
		}
	}
	return children, nil
}
