package work

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

// This file looks after the lists of what ended in error: each end writes its entry
// itself; here the lists of a board get what nodes of earlier versions have ended, and
// lose what is gone.

// failedPage is how many entries are read, or pushed, at once.
const failedPage = 500

// FailedWhole reports whether the lists of a context name all that ended in error.
func (e *Engine) FailedWhole(ctx context.Context, space board.Space) (bool, error) {
	recs, err := e.board.GetFields(ctx, space, []string{layout.FailedSince}, layout.FailedWhole)
	return err == nil && recs[0] != nil, err
}

// KeepFailed keeps the lists of what ended in error in a context: it makes them whole
// where they are not, once all nodes write them. While nodes of several versions live,
// the lists are not relied upon.
func (e *Engine) KeepFailed(ctx context.Context, tenant domain.TenantID, mixed bool) error {
	space := layout.SpaceOf(tenant)
	whole, err := e.FailedWhole(ctx, space)
	switch {
	case err != nil || !whole && mixed:
		return err
	case whole && mixed:
		return e.board.Commit(ctx, *(&board.Batch{Space: space}).Delete(layout.FailedWhole))
	case !whole:
		return e.collectFailed(ctx, space)
	}
	return nil
}

// failedFields are the fields of a record that tell whether an entry counts, by the
// list of the entry: when it ended, and how.
var failedFields = map[string][]string{
	layout.FailedJobs:  {layout.JobFinishedMs, layout.JobStatus},
	layout.FailedFlows: {layout.FlowFinishedMs, layout.FlowStatus},
}

// failedStatus is what such a record has for a status; it is the same for both.
const failedStatus = string(domain.JobError)

// collectFailed looks through all jobs and flows of a context, and puts entries of
// those that ended in error on the left of the lists, unless they have them. What ends
// meanwhile is put on the right by its own end. A node that dies in the middle leaves
// entries, which the next one finds.
func (e *Engine) collectFailed(ctx context.Context, space board.Space) error {
	for list, prefix := range map[string]string{layout.FailedJobs: layout.JobPrefix, layout.FailedFlows: layout.FlowPrefix} {
		found, err := e.findFailed(ctx, space, prefix, failedFields[list])
		if err != nil {
			return err
		}
		if err := e.eachFailed(ctx, space, list, func(entry string) { delete(found, entry) }); err != nil {
			return err
		}
		entries := make([]string, 0, len(found))
		for entry := range found {
			entries = append(entries, entry)
		}
		slices.SortFunc(entries, func(a, b string) int { return cmp.Compare(found[b], found[a]) }) // newest first: the oldest is to be leftmost
		for page := range slices.Chunk(entries, failedPage) {
			if err := e.board.Commit(ctx, *(&board.Batch{Space: space}).PushLeft(list, page...)); err != nil {
				return err
			}
		}
	}
	since := board.Field{Name: layout.FailedSince, Value: strconv.FormatInt(e.board.Now().UnixMilli(), 10)}
	return e.board.Commit(ctx, *(&board.Batch{Space: space}).Set(layout.FailedWhole, since))
}

// findFailed finds what ended in error among the records with a prefix: entries, with
// the instants of their ends.
func (e *Engine) findFailed(ctx context.Context, space board.Space, prefix string, fields []string) (map[string]int64, error) {
	found := map[string]int64{}
	for cursor := ""; ; {
		begun := time.Now()
		keys, next, err := e.board.Keys(ctx, space, prefix, cursor, failedPage)
		if err != nil {
			return nil, err
		}
		recs, err := board.Listed(ctx, e.board, space, fields, keys)
		if err != nil {
			return nil, err
		}
		for i, r := range recs {
			if ms := int64(number(r.Get(fields[0]))); ms > 0 && r.Get(fields[1]) == failedStatus {
				found[layout.FailedEntry(keys[i], ms)] = ms
			}
		}
		if cursor = next; next == "" {
			return found, nil
		}
		if pause.For(ctx, time.Since(begun)*failedRest); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// failedRest is how many times as long as it looked the collector rests: it may take
// one part in five of a processor.
const failedRest = 4

// eachFailed tells of all entries of a list.
func (e *Engine) eachFailed(ctx context.Context, space board.Space, list string, tell func(entry string)) error {
	lengths, err := e.board.Len(ctx, space, list)
	if err != nil {
		return err
	}
	// From the right: what is trimmed on the left meanwhile moves nothing past us.
	for end := lengths[0]; end > 0; end -= failedPage {
		from := max(0, end-failedPage)
		entries, err := e.board.List(ctx, space, list, from, end-from)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			tell(entry)
		}
	}
	return nil
}

// trimFailed takes entries off both lists that count no more.
func (e *Engine) trimFailed(ctx context.Context, space board.Space) error {
	for list, fields := range failedFields {
		if err := e.trimList(ctx, space, list, fields); err != nil {
			return err
		}
	}
	return nil
}

// trimList takes entries off the left of a list that count no more: what they name
// is gone, or was started again. Those among them that count are put back.
func (e *Engine) trimList(ctx context.Context, space board.Space, list string, fields []string) error {
	for {
		entries, err := e.board.List(ctx, space, list, 0, failedPage)
		if err != nil || len(entries) == 0 {
			return err
		}
		keys := make([]string, len(entries))
		for i, entry := range entries {
			keys[i], _, _ = layout.ParseFailed(entry)
		}
		recs, err := board.Listed(ctx, e.board, space, fields[:1], keys)
		if err != nil {
			return err
		}
		var stay []string
		for i, entry := range slices.Backward(entries) {
			if _, ms, ok := layout.ParseFailed(entry); ok && recs[i].Get(fields[0]) == ms {
				stay = append(stay, entry)
			}
		}
		if len(stay) > len(entries)/2 {
			return nil // most are still of use
		}
		b := board.Batch{Space: space}
		b.ItemAt(list, 0, entries[0]).ItemAt(list, len(entries)-1, entries[len(entries)-1])
		b.TrimLeft(list, len(entries))
		if len(stay) > 0 {
			b.PushLeft(list, stay...)
		}
		if err := e.board.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
			return nil // another node trims, too: the next round
		} else if err != nil {
			return err
		}
		if len(stay) > 0 {
			return nil
		}
	}
}
