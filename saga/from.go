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

// beginning is a From that was read.
type beginning struct {
	start  bool
	at     time.Time // zero: by none
	behind map[domain.StreamName]uint64
}

// now reports whether it is where streams end.
func (b beginning) now() bool { return !b.start && b.at.IsZero() && b.behind == nil }

// parseFrom reads it.
//
// Errors: [domain.ErrInvalid].
func parseFrom(f domain.SagaFrom) (b beginning, err error) {
	switch f {
	case "", domain.SagaFromNow:
		return b, nil
	case domain.SagaFromStart:
		return beginning{start: true}, nil
	}
	wrong := domain.Invalidf("from %q: want now, start, an instant such as 2026-12-24T18:00:00Z, or positions such as %s:120",
		domain.PlainText(string(f), 100), domain.AggregateEvents)
	if at, err := domain.ParseInstant(string(f)); err == nil {
		b.at = time.UnixMilli(int64(at))
		if b.at.After(time.Now()) {
			return b, domain.Invalidf("from %q: that is yet to come; want an instant that was, or now", f)
		}
		return b, nil
	}
	b.behind = map[domain.StreamName]uint64{}
	for _, text := range strings.Split(string(f), ",") {
		name, number, _ := strings.Cut(text, ":")
		seq, err := strconv.ParseUint(number, 10, 64)
		_, twice := b.behind[domain.StreamName(name)]
		if err != nil || twice || !slices.Contains(read, domain.StreamName(name)) {
			return b, wrong
		}
		b.behind[domain.StreamName(name)] = seq
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
func (b beginning) of(ctx context.Context, log stream.Log, n domain.StreamName) (uint64, error) {
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
