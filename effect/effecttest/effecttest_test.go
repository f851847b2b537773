package effecttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
)

// memory is a provider and its target in one, without anything between: the
// suite must be content with what does all it asks for.
type memory struct {
	mu      sync.Mutex
	asked   map[string]int
	applied map[string]int
	fail    int
	refuse  bool
	away    bool
	closed  bool
	size    int
	hang    chan struct{} // nil: nobody hangs
	after   bool
	arrived chan struct{}
}

var (
	_ effect.Provider   = (*memory)(nil)
	_ effecttest.Target = (*memory)(nil)
)

func (m *memory) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.closed || m.away {
		m.mu.Unlock()
		return nil, errors.New("memory is away")
	}
	m.asked[call.CommandID]++
	m.asked[""]++
	if m.fail > 0 {
		m.fail--
		refuse := m.refuse
		m.mu.Unlock()
		if refuse {
			return nil, &effect.Refused{Cause: "no", Answer: json.RawMessage(`"no"`)}
		}
		return nil, errors.New("no luck")
	}
	hang, after, arrived := m.hang, m.after, m.arrived
	if hang == nil || after {
		m.applied[call.CommandID] = 1
	}
	size := m.size
	m.mu.Unlock()
	if hang != nil {
		arrived <- struct{}{}
		select {
		case <-hang:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return effect.Body(make([]byte, size), 0), nil
}

func (m *memory) Check(context.Context, domain.TenantID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return errors.New("memory is away")
	}
	return nil
}

func (m *memory) Target() string { return "memory" }

func (m *memory) Close() error {
	m.set(func() { m.closed = true })
	return nil
}

func (m *memory) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func (m *memory) Asked(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[key]
}

func (m *memory) Applied(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.applied[key]
}

func (m *memory) Fail(n int, refused bool) { m.set(func() { m.fail, m.refuse = n, refused }) }
func (m *memory) Answer(bytes int)         { m.set(func() { m.size = bytes }) }

func (m *memory) Away() func() {
	m.set(func() { m.away = true })
	return func() { m.set(func() { m.away = false }) }
}

func (m *memory) Hang(applied bool) (<-chan struct{}, func()) {
	hang, arrived := make(chan struct{}), make(chan struct{}, 100)
	m.set(func() { m.hang, m.after, m.arrived = hang, applied, arrived })
	return arrived, sync.OnceFunc(func() {
		m.set(func() { m.hang = nil })
		close(hang)
	})
}

func TestSuite(t *testing.T) {
	effecttest.Run(t, effecttest.Config{
		Open: func(*testing.T) (effect.Provider, effecttest.Target) {
			m := &memory{asked: map[string]int{}, applied: map[string]int{}}
			return m, m
		},
		Payload: json.RawMessage(`{}`),
	})
}
