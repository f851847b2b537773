package saga

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// From says where a new saga begins to read its streams: one of the words below,
// an instant (RFC 3339 or Unix milliseconds), with what was stored then or later,
// or positions as "AGGREGATE_EVENTS:120,WORKFLOW_EVENTS:7", behind which it reads;
// streams that those do not name are read from now on.
type From string

// The beginnings that have a word.
const (
	FromNow   From = "now"   // with what comes after it was applied
	FromStart From = "start" // with all that the streams still have
)

// beginning is a From that was read.
type beginning struct {
	start  bool
	at     time.Time // zero: by none
	behind map[stream.Name]uint64
}

// parse reads it.
//
// Errors: [domain.ErrInvalid].
func (f From) parse() (b beginning, err error) {
	switch f {
	case "", FromNow:
		return b, nil
	case FromStart:
		return beginning{start: true}, nil
	}
	wrong := domain.Invalidf("from %q: want now, start, an instant such as 2026-12-24T18:00:00Z, or positions such as %s:120",
		domain.PlainText(string(f), 100), stream.AggregateEvents)
	if at, err := domain.ParseInstant(string(f)); err == nil {
		b.at = time.UnixMilli(int64(at))
		if b.at.After(time.Now()) {
			return b, domain.Invalidf("from %q: that is yet to come; want an instant that was, or now", f)
		}
		return b, nil
	}
	b.behind = map[stream.Name]uint64{}
	for _, text := range strings.Split(string(f), ",") {
		name, number, _ := strings.Cut(text, ":")
		seq, err := strconv.ParseUint(number, 10, 64)
		_, twice := b.behind[stream.Name(name)]
		if err != nil || twice || !slices.Contains(read, stream.Name(name)) {
			return b, wrong
		}
		b.behind[stream.Name(name)] = seq
	}
	return b, nil
}

// check looks whether the streams have its positions.
//
// Errors: [domain.ErrInvalid], [domain.ErrUnavailable].
func (b beginning) check(ctx context.Context, log stream.Log) error {
	for n, seq := range b.behind {
		stats, err := log.Stats(ctx, n)
		if err != nil {
			return err
		}
		if seq > stats.Last {
			return domain.Invalidf("from %s:%d: the stream has %d messages; what comes up to there would be passed over", n, seq, stats.Last)
		}
	}
	return nil
}

// of is the position behind which a stream is read.
func (b beginning) of(ctx context.Context, log stream.Log, n stream.Name) (uint64, error) {
	if seq, there := b.behind[n]; there || b.start {
		return seq, nil
	}
	stats, err := log.Stats(ctx, n)
	if err != nil || b.at.IsZero() {
		return stats.Last, err
	}
	// Streams are in the order of their time: the first that is not before it.
	low, high := stats.First, stats.Last+1
	for low < high {
		mid := low + (high-low)/2
		found, err := log.Scan(ctx, n, nil, mid, 1)
		switch {
		case err != nil:
			return 0, err
		case len(found) == 0 || !found[0].Time.Before(b.at):
			high = mid
		default:
			low = found[0].Seq + 1
		}
	}
	return low - 1, nil
}
