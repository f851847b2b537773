package etcdboard

import (
	"cmp"
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Commit implements [board.Board].
func (b *Board) Commit(ctx context.Context, batch board.Batch) error {
	return b.CommitEach(ctx, []board.Batch{batch})[0]
}

// CommitEach implements [board.Board].
func (b *Board) CommitEach(ctx context.Context, batches []board.Batch) []error {
	errs := make([]error, len(batches))
	rs := make([]*request, 0, len(batches))
	at := make([]int, 0, len(batches)) // which batch each request is
	verdicts := make([]error, len(batches))
	for i := range batches {
		if errs[i] = batches[i].Check(); errs[i] != nil {
			continue
		}
		r := newRequest(ctx)
		r.judge = func(t *tx) bool {
			if verdicts[i] = t.batch(&batches[i]); verdicts[i] != nil {
				t.keepReads()
			}
			return true
		}
		rs, at = append(rs, &r), append(at, i)
	}
	if len(rs) == 0 {
		return errs
	}
	if err := b.submit(rs...); err != nil {
		for _, i := range at {
			errs[i] = err
		}
		return errs
	}
	for k, r := range rs {
		if errs[at[k]] = r.wait(ctx); errs[at[k]] == nil {
			errs[at[k]] = verdicts[at[k]]
		}
	}
	return errs
}

// Next implements [board.Board].
func (b *Board) Next(ctx context.Context, space board.Space, key string, n int) (int64, error) {
	if n < 0 {
		return 0, domain.Invalidf("reserve %d numbers of %q, want 1 or more, or 0 to see which comes next", n, key)
	}
	if err := new(board.Batch).Delete(key).Check(); err != nil { // holds the key to its limits
		return 0, err
	}
	var first int64
	var strange error
	r := newRequest(ctx)
	r.judge = func(t *tx) bool {
		at := name{space, key}.in(roomCounter)
		v := t.get(at)
		if strange = nil; v == (unreadable{}) {
			strange = domain.Invalidf("counter %q cannot be read: nobody knows which numbers were given out", key)
			return true
		}
		last, _ := v.(counter)
		first = int64(last) + 1
		if n > 0 {
			t.put(at, last+counter(n))
		}
		return true
	}
	if err := b.doAll(ctx, &r); err != nil || strange != nil {
		return 0, cmp.Or(err, strange)
	}
	return first, nil
}
