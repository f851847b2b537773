package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
)

// memory is a store. It loses answers where lose says so: "before" the item is written, or "after".
type memory struct {
	mu      sync.Mutex
	items   []string
	signals map[string][]string
	calls   []domain.Call // their children are child:1, child:2 …
	ends    map[string]*domain.ChildEnd
	met     map[string]bool
	refuse  error // of calls
	lose    func() string
}

func (m *memory) Load(context.Context) ([]string, error) {
	return append([]string(nil), m.items...), nil
}

func (m *memory) Append(_ context.Context, length int, item string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	how := ""
	if m.lose != nil {
		how = m.lose()
	}
	switch {
	case how == "before":
		return domain.Unavailablef("away")
	case len(m.items) != length:
		return domain.Unavailablef("the history has moved")
	}
	m.items = append(m.items, item)
	if how == "after" {
		return domain.Unavailablef("away")
	}
	return nil
}

func (m *memory) Take(_ context.Context, length int, signal string, item func(json.RawMessage) (string, error)) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.signals[signal]) == 0 {
		return false, nil
	}
	text, err := item(json.RawMessage(m.signals[signal][0]))
	if err != nil {
		return false, err
	}
	how := ""
	if m.lose != nil {
		how = m.lose()
	}
	if how == "before" || len(m.items) != length {
		return false, domain.Unavailablef("away")
	}
	m.signals[signal] = m.signals[signal][1:]
	m.items = append(m.items, text)
	if how == "after" {
		return false, domain.Unavailablef("away")
	}
	return true, nil
}

func (m *memory) Call(ctx context.Context, length int, c domain.Call, _ domain.CalledBy, item func(string) (string, error)) error {
	if m.refuse != nil {
		return m.refuse
	}
	text, err := item(fmt.Sprintf("child:%d", len(m.calls)+1))
	if err != nil {
		return err
	}
	before := len(m.items)
	err = m.Append(ctx, length, text)
	if len(m.items) > before {
		m.calls = append(m.calls, c)
	}
	return err
}

func (m *memory) Ended(_ context.Context, children []string) ([]*domain.ChildEnd, error) {
	ends := make([]*domain.ChildEnd, len(children))
	for i, child := range children {
		ends[i] = m.ends[child]
	}
	return ends, nil
}

func (*memory) Now() time.Time { return time.Now() }

func (m *memory) Met(_ context.Context, p string, _ bool) (bool, error) {
	if p == "never" {
		return false, domain.Conflictf("never")
	}
	return m.met[p], nil
}

// attempt is one attempt at the job of a store.
func (m *memory) attempt() *durable.Script {
	return durable.NewScript(m, "7/job:1:2/100", func(bool) {})
}

// ask wants an answer.
func ask(t *testing.T, s *durable.Script, line string) durable.Answer {
	t.Helper()
	a, err := try(t, s, line)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return a
}

func try(t *testing.T, s *durable.Script, line string) (durable.Answer, error) {
	t.Helper()
	r, err := durable.ParseRequest([]byte(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return s.Do(t.Context(), r)
}

// want asks, and compares the answer as JSON.
func want(t *testing.T, s *durable.Script, line, answer string) durable.Answer {
	t.Helper()
	a := ask(t, s, line)
	key := a.Key
	a.Key = ""
	if got, _ := json.Marshal(a); string(got) != answer {
		t.Fatalf("%s: got %s, want %s", line, got, answer)
	}
	a.Key = key
	return a
}
