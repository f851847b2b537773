package saga

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/stream"
)

// This file has a partition that is opened read what its streams have in the order in which
// they stored it. Each stream is read by itself, and as long as a board has all that it had,
// nothing comes before what it came of: there is no result before its instance has asked.
// A board that has lost a moment reads again, and there everything is: a result or the event
// of a timer that was read before the event which it came of would be passed over, for nobody
// waits for it, and would not come once more.
//
// A board that has lost something has begun an epoch, so a partition is read so once in each:
// there one stream that is away holds up all, and nobody's share holds. A partition that is new,
// or reads other subjects, may read what an earlier saga of its name has left: it waits for a
// stream that is away for some tries.

const (
	// fieldCaught is the epoch and the generation in which a partition has caught up.
	fieldCaught = "caught_up"

	// catchUpWait is how long a partition that has lost nothing waits for a stream.
	catchUpWait = 10 * time.Second
)

// backlog is what a source has that was there when the partition was opened.
type backlog struct {
	from *source
	last uint64 // the last message of the stream then
	at   uint64 // up to where it was read
	list []stream.Message
}

// next is when the next message was stored, in Unix nanoseconds; there is false behind the last.
func (b *backlog) next() (ns int64, there bool) {
	if len(b.list) == 0 || b.list[0].Seq > b.last {
		return 0, false
	}
	return b.list[0].Time.UnixNano(), true
}

// read reads on where nothing is at hand, up to most messages.
func (b *backlog) read(ctx context.Context, log stream.Log, most int) (err error) {
	if len(b.list) > 0 || b.at >= b.last {
		return nil
	}
	if b.list, err = log.Scan(ctx, b.from.name, b.from.subjects, b.at+1, most); err != nil {
		return err
	}
	if b.at = b.last; len(b.list) > 0 {
		b.at = b.list[len(b.list)-1].Seq
	}
	return nil
}

// catchUp deals with what is there, as long as two streams have something, where that was not
// done in this epoch. What one has alone, and what comes from now on, is fed.
func (s *shard) catchUp(ctx, feeding context.Context) error {
	recs, err := s.e.board.Get(ctx, 0, board.EpochKey)
	if err != nil {
		return err
	}
	epoch := strconv.FormatInt(board.EpochOf(recs[0]).Number, 10)
	if recs, err = s.e.board.Get(ctx, s.space, s.record); err != nil {
		return err
	}
	was, now := recs[0].Get(fieldCaught), epoch+"/"+strconv.Itoa(s.positions.now().N)
	if was == now {
		return nil
	}
	before, _, opened := strings.Cut(was, "/")
	if done, err := s.inOrder(ctx, feeding, opened && before != epoch); err != nil || !done {
		return err
	}
	b := board.Batch{Space: s.space}
	b.Held(s.record, s.owner, s.Claimed.Token).Set(s.record, board.Field{Name: fieldCaught, Value: now})
	if err = s.e.board.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
		return errLost
	}
	return err
}

// inOrder deals with what is there in the order in which it was stored; done is false where
// feeding has ended before. Where nothing is lost it leaves that after a while to those who
// feed, which do not wait for a stream that is away.
func (s *shard) inOrder(ctx, feeding context.Context, lost bool) (done bool, err error) {
	s.catching = true
	defer func() { s.catching = false }()
	var all []*backlog
	most := 1 // to look whether there is anything
	wait, away := pauseMin, time.Duration(0)
	for {
		if all == nil {
			all, err = s.backlogs(feeding)
		}
		for _, b := range all {
			if err == nil {
				err = b.read(feeding, s.e.log, most)
			}
		}
		if feeding.Err() != nil {
			return false, nil
		}
		if err != nil && !errors.Is(err, domain.ErrUnavailable) {
			return false, err
		}
		if err != nil {
			if away += wait; !lost && away > catchUpWait {
				return true, nil
			}
			s.e.text.Log(ctx, again(wait), "a stream cannot be read; it is tried again", "context", uint32(s.tenant), "saga", s.saga,
				"partition", s.partition, "err", err)
			if pause.For(feeding, wait) != nil {
				return false, nil
			}
			wait, err = min(2*wait, pauseMax), nil
			continue
		}
		wait, away, most = pauseMin, 0, fetchMost
		todo := merge(all)
		if len(todo) == 0 {
			return true, nil
		}
		if s.relay.admit(feeding) != nil || s.mayGoOn(feeding) != nil {
			return false, nil
		}
		if err := s.handle(ctx, todo); err != nil {
			return false, err
		}
	}
}

// backlogs are those of all sources.
func (s *shard) backlogs(ctx context.Context) (all []*backlog, err error) {
	for _, src := range s.sources {
		b := &backlog{from: src, at: src.seen.front}
		stats, err := s.e.log.Stats(ctx, src.name)
		if err != nil {
			return nil, err
		}
		b.last = stats.Last
		all = append(all, b)
	}
	return all, nil
}

// merge takes messages in the order in which they were stored, up to a round of them, until
// one source has none at hand. Where no more than one has any, there is nothing to put in order.
func merge(all []*backlog) (todo []pending) {
	for len(todo) < roundMost {
		var first *backlog
		var least int64
		have := 0
		for _, b := range all {
			ns, there := b.next()
			if !there {
				if b.at < b.last {
					return todo // it has more, which may be earlier
				}
				continue
			}
			if have++; first == nil || ns < least {
				first, least = b, ns
			}
		}
		if have < 2 {
			return todo
		}
		todo = append(todo, pending{from: first.from, m: first.list[0], seq: first.list[0].Seq})
		first.list = first.list[1:]
	}
	return todo
}
