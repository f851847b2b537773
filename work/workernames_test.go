package work

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// TestOneContextLeavesNamesForWorkersOfOthers: who invents a name for each request in one
// context keeps nobody out of another.
func TestOneContextLeavesNamesForWorkersOfOthers(t *testing.T) {
	k, now := &workerCache{}, time.Now()
	var err error
	for i := 0; err == nil && i <= maxWorkers; i++ {
		_, err = k.due(domain.Worker{Context: 7, Actor: domain.ActorID(1 + i%3), Name: fmt.Sprint("w", i)}, now)
	}
	if !errors.Is(err, domain.ErrExhausted) {
		t.Fatalf("got %v", err)
	}
	if due, err := k.due(domain.Worker{Context: 7, Actor: 1, Name: "w0"}, now.Add(workerEvery)); !due || err != nil {
		t.Errorf("one that is known is refused: %v", err)
	}
	if due, err := k.due(domain.Worker{Context: 8, Name: "fresh"}, now); !due || err != nil {
		t.Errorf("one of another context is refused: %v", err)
	}
	if _, err := k.due(domain.Worker{Context: 7, Actor: 1, Name: "later"}, now.Add(workerKept+workerEvery+1)); err != nil {
		t.Errorf("one is refused when the others are long gone: %v", err)
	}
}

// TestOneActorLeavesNamesForWorkersOfOthers: one executor of a context keeps the workers of its
// other actors out by no number of names.
func TestOneActorLeavesNamesForWorkersOfOthers(t *testing.T) {
	k, now := &workerCache{}, time.Now()
	var err error
	for i := 0; err == nil && i <= maxOwnWorkers; i++ {
		_, err = k.due(domain.Worker{Context: 7, Actor: 1, Name: fmt.Sprint("w", i)}, now)
	}
	if !errors.Is(err, domain.ErrExhausted) {
		t.Fatalf("got %v", err)
	}
	if due, err := k.due(domain.Worker{Context: 7, Actor: 2, Name: "fresh"}, now); !due || err != nil {
		t.Errorf("one of another actor is refused: %v", err)
	}
	if due, err := k.due(domain.Worker{Context: 7, Actor: 1, Name: "w0"}, now); !due || err != nil {
		t.Errorf("one that is known is refused: %v", err)
	}
}
