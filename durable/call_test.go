package durable_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
)

const billAndMail = `{"do":"call","calls":[{"name":"bill","blueprint":"billing","params":{"n":"17"}},{"name":"mail","script":"exit 1"}]}`

func TestChildrenAreMadeOnceAndWaitedForTogether(t *testing.T) {
	m := &memory{ends: map[string]*domain.ChildEnd{}}
	s := m.attempt()
	want(t, s, billAndMail, `{"done":false,"suspend":true}`)
	if got := s.Suspended(); got == nil || got.Kind != "call" || got.Name != "bill" || got.AnyChild ||
		!slices.Equal(got.Children, []string{"child:1", "child:2"}) {
		t.Fatalf("suspended: %+v", got)
	}
	m.ends["child:2"] = &domain.ChildEnd{Failure: &domain.StepFailure{Kind: "failed", Text: "no mail", Code: 1}}
	s = m.attempt()
	want(t, s, billAndMail, `{"done":false,"suspend":true}`)
	if got := s.Suspended(); !slices.Equal(got.Children, []string{"child:1"}) {
		t.Fatalf("suspended: %+v", got)
	}
	m.ends["child:1"] = &domain.ChildEnd{Result: map[string]string{"paid": "17"}}
	answer := `{"done":true,"ends":[{"value":{"paid":"17"},"child":"child:1"},{"failure":{"kind":"failed","text":"no mail","code":1},"child":"child:2"}]}`
	want(t, m.attempt(), billAndMail, answer)
	m.ends = nil // what was remembered is not looked for
	s = m.attempt()
	want(t, s, billAndMail, answer)
	want(t, s, `{"do":"call","calls":[{"name":"bill","blueprint":"billing"}]}`, `{"done":false,"suspend":true}`) // another of that name
	if len(m.calls) != 3 {
		t.Errorf("%d children, want 3", len(m.calls))
	}
	s = m.attempt()
	if _, err := try(t, s, `{"do":"call","calls":[{"name":"other","blueprint":"billing"}]}`); !errors.Is(err, durable.ErrDrift) {
		t.Errorf("another call than before: %v", err)
	}
}

// A child whose commit was made and not told is found, and made no second time.
func TestAChildIsMadeOnceWhereAnswersAreLost(t *testing.T) {
	lost := map[int]string{1: "after", 3: "before", 5: "after"}
	n := 0
	m := &memory{ends: map[string]*domain.ChildEnd{}, lose: func() string { n++; return lost[n] }}
	for range 2 {
		s := m.attempt()
		for try := 0; ; try++ {
			r, err := durable.ParseRequest([]byte(billAndMail))
			if err != nil {
				t.Fatal(err)
			}
			a, err := s.Do(t.Context(), r)
			if errors.Is(err, domain.ErrUnavailable) && try < 10 {
				continue
			}
			if err != nil || !a.Suspend {
				t.Fatalf("got %+v, %v", a, err)
			}
			break
		}
	}
	if len(m.calls) != 2 {
		t.Errorf("%d children, want 2", len(m.calls))
	}
}

func TestThatAChildCannotBeMadeIsRemembered(t *testing.T) {
	m := &memory{refuse: domain.NotFoundf("there is no blueprint")}
	line := `{"do":"call","calls":[{"name":"bill","blueprint":"billing"}]}`
	answer := `{"done":true,"ends":[{"failure":{"kind":"not_found","text":"there is no blueprint"}}]}`
	want(t, m.attempt(), line, answer)
	m.refuse = nil
	want(t, m.attempt(), line, answer)
	if len(m.calls) != 0 {
		t.Errorf("%d children", len(m.calls))
	}
}

func TestAChildThatCannotBeMadeNowIsMadeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{refuse: durable.ErrLater}
		s := m.attempt()
		want(t, s, billAndMail, `{"done":false,"suspend":true}`)
		if got := s.Suspended(); got == nil || time.Until(got.Until()) <= 0 || time.Until(got.Until()) > time.Minute {
			t.Fatalf("suspended: %+v", got)
		}
		m.refuse = nil
		want(t, m.attempt(), billAndMail, `{"done":false,"suspend":true}`)
		if len(m.calls) != 2 {
			t.Errorf("%d children", len(m.calls))
		}
	})
}

func TestWaitForAPrerequisite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{met: map[string]bool{}}
		const line = `{"do":"wait","name":"data","prerequisite":"file:in.csv","timeout_ms":3600000}`
		s := m.attempt()
		want(t, s, line, `{"done":false,"suspend":true}`)
		if got := s.Suspended(); got == nil || !slices.Equal(got.Prerequisites, []string{"file:in.csv"}) || time.Until(got.Until()) != time.Hour {
			t.Fatalf("suspended: %+v", got)
		}
		m.met["file:in.csv"] = true
		want(t, m.attempt(), line, `{"done":true,"value":true}`)
		m.met = nil
		s = m.attempt()
		want(t, s, line, `{"done":true,"value":true}`)
		want(t, s, `{"do":"wait","name":"n","prerequisite":"never"}`, `{"done":true,"failure":{"kind":"conflict","text":"never"}}`)
		want(t, s, `{"do":"wait","name":"late","prerequisite":"x","timeout_ms":1}`, `{"done":true,"timed_out":true}`)
	})
}

func TestWaitForAPerson(t *testing.T) {
	m := &memory{ends: map[string]*domain.ChildEnd{}}
	const line = `{"do":"wait","name":"ok","approval":{"text":"pay 17?","approvers":["admin"]},"timeout_ms":60000}`
	s := m.attempt()
	want(t, s, line, `{"done":false,"suspend":true}`)
	if got := m.calls[0].Approval; got == nil || got.Text != "pay 17?" || got.Deadline != 60 || len(got.Approvers) != 1 {
		t.Fatalf("asked: %+v", got)
	}
	m.ends["child:1"] = &domain.ChildEnd{Decided: true, Result: map[string]string{"by": "9", "comment": "fine", "amount": "5"}}
	want(t, m.attempt(), line, `{"done":true,"value":{"approved":true,"by":"9","comment":"fine","answers":{"amount":"5"}}}`)
	m.items, m.calls = nil, nil
	want(t, m.attempt(), line, `{"done":true,"value":{"approved":true,"by":"9","comment":"fine","answers":{"amount":"5"}}}`)
	m.items, m.calls = nil, nil
	m.ends["child:1"] = &domain.ChildEnd{Late: true, Result: map[string]string{"by": "deadline"}}
	want(t, m.attempt(), line, `{"done":true,"timed_out":true}`)
}

func TestBadCallsAreRefused(t *testing.T) {
	for line, says := range map[string]string{
		`{"do":"call"}`: "want 1 to 1000",
		`{"do":"call","calls":[{"blueprint":"b"}]}`:                          "name",
		`{"do":"call","calls":[{"name":"a"}]}`:                               "want one of blueprint and script",
		`{"do":"call","calls":[{"name":"a","blueprint":"b","script":"x"}]}`:  "want one of blueprint and script",
		`{"do":"call","calls":[{"name":"a","script":"x","version":2}]}`:      "version",
		`{"do":"call","calls":[{"name":"a","blueprint":"b","timeout":2}]}`:   "are for a script",
		`{"do":"call","calls":[{"name":"a","approval":{}}]}`:                 "waited for",
		`{"do":"wait","name":"a","signal":"s","prerequisite":"p"}`:           "want one of signal, prerequisite and approval",
		`{"do":"wait","name":"a","approval":{"deadline":60},"timeout_ms":5}`: "which is the same",
		`{"do":"cal"}`: "did you mean call?",
	} {
		if _, err := durable.ParseRequest([]byte(line)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want it to say %q", line, err, says)
		}
	}
}

func TestOpenChildren(t *testing.T) {
	m := &memory{ends: map[string]*domain.ChildEnd{}}
	ask(t, m.attempt(), billAndMail)
	m.ends["child:1"] = &domain.ChildEnd{}
	ask(t, m.attempt(), billAndMail)
	open, err := durable.OpenChildren(m.items)
	if diff := cmp.Diff([]string{"child:2"}, open); diff != "" || err != nil {
		t.Errorf("%v, %s", err, diff)
	}
}
