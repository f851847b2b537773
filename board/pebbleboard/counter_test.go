package pebbleboard_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
)

// Numbers go past the committer, so what keeps them in order is tested apart:
// many callers, more counters than stay in memory, and another life.
func TestNextGivesEveryNumberOnce(t *testing.T) {
	const callers, counters, rounds = 4, 9 << 10, 2
	dir := t.TempDir()
	given := make([]map[int64]bool, counters)
	for i := range given {
		given[i] = map[int64]bool{}
	}
	var mu sync.Mutex
	for range rounds {
		b, err := pebbleboard.Open(dir, pebbleboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for i := range counters {
					n, err := b.Next(t.Context(), 1, fmt.Sprint("seq:", i), 1)
					mu.Lock()
					if err != nil || given[i][n] {
						t.Errorf("counter %d: got %d, %v, which was given before", i, n, err)
					}
					given[i][n] = true
					mu.Unlock()
					if i%512 == 0 { // the counters so far go to the store, and out of memory
						if err := b.Commit(t.Context(), *new(board.Batch).Add("r", "n", 1)); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for i, numbers := range given {
		if len(numbers) != callers*rounds || !numbers[1] || !numbers[callers*rounds] {
			t.Fatalf("counter %d gave %d numbers, want 1 to %d", i, len(numbers), callers*rounds)
		}
	}
}
