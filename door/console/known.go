package console

import (
	"context"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

const (
	// knownMost bounds the contexts of which it is kept what was found out.
	knownMost = 1000
	// largeFrom is from how many things on that were looked at pages do not wait for it to be
	// found out anew, but for the first time: they show what was known before.
	largeFrom = 5000
	// anewWithin bounds how long that takes which no page waits for.
	anewWithin = 10 * time.Second
)

// known is what was found out of contexts, each kept for a while: it is asked for once for
// all who look, however often a page changes. Whether one may ask at all is looked at before.
type known[T any] struct {
	mu sync.Mutex
	of map[domain.TenantID]*answer[T]
}

// answer is what was found out of one context. Its turn is had by who asks: others wait, and
// have the same, or are shown what was known before where that is large.
type answer[T any] struct {
	turn chan struct{} // capacity 1
	mu   sync.Mutex
	last found[T]
	at   time.Time
}

// found is what was found out by looking at so many things, and for how long it is kept.
type found[T any] struct {
	what   T
	looked int
	keep   time.Duration
}

func (k *known[T]) answer(of domain.TenantID) *answer[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) > knownMost {
		k.of = map[domain.TenantID]*answer[T]{}
	}
	if k.of[of] == nil {
		k.of[of] = &answer[T]{turn: make(chan struct{}, 1)}
	}
	return k.of[of]
}

// get is what is known of the visit's context, or what ask finds out.
func (k *known[T]) get(v *visit, ask func(*visit) (found[T], error)) (T, error) {
	a := k.answer(v.tenant.ID)
	last, good := a.now(v.now)
	if good {
		return last.what, nil
	}
	if last.looked >= largeFrom {
		select {
		case a.turn <- struct{}{}:
			later := *v // the page is written meanwhile
			ctx, cancel := context.WithTimeout(context.WithoutCancel(v.r.Context()), anewWithin)
			later.r = v.r.WithContext(ctx)
			go func() {
				defer cancel()
				a.anew(&later, ask)
			}()
		default: // somebody asks
		}
		return last.what, nil
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-v.r.Context().Done():
		return last.what, v.r.Context().Err()
	}
	if last, good = a.now(v.now); good {
		return last.what, nil
	}
	f, err := ask(v)
	if err == nil {
		a.take(f, v.now)
	}
	return f.what, err
}

// anew asks for a page that does not wait for it, and gives the turn back.
func (a *answer[T]) anew(v *visit, ask func(*visit) (found[T], error)) {
	defer func() { <-a.turn }()
	f, err := ask(v)
	if err != nil {
		f = found[T]{} // the next page asks for itself, and says why it cannot
	}
	a.take(f, v.now)
}

// now is what is known; good is false where that is nothing, or too old.
func (a *answer[T]) now(now time.Time) (last found[T], good bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	age := now.Sub(a.at)
	return a.last, a.last.keep > 0 && age >= 0 && age < a.last.keep
}

func (a *answer[T]) take(f found[T], now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last, a.at = f, now
}

// forget has a context asked about anew.
func (k *known[T]) forget(of domain.TenantID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, of)
}
