package natsstream

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// Settings are sentences about how the server and its streams are set that cost something.
//
// Errors: [domain.ErrUnavailable].
func (l *Log) Settings(ctx context.Context) (texts []string, err error) {
	for _, name := range []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents} {
		err = l.keep(ctx, "settings of stream "+string(name), func(ctx context.Context) error {
			s, err := l.js.Stream(ctx, string(name))
			if err == nil {
				texts = append(texts, settingsOf(s.CachedInfo())...)
			}
			return err
		})
		if err != nil {
			return texts, err
		}
	}
	if most := l.wire.Conn.MaxPayload(); most > 0 && most < stream.MaxData {
		texts = append(texts, fmt.Sprintf("the NATS server takes messages of up to %d bytes, and the largest events have %d: they are refused; set max_payload: 2MB",
			most, stream.MaxData))
	}
	return texts, nil
}

// settingsOf says what a stream loses by itself, and which of its servers lag.
func settingsOf(info *jetstream.StreamInfo) (texts []string) {
	say := func(format string, args ...any) {
		texts = append(texts, "stream "+info.Config.Name+" "+fmt.Sprintf(format, args...))
	}
	c := info.Config
	if c.Discard == jetstream.DiscardOld {
		var bounds []string
		if c.MaxMsgs > 0 {
			bounds = append(bounds, fmt.Sprintf("max_msgs %d", c.MaxMsgs))
		}
		if c.MaxBytes > 0 {
			bounds = append(bounds, fmt.Sprintf("max_bytes %d", c.MaxBytes))
		}
		if len(bounds) > 0 {
			say("throws its oldest messages away at %s, read or not: set --discard new, or no bound, and have nodes trim it (stream_retention)",
				strings.Join(bounds, " and "))
		}
	}
	if c.MaxBytes > 0 && int64(info.State.Bytes) > c.MaxBytes/10*8 {
		say("has %d of %d bytes (max_bytes): make that larger, or keep less (stream_retention)", info.State.Bytes, c.MaxBytes)
	}
	if info.Cluster == nil {
		return texts
	}
	for _, r := range info.Cluster.Replicas {
		switch {
		case r.Offline:
			say("has a replica on %s, which is away: the loss of another server may stop it", r.Name)
		case !r.Current:
			say("has a replica on %s that is %d operations behind: its disk or network is slow, or it was just started", r.Name, r.Lag)
		}
	}
	return texts
}
