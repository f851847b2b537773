package natsstream

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// scanIdle is after what time the server forgets the consumer of a scan whose
// process has ended.
const scanIdle = 30 * time.Second

// Scan returns messages from a sequence on. It reads with a consumer of its own
// that lives as long as the call; one message it asks the stream for.
func (l *Log) Scan(ctx context.Context, name domain.StreamName, subjects []string, from uint64, limit int) (list []stream.Message, err error) {
	if err := stream.ValidateStream(name); err != nil {
		return nil, err
	}
	if err := stream.ValidateFilters(subjects); err != nil {
		return nil, err
	}
	if err := stream.ValidateMost(limit); err != nil {
		return nil, err
	}
	what := "scan stream " + string(name)
	err = l.keep(ctx, what, func(ctx context.Context) (err error) {
		if limit == 1 {
			list, err = l.first(ctx, name, subjects, max(from, 1))
			return err
		}
		if list, err = l.scan(ctx, name, subjects, max(from, 1), limit); err != nil || len(list) == limit {
			return err
		}
		if len(list) > 0 {
			from = list[len(list)-1].Seq + 1
		}
		return l.behind(ctx, name, subjects, max(from, 1))
	})
	return list, err
}

// first is the first message from a sequence on, in a list; empty where there is none.
func (l *Log) first(ctx context.Context, name domain.StreamName, subjects []string, from uint64) (list []stream.Message, err error) {
	if len(subjects) == 0 {
		subjects = []string{">"}
	}
	for _, filter := range distinct(subjects) {
		m, err := l.next(ctx, name, filter, from)
		if err != nil {
			return nil, err
		}
		if m == nil || len(list) > 0 && list[0].Seq <= m.Seq {
			continue
		}
		header := nats.Header{}
		if len(m.Header) > 0 {
			if header, err = nats.DecodeHeadersMsg(m.Header); err != nil {
				return nil, err
			}
		}
		list = []stream.Message{incoming(name, m.Subject, header, m.Data, m.Seq, m.Time)}
	}
	return list, nil
}

// rawMessage is a message as a stream's leader answers with it.
type rawMessage struct {
	Subject string    `json:"subject"`
	Seq     uint64    `json:"seq"`
	Header  []byte    `json:"hdrs"`
	Data    []byte    `json:"data"`
	Time    time.Time `json:"time"`
}

// next asks the leader of a stream for the first message of a subject from a sequence on; nil:
// there is none.
func (l *Log) next(ctx context.Context, name domain.StreamName, filter string, from uint64) (*rawMessage, error) {
	ask, err := json.Marshal(map[string]any{"seq": from, "next_by_subj": filter})
	if err != nil {
		return nil, err
	}
	answer, err := l.wire.Request(ctx, &nats.Msg{Subject: "$JS.API.STREAM.MSG.GET." + string(name), Data: ask})
	if err != nil {
		return nil, err
	}
	var a struct {
		Error   *jetstream.APIError `json:"error"`
		Message *rawMessage         `json:"message"`
	}
	switch err := json.Unmarshal(answer.Data, &a); {
	case err != nil:
		return nil, err
	case a.Error == nil:
		return a.Message, nil
	case a.Error.ErrorCode != codeNoMessage:
		return nil, a.Error
	}
	return nil, nil
}

// behind asks the leader of a stream with replicas whether a scan, which any of
// them may have served, has missed something.
func (l *Log) behind(ctx context.Context, name domain.StreamName, subjects []string, from uint64) error {
	if !l.replicated {
		return nil
	}
	if missed, err := l.first(ctx, name, subjects, from); err != nil {
		return err
	} else if len(missed) > 0 {
		return errBehind
	}
	return nil
}

// passing is a consumer for one call. The server counts what it has.
func (l *Log) passing(ctx context.Context, name domain.StreamName, subjects []string, from uint64) (jetstream.Consumer, error) {
	return l.js.CreateConsumer(ctx, string(name), jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       from,
		FilterSubjects:    distinct(subjects),
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: scanIdle,
		MemoryStorage:     true,
		Replicas:          1,
	})
}

// Count is how many messages match behind a sequence.
func (l *Log) Count(ctx context.Context, name domain.StreamName, subjects []string, after uint64) (n uint64, err error) {
	if err := stream.ValidateStream(name); err != nil {
		return 0, err
	}
	if err := stream.ValidateFilters(subjects); err != nil {
		return 0, err
	}
	err = l.keep(ctx, "count stream "+string(name), func(ctx context.Context) error {
		c, err := l.passing(ctx, name, subjects, after+1)
		if err != nil {
			return err
		}
		n = c.CachedInfo().NumPending
		_ = l.js.DeleteConsumer(ctx, string(name), c.CachedInfo().Name) // else it ends by itself
		return nil
	})
	return n, err
}

func (l *Log) scan(ctx context.Context, name domain.StreamName, subjects []string, from uint64, limit int) (list []stream.Message, err error) {
	c, err := l.passing(ctx, name, subjects, from)
	if err != nil {
		return nil, err
	}
	durable := c.CachedInfo().Name
	defer func() { _ = l.js.DeleteConsumer(ctx, string(name), durable) }()
	p, err := l.newPull(name, durable, "")
	if err != nil {
		return nil, err
	}
	defer p.close()
	// What is there now is all that is wanted.
	for want := min(uint64(limit), c.CachedInfo().NumPending); uint64(len(list)) < want; {
		if err := p.ask(int(want)-len(list), true); err != nil {
			return nil, err
		}
		if err := p.await(ctx, l.gone); err != nil {
			return nil, err
		}
		for m := p.look(); m != nil; m = p.look() {
			switch w, _ := p.read(m); w {
			case wordMoved, wordLost:
				return nil, domain.Unavailablef("scan stream %s: the server has ended it", name)
			case wordMessage:
				meta, err := m.Metadata()
				if err != nil || meta.Sequence.Stream < from {
					continue
				}
				list = append(list, incoming(name, m.Subject, m.Header, m.Data, meta.Sequence.Stream, meta.Timestamp))
			}
		}
	}
	return list, nil
}

// Stats says what a stream holds.
func (l *Log) Stats(ctx context.Context, name domain.StreamName) (st stream.Stats, err error) {
	if err := stream.ValidateStream(name); err != nil {
		return st, err
	}
	err = l.keep(ctx, "stats of stream "+string(name), func(ctx context.Context) error {
		info, _, err := l.look(ctx, name) // Check and Publish tell whether it is another
		if err != nil {
			return err
		}
		st = stream.Stats{
			First: info.State.FirstSeq, Last: info.State.LastSeq, Messages: info.State.Msgs, Bytes: info.State.Bytes,
			Replicas: info.Config.Replicas, Subjects: info.Config.Subjects, Created: info.Created,
		}
		if st.Messages == 0 {
			st.First = st.Last + 1
		}
		return nil
	})
	return st, err
}

// Acked is up to where a shared consumer has ended all, and how much it has not.
func (l *Log) Acked(ctx context.Context, name domain.StreamName, durable string) (seq, waiting uint64, there bool, err error) {
	if err := stream.ValidateStream(name); err != nil {
		return 0, 0, false, err
	}
	if err := stream.ValidateDurable(durable); err != nil {
		return 0, 0, false, err
	}
	err = l.keep(ctx, "ask for consumer "+durable+" of "+string(name), func(ctx context.Context) error {
		c, err := l.js.Consumer(ctx, string(name), durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			there = false
			return nil
		}
		if err != nil {
			return err
		}
		info := c.CachedInfo()
		seq, there = info.AckFloor.Stream, true
		waiting = info.NumPending + uint64(max(info.NumAckPending, 0))
		if info.NumAckPending == 0 {
			seq = max(seq, info.Delivered.Stream) // the floor is that of the last ack, which may have come out of turn
		}
		return nil
	})
	return seq, waiting, there, err
}

// Drop forgets a durable consumer.
func (l *Log) Drop(ctx context.Context, name domain.StreamName, durable string) error {
	if err := stream.ValidateStream(name); err != nil {
		return err
	}
	if err := stream.ValidateDurable(durable); err != nil {
		return err
	}
	return l.keep(ctx, "drop consumer "+durable+" of "+string(name), func(ctx context.Context) error {
		err := l.js.DeleteConsumer(ctx, string(name), durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil
		}
		return err
	})
}

// Trim deletes messages up to a sequence.
func (l *Log) Trim(ctx context.Context, name domain.StreamName, subject string, seq uint64) error {
	if err := stream.ValidateStream(name); err != nil {
		return err
	}
	if subject != "" {
		if err := stream.ValidateFilters([]string{subject}); err != nil {
			return err
		}
	}
	return l.keep(ctx, "trim stream "+string(name), func(ctx context.Context) error {
		s, err := l.js.Stream(ctx, string(name))
		if err != nil {
			return err
		}
		// Beyond the end, the server would leave a gap for what is to come.
		upTo := min(seq, s.CachedInfo().State.LastSeq)
		if upTo == 0 {
			return nil
		}
		if err := l.host.trims(l.cfg, name, upTo); err != nil {
			return err
		}
		opts := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSequence(upTo + 1)}
		if subject != "" {
			opts = append(opts, jetstream.WithPurgeSubject(subject))
		}
		return s.Purge(ctx, opts...)
	})
}
