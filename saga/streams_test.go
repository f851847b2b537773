package saga_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/memstream"
)

// TestOtherStreamsAreRefused puts a board beside streams that are not those its
// sagas have read: they were lost and made anew, or are a copy of before.
func TestOtherStreamsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name        string
		age         time.Duration // between the streams
		accept, not saga.Loss
		want        string
	}{
		{"others", time.Hour, saga.Loss{Others: true}, saga.Loss{Fewer: true},
			"WORKFLOW_EVENTS was made at 2000-01-01T01:00:00Z, that of this board at 2000-01-01T00:00:00Z"},
		{"the same, of before", 0, saga.Loss{Fewer: true}, saga.Loss{Others: true}, "AGGREGATE_EVENTS has 0 messages, saga s of context 7 has read 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				before := memstream.New()
				r.must(r.engine.Recognise(r.Context(), saga.Loss{}))
				r.apply(shop, machineOf("s", countsEvents))
				drain := r.work(saga.WorkerConfig{})
				for i := range 5 {
					r.publish(shop, goes(fmt.Sprint("e", i), `{"id":1}`))
				}
				time.Sleep(time.Minute)
				drain()
				r.must(r.engine.Recognise(r.Context(), saga.Loss{}))

				if c.age > 0 {
					time.Sleep(time.Until(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(c.age)))
					before = memstream.New()
				}
				r.log = before.Log()
				r.engine = r.newEngine(r.board, r.log)
				for _, not := range []saga.Loss{{}, c.not} {
					if err := r.engine.Recognise(r.Context(), not); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), c.want) {
						t.Fatalf("got %v, want a conflict that says %q", err, c.want)
					}
				}
				r.must(r.engine.Recognise(r.Context(), c.accept))
				r.must(r.engine.Recognise(r.Context(), saga.Loss{}))
				for i := range 3 { // fewer than were read of the others
					r.publish(shop, goes(fmt.Sprint("f", i), `{"id":1}`))
				}
				defer r.work(saga.WorkerConfig{})()
				time.Sleep(time.Minute)
				if got := r.data(shop, "s", "1"); got != `{"n":8}` {
					t.Errorf("got %s, want all that came counted", got)
				}
			})
		})
	}
}

// TestStreamsOfBeforeAreKnownByTheirEnd: that events are gone is told also where no
// saga had read them.
func TestStreamsOfBeforeAreKnownByTheirEnd(t *testing.T) {
	bubble(t, func(r *rig) {
		before := memstream.New()
		r.must(r.engine.Recognise(r.Context(), saga.Loss{}))
		ctx, cancel := context.WithCancel(r.Context())
		done := make(chan struct{})
		go func() { defer close(done); r.engine.KeepMarks(ctx) }()
		for i := range 3 {
			r.publish(shop, goes(fmt.Sprint("e", i), `{"id":1}`))
		}
		time.Sleep(time.Minute)
		recs, err := r.board.Get(r.Context(), 0, layout.Streams)
		if r.must(err); recs[0].Get("AGGREGATE_EVENTS/last") != "3" {
			t.Errorf("got %v after a minute, want that there are 3 events", recs[0])
		}
		r.publish(shop, goes("e3", `{"id":1}`))
		cancel()
		<-done

		r.log = before.Log()
		r.engine = r.newEngine(r.board, r.log)
		const want = "AGGREGATE_EVENTS has 0 messages, and had 4"
		if err := r.engine.Recognise(r.Context(), saga.Loss{}); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), want) {
			t.Fatalf("got %v, want a conflict that says %q", err, want)
		}
		r.must(r.engine.Recognise(r.Context(), saga.Loss{Fewer: true}))
		r.must(r.engine.Recognise(r.Context(), saga.Loss{}))
		recs, err = r.board.Get(r.Context(), 0, board.EpochKey)
		if r.must(err); !strings.Contains(board.EpochOf(recs[0]).Cause, want) {
			t.Errorf("got epoch %+v, want one that says %q", board.EpochOf(recs[0]), want)
		}
	})
}

// TestStreamsThatAreAwayAreWaitedFor: a broker that dies just now ends no node.
func TestStreamsThatAreAwayAreWaitedFor(t *testing.T) {
	bubble(t, func(r *rig) {
		r.broker.Fault(memstream.Faults{Away: true})
		done := make(chan error, 1)
		go func() { done <- r.engine.Recognise(r.Context(), saga.Loss{}) }()
		time.Sleep(time.Hour)
		select {
		case err := <-done:
			t.Errorf("got %v while the streams are away", err)
		default:
		}
		r.broker.Fault(memstream.Faults{})
		r.must(<-done)
	})
}

// late has streams that grow, and are read by others, after their first look.
type late struct {
	stream.Log
	looks int
}

func (l *late) Stats(ctx context.Context, n domain.StreamName) (stream.Stats, error) {
	s, err := l.Log.Stats(ctx, n)
	if l.looks++; l.looks <= len(domain.StreamNames) {
		s.Last = 0
	}
	return s, err
}

func TestStreamsThatGrowMeanwhileAreNoOthers(t *testing.T) {
	bubble(t, func(r *rig) {
		r.apply(shop, machineOf("s", countsEvents))
		drain := r.work(saga.WorkerConfig{})
		r.publish(shop, goes("e", `{"id":1}`))
		time.Sleep(time.Minute)
		drain()
		r.must(r.newEngine(r.board, &late{Log: r.log}).Recognise(r.Context(), saga.Loss{}))
	})
}

// steppedLog is one that keeps a step, as the streams in the folder of a node do.
type steppedLog struct {
	stream.Log
	at int64
}

func (l *steppedLog) Step() (int64, bool, error) { return l.at, true, nil }
func (l *steppedLog) SetStep(n int64) error      { l.at = n; return nil }

// TestTheOlderOfBoardAndStreamsIsTold by the steps that both take at each start. One that
// only the streams have taken is what a crash between the two leaves.
func TestTheOlderOfBoardAndStreamsIsTold(t *testing.T) {
	for _, tt := range []struct {
		name    string
		streams int64 // by how much they are ahead of the board
		accept  saga.Loss
		refused bool
		epoch   bool
	}{
		{name: "both are of one time"},
		{name: "a crash between", streams: 1},
		{name: "an older board", streams: 2, epoch: true},
		{name: "older streams", streams: -2, refused: true},
		{name: "older streams, accepted", streams: -2, accept: saga.Loss{Fewer: true}, epoch: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				log := &steppedLog{Log: r.log}
				begin := func(accept saga.Loss) error { return r.newEngine(r.board, log).Recognise(r.Context(), accept) }
				r.must(begin(saga.Loss{}))
				r.must(begin(saga.Loss{}))
				r.must(r.board.Commit(r.Context(), *new(board.Batch).Include(layout.Contexts, "7")))
				last, err := r.board.Next(r.Context(), board.Space(shop), layout.Seq("job", 1), 1)
				r.must(err)
				log.at += tt.streams
				if err := begin(tt.accept); errors.Is(err, domain.ErrConflict) != tt.refused {
					t.Fatalf("got %v, want refused %v", err, tt.refused)
				}
				recs, err := r.board.Get(r.Context(), 0, board.EpochKey, layout.Streams)
				r.must(err)
				if begun := board.EpochOf(recs[0]).Number == 1; begun != tt.epoch {
					t.Errorf("got epoch %+v, want one: %v", board.EpochOf(recs[0]), tt.epoch)
				}
				if got := recs[1].Get("step"); !tt.refused && got != strconv.FormatInt(log.at, 10) {
					t.Errorf("the board is at step %s, the streams at %d", got, log.at)
				}
				next, err := r.board.Next(r.Context(), board.Space(shop), layout.Seq("job", 1), 1)
				r.must(err)
				if leapt := next > last+1000; leapt != (tt.epoch && tt.streams > 0) {
					t.Errorf("number %d comes after %d", next, last)
				}
				if !tt.refused {
					r.must(begin(saga.Loss{}))
				}
			})
		})
	}
}

// TestAnOlderBoardIsToldAfterAnEpochOfAClockAhead has a node whose clock was a year ahead have
// begun an epoch, long before the board loses a moment.
func TestAnOlderBoardIsToldAfterAnEpochOfAClockAhead(t *testing.T) {
	bubble(t, func(r *rig) {
		log := &steppedLog{Log: r.log}
		begin := func() error { return r.newEngine(r.board, log).Recognise(r.Context(), saga.Loss{}) }
		r.must(begin())
		r.must(r.board.Commit(r.Context(), *new(board.Batch).Include(layout.Contexts, "7").NextEpoch(time.Now().Add(365*24*time.Hour), "by a clock ahead")))
		counters := []struct {
			space board.Space
			key   string
		}{{board.Space(shop), layout.Seq("job", 1)}, {0, layout.Seq("actor", 0)}, {0, layout.Seq("node", 0)}, {0, layout.Seq("runner", 0)}}
		last := make([]int64, len(counters))
		for i, c := range counters {
			var err error
			last[i], err = r.board.Next(r.Context(), c.space, c.key, 1)
			r.must(err)
		}
		log.at += 2
		r.must(begin())
		for i, c := range counters {
			if next, err := r.board.Next(r.Context(), c.space, c.key, 1); err != nil || next < last[i]+1000 {
				r.Errorf("%s: number %d comes after %d (%v)", c.key, next, last[i], err)
			}
		}
	})
}

// TestAnOlderBoardIsToldAfterALossOfAnother: an epoch that began just now for what the archive or a file of
// the streams lost is none of what the board lost, so its numbers have not gone on.
func TestAnOlderBoardIsToldAfterALossOfAnother(t *testing.T) {
	for _, of := range []domain.LossOf{domain.LossOfArchive, domain.LossOfStreams} {
		bubble(t, func(r *rig) {
			log := &steppedLog{Log: r.log}
			begin := func() error { return r.newEngine(r.board, log).Recognise(r.Context(), saga.Loss{}) }
			r.must(begin())
			last, err := r.board.Next(r.Context(), 0, layout.Seq("actor", 0), 1)
			r.must(err)
			r.must(r.board.Commit(r.Context(), *new(board.Batch).NextEpochOf(of, r.board.Now(), "a test")))
			log.at += 2
			r.must(begin())
			if next, err := r.board.Next(r.Context(), 0, layout.Seq("actor", 0), 1); err != nil || next < last+1000 {
				r.Errorf("after a loss of the %s number %d comes after %d (%v)", of, next, last, err)
			}
		})
	}
}

// TestWhoHasReadMoreThanThereIsIsTold: streams of before came under a board whose nodes go on.
func TestWhoHasReadMoreThanThereIsIsTold(t *testing.T) {
	bubble(t, func(r *rig) {
		before := memstream.New()
		r.apply(shop, machineOf("s", countsEvents))
		drain := r.work(saga.WorkerConfig{})
		r.publish(shop, goes("e", `{"id":1}`))
		time.Sleep(time.Minute)
		drain()
		defer r.work(saga.WorkerConfig{})() // it serves the saga, so that this is not what is told
		time.Sleep(time.Minute)

		const want = "AGGREGATE_EVENTS was read up to 1, and ends at 0"
		engine := r.newEngine(r.board, before.Log())
		lags, err := engine.Lags(r.Context(), shop, "s")
		r.must(err)
		told := 0
		for _, l := range lags {
			if l.Stream == domain.AggregateEvents && l.Position > l.Last {
				if told++; !strings.Contains(l.Trouble, want) || l.Beyond != 1 {
					t.Errorf("got %+v, want trouble that says %q, and that nobody knows what is behind", l, want)
				}
			}
		}
		if told == 0 {
			t.Errorf("got %+v, want one that has read more than there is", lags)
		}
		for name, look := range map[string]func(context.Context, domain.TenantID, time.Duration) (domain.Audit, error){
			"audit": engine.AuditWithin, "a look": engine.LookWithin} {
			found, err := look(r.Context(), shop, time.Second)
			if r.must(err); len(found.Lacking) != 1 || found.Lacking[0].Key != "saga s" || !strings.Contains(found.Lacking[0].Text, want) {
				t.Errorf("%s: got %+v, want one finding that says %q", name, found.Lacking, want)
			}
		}
	})
}

// toldLog notes what it is told of its streams.
type toldLog struct {
	stream.Log
	had    map[domain.StreamName]uint64
	passed error
}

func (l toldLog) Passed() error { return l.passed }

func (l toldLog) Had(n domain.StreamName, created time.Time, last uint64) {
	if stats, err := l.Stats(context.Background(), n); err == nil && stats.Created.Equal(created) {
		l.had[n] = last
	}
}

func TestTheLogIsToldWhatTheBoardKnows(t *testing.T) {
	bubble(t, func(r *rig) {
		r.must(r.engine.Recognise(r.Context(), saga.Loss{}))
		r.publish(shop, goes("e", `{"id":1}`))
		ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		r.engine.KeepMarks(ctx) // of another node

		log := toldLog{Log: r.log, had: map[domain.StreamName]uint64{}}
		ctx, cancel = context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		r.newEngine(r.board, log).KeepMarks(ctx)
		if log.had[domain.AggregateEvents] != 1 {
			t.Errorf("got %v, want that there was one event", log.had)
		}

		var told error
		log.passed = errors.New("another node has gone on")
		ctx, cancel = context.WithTimeout(r.Context(), time.Minute)
		defer cancel()
		saga.New(r.board, log, saga.Config{Names: names{}, Passed: func(why error) { told = why }}).KeepMarks(ctx)
		if !errors.Is(told, log.passed) {
			t.Errorf("got %v, want told that another node has gone on", told)
		}
	})
}
