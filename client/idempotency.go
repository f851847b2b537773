package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	random "math/rand/v2"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// keyHeader is the header of a request's key.
const keyHeader = "Idempotency-Key"

// once is the key of a request in its context.
type once struct{}

// Once has what is made by a request with that context be made once: asked again under
// the same key, within a day, a node gives the answer of the first time. It counts for
// operations that create, such as [Client.Submit]; others have no key. A secret that the first answer told, as that of a
// new webhook, is told again until it is rotated.
func Once(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, once{}, key)
}

// keyOf is the key that a request of an operation has, each time that it is sent; "" is none.
func (c *Client) keyOf(ctx context.Context, creates bool) string {
	key, _ := ctx.Value(once{}).(string)
	switch {
	case !creates:
		return ""
	case key == "" && c.keyed:
		return rand.Text()
	}
	return key
}

// Pauses between two requests for the same.
const (
	againMin = 100 * time.Millisecond
	againMax = 3 * time.Second
)

// again does what may be done twice until it comes to something, for [Config.Retry].
func (c *Client) again(ctx context.Context, safe bool, do func() error) error {
	begun, lost := time.Now(), error(nil)
	for pause := againMin; ; pause = min(2*pause, againMax) {
		err := do()
		rest := pause - time.Duration(random.Int64N(int64(pause)/2))
		if e, ok := errors.AsType[*Error](err); ok {
			rest = max(rest, e.after)
		}
		if errors.Is(err, ErrUnanswered) {
			lost = cmp.Or(lost, err)
		} else if lost != nil && errors.Is(err, domain.ErrUnavailable) {
			err = lost // it may have been done, whoever does not answer since
		}
		late := time.Since(begun)+rest > c.retry
		if err == nil || !safe || late || !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, domain.ErrExhausted) {
			return err
		}
		t := time.NewTimer(rest)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}
