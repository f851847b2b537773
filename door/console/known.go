package console

import (
	"sync"
	"time"
)

// knownMost bounds the things of which it is kept what was found out.
const knownMost = 1000

// known is what was found out of things, each kept for a while: it is asked for once for all
// who look, however often a page changes. Whether one may ask at all is looked at before.
type known[K comparable, T any] struct {
	mu sync.Mutex
	of map[K]*answer[T]
}

// answer is what was found out of one thing. Its mutex is held by who asks: others wait, and
// have the same.
type answer[T any] struct {
	mu    sync.Mutex
	at    time.Time // zero: never
	keep  time.Duration
	found T
}

func (k *known[K, T]) answer(of K) *answer[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) > knownMost {
		k.of = map[K]*answer[T]{}
	}
	if k.of[of] == nil {
		k.of[of] = &answer[T]{}
	}
	return k.of[of]
}

// get is what is known of a thing, or what ask finds out, which says for how long to keep it.
func (k *known[K, T]) get(of K, now time.Time, ask func() (T, time.Duration, error)) (T, error) {
	a := k.answer(of)
	a.mu.Lock()
	defer a.mu.Unlock()
	if age := now.Sub(a.at); a.at.IsZero() || age < 0 || age >= a.keep {
		found, keep, err := ask()
		if err != nil {
			return found, err
		}
		a.at, a.keep, a.found = now, keep, found
	}
	return a.found, nil
}

// forget has a thing asked about anew.
func (k *known[K, T]) forget(of K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, of)
}
