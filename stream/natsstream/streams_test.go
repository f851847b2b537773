package natsstream_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// made is a stream as its owner may have made it.
func made(name domain.StreamName, change func(*jetstream.StreamConfig)) jetstream.StreamConfig {
	c := jetstream.StreamConfig{Name: string(name), Subjects: name.Subjects()}
	if change != nil {
		change(&c)
	}
	return c
}

func TestStreamsThatWouldLoseMessagesAreRefused(t *testing.T) {
	t.Parallel()
	commands, events := domain.WorkflowCommands, domain.AggregateEvents
	for _, c := range []struct {
		name   string
		stream jetstream.StreamConfig
		want   string // of the error, "" for none
		warns  string
	}{
		{name: "as it must be", stream: made(commands, nil)},
		{name: "with more subjects", stream: made(commands, func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "other.>") })},
		{name: "with wider subjects", stream: made(commands, func(c *jetstream.StreamConfig) {
			c.Subjects = []string{"tenant.*.effect.>", "tenant.*.workflow.*.*", "effect.>", "workflow.*.>"}
		})},
		{name: "full is full", stream: made(commands, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = 10, jetstream.DiscardNew })},
		{name: "without the subjects of no tenant", stream: made(commands, func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:2] }), want: "subjects: found"},
		{name: "with one subject only", stream: made(commands, func(c *jetstream.StreamConfig) {
			c.Subjects = []string{"tenant.*.effect.mail.*", "tenant.*.workflow.*.*", "effect.*.*", "workflow.*.*"}
		}), want: "subjects: found"},
		{name: "in memory", stream: made(commands, func(c *jetstream.StreamConfig) {
			c.Storage = jetstream.MemoryStorage
		}), want: "storage: found Memory, want File"},
		{name: "gone when taken", stream: made(commands, func(c *jetstream.StreamConfig) {
			c.Retention = jetstream.WorkQueuePolicy
		}), want: "retention: found WorkQueue"},
		{name: "without answers", stream: made(commands, func(c *jetstream.StreamConfig) { c.NoAck = true }), want: "no_ack: found true"},
		{name: "old ones go by age", stream: made(commands, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }), want: "max_age: found 1h0m0s, want 0"},
		{name: "old ones go by number", stream: made(commands, func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }), want: "max_msgs: found 10"},
		{name: "old ones go by size", stream: made(commands, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 }), want: "max_bytes: found 1048576"},
		{name: "old ones of a subject go", stream: made(commands, func(c *jetstream.StreamConfig) {
			c.MaxMsgsPerSubject = 1
		}), want: "max_msgs_per_subject: found 1"},
		{name: "forgets IDs soon", stream: made(commands, func(c *jetstream.StreamConfig) {
			c.Duplicates = time.Second
		}), want: "duplicate_window: found 1s, want 2m0s"},
		{name: "of small messages", stream: made(commands, func(c *jetstream.StreamConfig) {
			c.MaxMsgSize = 1000
		}), want: "max_msg_size: found 1000, want -1, or at least"},
		{name: "events go by age", stream: made(events, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }), warns: "max_age is 1h0m0s"},
		{name: "events in memory", stream: made(events, func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }), want: "storage: found Memory"},
		{name: "answered asynchronously", stream: made(events, func(c *jetstream.StreamConfig) {
			c.PersistMode = jetstream.AsyncPersistMode
		}), want: "persist_mode: found Async, want Default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := run(t, server.Options{})
			_, js := client(t, b.url)
			if _, err := js.CreateStream(t.Context(), c.stream); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			l, err := natsstream.Open(t.Context(), natsstream.Config{URL: b.url, Replicas: 1, MayLose: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if err == nil {
				l.Close()
			}
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), c.stream.Name)) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if !strings.Contains(log.String(), c.warns) {
				t.Errorf("got log %s, want %q in it", &log, c.warns)
			}
		})
	}
}

func TestWhatIsClaimed(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	for _, c := range []struct {
		name string
		cfg  natsstream.Config
		want board.Durability
		err  string
	}{
		{name: "embedded", cfg: natsstream.Config{DataDir: t.TempDir()}, want: board.DurableDisk},
		{name: "embedded that may lose", cfg: natsstream.Config{DataDir: t.TempDir(), MayLose: true}, want: board.DurableProcess},
		{name: "external without replicas", cfg: natsstream.Config{URL: b.url, Replicas: 1}, err: "use a cluster and replicas=3; or set \"sync_interval: always\""},
		{name: "external of which nothing is said", cfg: natsstream.Config{URL: b.url}, err: "no room for 3 replicas"},
		{name: "external that syncs", cfg: natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true}, want: board.DurableDisk},
		{name: "external that may lose", cfg: natsstream.Config{URL: b.url, Replicas: 1, MayLose: true}, want: board.DurableProcess},
		{name: "two replicas", cfg: natsstream.Config{URL: b.url, Replicas: 2, MayLose: true}, err: "want 1 or 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := natsstream.Open(t.Context(), c.cfg)
			if c.err != "" {
				if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if got := l.Durability(); got != c.want {
				t.Errorf("got durability %q, want %q", got, c.want)
			}
		})
	}
}

// TestAYoungClusterIsAskedAgain: it refuses a stream until it knows enough of its servers. One that
// never does is told of in the end.
func TestAYoungClusterIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		want error
	}{
		{"asked again", context.Canceled}, // by us
		{"given up", domain.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := 0
			_, err := natsstream.Open(ctx, natsstream.Config{URL: clusterWithoutRoom(t, func() {
				if asked++; asked == 2 && c.want == context.Canceled {
					cancel()
				}
			})})
			if !errors.Is(err, c.want) || c.want == domain.ErrInvalid && !strings.Contains(err.Error(), "no room for 3 replicas (no suitable peers") {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// clusterWithoutRoom is a server that answers as the leader of a cluster which has no place for any
// stream, and tells of each that it is asked for.
func clusterWithoutRoom(t *testing.T, asked func()) (url string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Shutdown)
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
	nc, _ := client(t, s.ClientURL())
	for subject, answer := range map[string]string{
		"$JS.API.STREAM.INFO.*":   `{"error":{"code":404,"err_code":10059,"description":"stream not found"}}`,
		"$JS.API.STREAM.CREATE.*": `{"error":{"code":400,"err_code":10005,"description":"no suitable peers for placement"}}`,
	} {
		_, err := nc.Subscribe(subject, func(m *nats.Msg) {
			if strings.Contains(m.Subject, "CREATE") {
				asked()
			}
			_ = m.Respond([]byte(answer))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return s.ClientURL()
}

func TestMissingStreamsAreNotMadeByWhoMayNot(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	cfg := natsstream.Config{URL: b.url, Replicas: 1, MayLose: true, NoCreate: true}
	_, err := natsstream.Open(t.Context(), cfg)
	if !errors.Is(err, domain.ErrNotFound) || !strings.Contains(err.Error(), "tenant.*.aggregate.*.*") {
		t.Errorf("got error %v, want not found, with the subjects that it should have", err)
	}
	_, js := client(t, b.url)
	if _, err := js.Stream(t.Context(), "AGGREGATE_EVENTS"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("got %v: the stream was made", err)
	}
	cfg.NoCreate = false
	open(t, cfg)
	cfg.NoCreate = true
	open(t, cfg)
}

func TestAStreamWithoutBatchesIsPublishedToOneByOne(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	_, js := client(t, b.url)
	if _, err := js.CreateStream(t.Context(), made(domain.AggregateEvents, nil)); err != nil {
		t.Fatal(err)
	}
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
	var list []stream.Message
	for n := range 100 {
		list = append(list, event(n))
	}
	publish(t, l, list...)
	publish(t, l, list...)
	got, err := l.Scan(t.Context(), domain.AggregateEvents, nil, 1, 1000)
	if err != nil || len(got) != 100 {
		t.Fatalf("got %d messages and %v, want 100", len(got), err)
	}
	for i, m := range got {
		if m.ID != list[i].ID {
			t.Errorf("got %s at %d, want %s", m.ID, i, list[i].ID)
		}
	}
}

func TestAServerThatTakesLessRefusesBeforeItIsSent(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{MaxPayload: 100_000})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, MayLose: true})
	large := event(2)
	large.Data = make([]byte, 100_000)
	if err := l.Publish(t.Context(), event(1), large); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got error %v, want invalid", err)
	}
	st, err := l.Stats(t.Context(), domain.AggregateEvents)
	if err != nil || st.Messages != 0 {
		t.Errorf("got %d messages and %v, want none", st.Messages, err)
	}
}

func TestAServerThatIsAwayIsUnavailable(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := natsstream.Open(ctx, natsstream.Config{URL: "nats://127.0.0.1:1"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want the context's", err)
	}
	b := run(t, server.Options{})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, MayLose: true})
	b.end()
	if err := l.Publish(t.Context(), event(1)); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("publish: got error %v, want unavailable", err)
	}
}
