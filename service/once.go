package service

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// onceFor is how long a request is known by its key.
	onceFor = 24 * time.Hour

	// onceMost bounds the answer that is kept, in bytes: a longer one is found again
	// by doing the request again, which creates nothing.
	onceMost = 64 << 10

	// keepWithin bounds how long an answer is written whose caller waits for it, or has gone.
	keepWithin = 10 * time.Second
)

// Keys is what the operations need of the board to know a request again.
type Keys interface {
	Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error)
	Commit(ctx context.Context, b board.Batch) error
	Next(ctx context.Context, space board.Space, counter string, n int) (int64, error)
}

// once is a request that its caller has given a key. What it creates has names
// that were settled before: so it may be done again when nobody knows what became
// of it. A nil once is a request without a key.
type once struct {
	keys  Keys
	space board.Space
	key   string // of its record
	seed  string // what names are made of
	rec   board.Record
	again bool // the record was there before: the request may have been done
	told  bool // what it made was found, and is what is answered
}

// CallOnce calls an operation that creates for a request that has a key: one of the
// same caller that is known already creates nothing more. sum is what the request
// asks for. replayed is true where result is the answer that was given before.
//
// Errors: those of the operation; [domain.ErrInvalid] for the key;
// [domain.ErrConflict] where the key stands for another request.
func (c Caller) CallOnce(ctx context.Context, o *Operation, tenant domain.TenantID, params any, key string,
	sum [32]byte) (result any, replayed bool, err error) {
	if key == "" || len(key) > api.MaxRequestKey {
		return nil, false, domain.Invalidf("the request's key (Idempotency-Key) has %d bytes: want 1 to %d", len(key), api.MaxRequestKey)
	}
	if err := c.Admit(ctx, o, tenant); err != nil {
		return nil, false, err
	}
	n := &once{keys: c.api.parts.Keys, space: layout.SpaceOf(tenant), key: layout.Once(c.who.Actor, key)}
	if o.Secret { // whoever reads the board must not try passwords against it
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write(sum[:])
		sum = [32]byte(mac.Sum(nil))
	}
	if err := n.begin(ctx, o.Name+" "+hex.EncodeToString(sum[:])); err != nil {
		return nil, false, err
	}
	if answer := n.rec.Get(layout.OnceAnswer); answer != "" {
		return json.RawMessage(answer), true, nil
	}
	c.once = n
	if result, err = o.Call(ctx, c, params); err != nil {
		return nil, false, err
	}
	if o.Secret { // what it made is looked up again, where it lies sealed
		return result, n.told, nil
	}
	if text, err := json.Marshal(result); err == nil && len(text) <= onceMost {
		// A caller that has gone is who will ask again. Where this fails the request is done again,
		// under the same names.
		keeping, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepWithin)
		defer cancel()
		_ = n.put(keeping, board.Field{Name: layout.OnceAnswer, Value: string(text)})
	}
	return result, false, nil
}

// begin finds the request's record, or makes it.
func (n *once) begin(ctx context.Context, asked string) error {
	for {
		recs, err := n.keys.Get(ctx, n.space, n.key)
		if err != nil {
			return err
		}
		if n.rec = recs[0]; n.rec != nil {
			n.again = true
			if n.seed = n.rec.Get(layout.OnceSeed); n.rec.Get(layout.OnceAsked) != asked {
				return domain.Conflictf("this Idempotency-Key stands for another request of yours within the last 24 hours; take a new key for a new request")
			}
			return nil
		}
		b := board.Batch{Space: n.space}
		b.Absent(n.key)
		b.Set(n.key, board.Field{Name: layout.OnceAsked, Value: asked}, board.Field{Name: layout.OnceSeed, Value: rand.Text()}).Expire(n.key, onceFor)
		switch err := n.keys.Commit(ctx, b); {
		case err == nil:
			n.rec, n.seed = b.Ops[0].Fields, board.Record(b.Ops[0].Fields).Get(layout.OnceSeed)
			return nil
		case !errors.Is(err, domain.ErrConflict):
			return err
		}
	}
}

// thing is what a request with a key makes or writes over: the record that it writes.
type thing struct {
	space  board.Space // of the record
	prefix string      // begins its key
	whole  bool        // prefix is the key
	field  string      // of it, whose value is to be remembered; "": none

	in func(context.Context) (board.Space, error) // instead of space, where that is found only then
}

// thingOf is a thing of a context, whose key is known before.
func thingOf(tenant domain.TenantID, key, field string) thing {
	return thing{space: layout.SpaceOf(tenant), prefix: key, whole: true, field: field}
}

// made is what a request has made: the key of the record, and the value of the field.
type made struct{ key, value string }

// version is that value of a document.
func (m made) version() int {
	n, _ := strconv.Atoi(m.value)
	return n
}

// sameStored refuses a version as what a request stored that has other content: what the request stored was deleted,
// and somebody has begun anew under that name, with the same numbers.
//
// Errors: those of looking for it; [domain.ErrNotFound].
func sameStored(e domain.DocumentEntry, hash string, err error) error {
	if err == nil && e.Hash != hash {
		err = domain.NotFoundf("version %d of %q is now one that another request has stored", e.Version, e.Name)
	}
	return err
}

// makes does what makes a thing, or writes one over: for a request with a key once, also where
// the node that did it was killed before it kept the answer, and others have changed the thing
// since. do is called each time, as what follows from the making may not have been done; found
// answers with what was made before.
func makes[R any](ctx context.Context, c Caller, of thing, do func(context.Context) (R, error), found func(context.Context, made) (R, error)) (r R, err error) {
	n := c.once
	if n == nil {
		return do(ctx)
	}
	var was made
	known := false
	if n.again {
		if was, known, err = n.made(ctx, of); err != nil {
			return r, err
		}
	}
	once := &precondition.Once{Prefix: of.prefix, Field: of.field, Mark: layout.Ticket(n.name(0)), Keep: onceFor, Done: known}
	if r, err = doMarked(precondition.Make(ctx, once), n, of, once, do); err == nil && !known {
		return r, nil
	}
	if !known { // another node may have been first, with the same request
		var look error
		if was, known, look = n.made(ctx, of); look != nil || !known {
			return r, err
		}
		if unfinished(err) { // the answer was lost, or what follows from the making is not done
			n.again = true
			return makes(ctx, c, of, do, found)
		}
	} else if unfinished(err) {
		return r, err
	}
	if r, err = found(ctx, was); errors.Is(err, domain.ErrNotFound) {
		err = domain.Conflictf("this request was done before, under the same Idempotency-Key, and what it made has been deleted since: %v; "+
			"take a new key to make it again", err)
	}
	n.told = err == nil
	return r, err
}

// unfinished reports whether an error of what makes a thing that is made says that what follows
// from it may not be done: all others refuse to make it a second time.
func unfinished(err error) bool {
	return errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrExhausted) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// markTries bounds how often what a request writes over may change while it is looked at.
const markTries = 100

// doMarked calls do, and marks that as done which succeeded because all was there already, as
// it was to be: the request that comes again must not write over what others have made of it
// since. What can only be made, and not be written over, needs no such mark.
func doMarked[R any](ctx context.Context, n *once, of thing, once *precondition.Once, do func(context.Context) (R, error)) (r R, err error) {
	if once.Done || !of.whole {
		return do(ctx)
	}
	before, err := n.value(ctx, of)
	if err != nil {
		return r, err
	}
	for range markTries {
		if r, err = do(ctx); err != nil || once.Made() {
			return r, err
		}
		is, err := n.value(ctx, of)
		if err != nil {
			return r, err
		}
		if is == before { // so it was this that do has found
			return r, n.keys.Commit(ctx, once.MarkOf(of.space, of.prefix, is))
		}
		before = is
	}
	return r, domain.Conflictf("others change it all the time; try again")
}

// value is that of a thing's field, as it is now.
func (n *once) value(ctx context.Context, of thing) (string, error) {
	if of.field == "" {
		return "", nil
	}
	recs, err := board.Readable(n.keys.Get(ctx, of.space, of.prefix))
	if err != nil {
		return "", err
	}
	return recs[0].Get(of.field), nil
}

// done reports whether the request has made what it makes in its own space.
func (n *once) done(ctx context.Context) bool {
	if n == nil || !n.again {
		return false
	}
	_, done, err := n.made(ctx, thing{space: n.space})
	return done && err == nil
}

// made is what the request has made of a thing, as the mark beside that says.
func (n *once) made(ctx context.Context, of thing) (_ made, done bool, err error) {
	if of.in != nil {
		if of.space, err = of.in(ctx); err != nil {
			return made{}, false, err
		}
	}
	recs, err := board.Readable(n.keys.Get(ctx, of.space, layout.Ticket(n.name(0))))
	if err != nil || recs[0] == nil {
		return made{}, false, err
	}
	return made{recs[0].Get(precondition.MarkMade), recs[0].Get(precondition.MarkValue)}, true, nil
}

// put writes a field of the record, unless it is another's by now.
func (n *once) put(ctx context.Context, f board.Field) error {
	b := board.Batch{Space: n.space}
	b.Equal(n.key, layout.OnceSeed, n.seed)
	b.Equal(n.key, f.Name, "")
	b.Set(n.key, f)
	return n.keys.Commit(ctx, b)
}

// name is that of the i-th thing the request creates; "" without a key.
func (n *once) name(i int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("%s-%d", n.seed, i)
}

// numberedBefore is the first number that an earlier version of the node may have given to
// what this request makes; 0 where none has begun it.
func (n *once) numberedBefore() (first uint32, err error) {
	text := n.rec.Get(layout.OnceFirst)
	if text == "" {
		return 0, nil
	}
	is, err := strconv.ParseUint(text, 10, 32)
	return uint32(is), err
}

// numbered says that the request has drawn a number.
func (n *once) numbered() bool { return n.rec.Get(layout.OnceFirst) != "" }

// unnumber gives back the number that the request has drawn: it draws another.
func (n *once) unnumber(ctx context.Context) error {
	b := board.Batch{Space: n.space}
	b.Equal(n.key, layout.OnceSeed, n.seed)
	b.Equal(n.key, layout.OnceFirst, n.rec.Get(layout.OnceFirst))
	err := n.keys.Commit(ctx, *b.Unset(n.key, layout.OnceFirst))
	if err == nil || errors.Is(err, domain.ErrConflict) { // or another node has
		err = n.reread(ctx)
	}
	return err
}

// reread reads the record again, after it was written.
func (n *once) reread(ctx context.Context) error {
	recs, err := n.keys.Get(ctx, n.space, n.key)
	if err != nil {
		return err
	}
	if n.rec = recs[0]; n.rec.Get(layout.OnceSeed) != n.seed {
		return domain.Conflictf("the request's key has expired meanwhile; take a new one")
	}
	return nil
}

// number is the next of a counter, and the request's own from then on. Nobody chooses numbers
// of such a counter by hand: one that somebody could have chosen is to be bound to the request by
// the commit that uses it.
func (n *once) number(ctx context.Context, counter string) (first int64, err error) {
	for {
		if text := n.rec.Get(layout.OnceFirst); text != "" {
			return strconv.ParseInt(text, 10, 64)
		}
		if first, err = n.keys.Next(ctx, n.space, counter, 1); err != nil {
			return 0, err
		}
		err = n.put(ctx, board.Field{Name: layout.OnceFirst, Value: strconv.FormatInt(first, 10)})
		if err != nil && !errors.Is(err, domain.ErrConflict) {
			return 0, err
		}
		if err := n.reread(ctx); err != nil { // it has ours, or that of another node
			return 0, err
		}
	}
}
