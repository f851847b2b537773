package backup

import (
	"context"
	"errors"
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file walks a board.

const (
	keysPage  = 1000 // keys that are looked at together
	getPage   = 100  // records that are read together: of the largest, 400 MiB
	itemsPage = 256  // items of a list that are read together: of the largest, 256 MiB
	marksPage = 1000
	// membersPage is the same of a set. It is large, for a driver without an order looks
	// through the whole set for each page.
	membersPage = 10_000
)

// walk calls f for everything that lies on a board, a page at a time: the keys of each
// space, then its live marks and counters, at the end the alarms. Skipped counts keys
// that no board can hold or that cannot be read.
func walk(ctx context.Context, b board.Board, f func([]item) error) (skipped int64, err error) {
	spaces, err := b.Spaces(ctx)
	if err != nil {
		return 0, err
	}
	for _, s := range spaces {
		n, err := walkSpace(ctx, b, s, f)
		if skipped += n; err != nil {
			return skipped, err
		}
	}
	for last := (board.Alarm{}); ; {
		page, err := b.Alarms(ctx, last, marksPage)
		if err != nil || len(page) == 0 {
			return skipped, err
		}
		last = page[len(page)-1]
		list := make([]item, len(page))
		for i, a := range page {
			list[i] = item{kind: kindAlarm, space: a.Space, key: a.Name, n: a.At.UnixMilli()}
		}
		if err := f(list); err != nil {
			return skipped, err
		}
	}
}

func walkSpace(ctx context.Context, b board.Board, s board.Space, f func([]item) error) (skipped int64, err error) {
	for cursor := ""; ; {
		keys, next, err := b.Keys(ctx, s, "", cursor, keysPage)
		if err != nil {
			return skipped, err
		}
		n, err := walkKeys(ctx, b, s, keys, f)
		if skipped += n; err != nil {
			return skipped, err
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for last := (board.LiveItem{}); ; {
		page, err := b.Live(ctx, s, last, marksPage)
		if err != nil {
			return skipped, err
		}
		if len(page) == 0 {
			break
		}
		last = page[len(page)-1]
		list := make([]item, len(page))
		for i, l := range page {
			list[i] = item{kind: kindLive, space: s, key: l.Item, n: l.At.UnixMilli()}
		}
		if err := f(list); err != nil {
			return skipped, err
		}
	}
	for cursor := ""; ; {
		page, next, err := b.Counters(ctx, s, cursor, marksPage)
		if err != nil {
			return skipped, err
		}
		list := make([]item, len(page))
		for i, c := range page {
			list[i] = item{kind: kindCounter, space: s, key: c.Key, n: c.Last}
		}
		if err := f(list); err != nil {
			return skipped, err
		}
		if cursor = next; cursor == "" {
			return skipped, nil
		}
	}
}

func walkKeys(ctx context.Context, b board.Board, s board.Space, keys []string, f func([]item) error) (skipped int64, err error) {
	slices.Sort(keys)
	keys = slices.Compact(keys) // a driver may name one twice
	keys = slices.DeleteFunc(keys, layout.IsRestoring)
	stats, err := b.Stat(ctx, s, keys...)
	if err != nil {
		return 0, err
	}
	expires := map[string]int64{}
	var records []string
	for i, key := range keys {
		if !stats[i].Expires.IsZero() {
			expires[key] = stats[i].Expires.UnixMilli()
		}
		switch stats[i].Kind {
		case board.KindRecord:
			records = append(records, key)
		case board.KindList:
			err = walkList(ctx, b, s, key, expires[key], f)
		case board.KindSet:
			err = walkSet(ctx, b, s, key, expires[key], f)
		case board.KindOther:
			skipped++
		}
		if err != nil {
			return skipped, err
		}
	}
	for part := range slices.Chunk(records, getPage) {
		n, err := walkRecords(ctx, b, s, part, expires, f)
		if skipped += n; err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// walkRecords reads records, and takes leases off them.
func walkRecords(ctx context.Context, b board.Board, s board.Space, keys []string, expires map[string]int64, f func([]item) error) (skipped int64, err error) {
	recs, err := b.Get(ctx, s, keys...)
	if bad := (board.KeyErrors)(nil); errors.As(err, &bad) {
		err = nil // it changed meanwhile, or cannot be read: the others are there
	}
	if err != nil {
		return 0, err
	}
	list := make([]item, 0, len(recs))
	for i, r := range recs {
		if r == nil {
			skipped++
			continue
		}
		it := item{kind: kindRecord, space: s, key: keys[i], expires: expires[keys[i]]}
		if group := r.Get(board.FieldQueue); group != "" && r.Get(board.FieldOwner) != "" {
			list = append(list, item{kind: kindLease, space: s, key: keys[i], group: group})
		}
		it.fields = slices.DeleteFunc(r, func(f board.Field) bool { return f.Name == board.FieldOwner || f.Name == board.FieldQueue })
		if len(it.fields) == 0 {
			continue // nothing but its lease
		}
		it.canonical()
		list = append(list, it)
	}
	return skipped, f(list)
}

func walkList(ctx context.Context, b board.Board, s board.Space, key string, expires int64, f func([]item) error) error {
	for from := 0; ; {
		items, err := b.List(ctx, s, key, from, itemsPage)
		if gone := errors.Is(err, domain.ErrInvalid); gone || err == nil && len(items) == 0 {
			return nil // it became another thing meanwhile, or nothing
		}
		if err != nil {
			return err
		}
		if err := f(parts(item{kind: kindList, space: s, key: key, expires: expires, from: int64(from), items: items})); err != nil {
			return err
		}
		if from += len(items); len(items) < itemsPage {
			return nil
		}
	}
}

func walkSet(ctx context.Context, b board.Board, s board.Space, key string, expires int64, f func([]item) error) error {
	for after, from := "", 0; ; {
		members, err := b.Members(ctx, s, key, after, membersPage)
		if gone := errors.Is(err, domain.ErrInvalid); gone || err == nil && len(members) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(parts(item{kind: kindSet, space: s, key: key, expires: expires, from: int64(from), items: members})); err != nil {
			return err
		}
		if from += len(members); len(members) < membersPage {
			return nil
		}
		after = members[len(members)-1]
	}
}

// parts cuts an item of a list or set so that none is larger than a record may be, but
// for one member.
func parts(it item) (list []item) {
	size, begins := 0, 0
	for i, text := range it.items {
		if size += len(text); size > board.MaxRecord && i > begins {
			part := it
			part.from, part.items = it.from+int64(begins), it.items[begins:i]
			list = append(list, part)
			begins, size = i, len(text)
		}
	}
	it.from, it.items = it.from+int64(begins), it.items[begins:]
	return append(list, it)
}
