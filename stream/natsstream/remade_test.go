package natsstream_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
)

// remake deletes the stream of events and makes it anew, with n events of others.
func remake(t *testing.T, url string, n int) {
	t.Helper()
	_, js := client(t, url)
	name := string(domain.AggregateEvents)
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), s.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := js.Publish(t.Context(), event(1).Subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
}

func wantRemade(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "stream AGGREGATE_EVENTS") ||
		!strings.Contains(err.Error(), "had and restart all of them; only where these are lost, the first one with --accept-loss") {
		t.Errorf("%s: got error %v, want unavailable with the stream's name and what to do", what, err)
	}
}

func TestAStreamThatWasMadeAnewTakesNothing(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(t *testing.T, l *natsstream.Log, url string) error{
		"a publisher": func(t *testing.T, l *natsstream.Log, url string) error {
			remake(t, url, 0)
			return l.Publish(t.Context(), event(10))
		},
		"publishers at once": func(t *testing.T, l *natsstream.Log, url string) error {
			remake(t, url, 0)
			var list []stream.Message
			for n := range 100 {
				list = append(list, event(10+n))
			}
			return l.Publish(t.Context(), list...)
		},
		"a look": func(t *testing.T, l *natsstream.Log, url string) error {
			remake(t, url, 9) // it has grown beyond what the other had
			return l.Check(t.Context())
		},
		"a reader": func(t *testing.T, l *natsstream.Log, url string) error {
			remake(t, url, 9)
			_, err := l.Read(t.Context(), stream.Consumer{Durable: "d", Stream: domain.AggregateEvents, After: 4})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := run(t, server.Options{})
			cfg := natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true}
			first := open(t, cfg)
			for n := range 5 {
				publish(t, first, event(n))
			}
			l := open(t, cfg)
			publish(t, l, event(0), event(5)) // one that it has, one that is new
			wantRemade(t, "it", try(t, l, b.url))
			wantRemade(t, "a publisher", l.Publish(t.Context(), event(1000)))
			wantRemade(t, "whoever asks", l.Check(t.Context()))
		})
	}
}

// A server that may lose the end of a stream is no other; one that may not has lost
// what it had acknowledged.
func TestAStreamThatHasLostItsEnd(t *testing.T) {
	t.Parallel()
	for _, mayLose := range []bool{true, false} {
		t.Run(fmt.Sprint("it may lose: ", mayLose), func(t *testing.T) {
			t.Parallel()
			b := run(t, server.Options{})
			cfg := natsstream.Config{URL: b.url, Replicas: 1, MayLose: mayLose, SyncDeclared: !mayLose}
			publish(t, open(t, cfg), event(1), event(2), event(3))
			l := open(t, cfg)
			b.end()
			if err := os.RemoveAll(filepath.Join(b.opts.StoreDir, "jetstream", "$G", "streams", string(domain.AggregateEvents), "msgs")); err != nil {
				t.Fatal(err)
			}
			b.start(t)
			if !mayLose {
				var err error
				testwait.Until(t, "the server is reached again", func() bool {
					err = l.Publish(t.Context(), event(4))
					return err == nil || !strings.Contains(err.Error(), "cannot be reached")
				})
				wantRemade(t, "a publisher", err)
				return
			}
			publish(t, l, event(4))
			if err := l.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAKnownStreamThatIsMissingIsNotMade(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	cfg := natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true, Known: []domain.StreamName{domain.AggregateEvents}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := natsstream.Open(ctx, cfg)
	if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "AGGREGATE_EVENTS") || !strings.Contains(err.Error(), "--accept-loss") {
		t.Errorf("got error %v, want a conflict that says what to do", err)
	}
	_, js := client(t, b.url)
	if _, err := js.Stream(t.Context(), string(domain.AggregateEvents)); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("got %v: the stream was made", err)
	}
}

// older puts what a store had after five events, without the ten behind them, under a log
// that has published them.
func older(t *testing.T, b *broker, l *natsstream.Log) {
	t.Helper()
	for n := range 5 {
		publish(t, l, event(n))
	}
	b.end()
	before := filepath.Join(t.TempDir(), "before")
	if err := os.CopyFS(before, os.DirFS(b.opts.StoreDir)); err != nil {
		t.Fatal(err)
	}
	b.start(t)
	for n := range 10 {
		publish(t, l, event(5+n))
	}
	b.end()
	if err := os.RemoveAll(filepath.Join(b.opts.StoreDir, "jetstream")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(b.opts.StoreDir, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	b.start(t)
}

// back tries something until the server is reached again, and returns what came of it.
func back(t *testing.T, do func(ctx context.Context) error) (err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	testwait.Until(t, "the server is reached again", func() bool {
		err = do(ctx)
		return err == nil || !strings.Contains(err.Error(), "cannot be reached")
	})
	return err
}

// The streams were opened when they were empty: what they had is what was stored since.
func TestAnOlderStoreUnderARunningLog(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func(ctx context.Context, l *natsstream.Log, r stream.Reader) error{
		"a publisher": func(ctx context.Context, l *natsstream.Log, _ stream.Reader) error { return l.Publish(ctx, event(100)) },
		"publishers at once": func(ctx context.Context, l *natsstream.Log, _ stream.Reader) error {
			var list []stream.Message
			for n := range 100 { // beyond what it had
				list = append(list, event(100+n))
			}
			return l.Publish(ctx, list...)
		},
		"a look": func(ctx context.Context, l *natsstream.Log, _ stream.Reader) error { return l.Check(ctx) },
		"a reader": func(ctx context.Context, l *natsstream.Log, r stream.Reader) error {
			_, err := r.Next(ctx, 1)
			return err
		},
		"a reader that begins": func(ctx context.Context, l *natsstream.Log, _ stream.Reader) error {
			_, err := l.Read(ctx, stream.Consumer{Durable: "e", Stream: domain.AggregateEvents})
			return err
		},
		"nobody": func(_ context.Context, l *natsstream.Log, _ stream.Reader) error {
			var err error
			testwait.Until(t, "it is seen", func() bool { err = l.Remade(); return err != nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := run(t, server.Options{})
			l := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
			r := reader(t, l, stream.Consumer{Durable: "d", Stream: domain.AggregateEvents})
			older(t, b, l)
			wantRemade(t, "it", back(t, func(ctx context.Context) error { return try(ctx, l, r) }))
			wantRemade(t, "a publisher", l.Publish(t.Context(), event(1000)))
			wantRemade(t, "whoever asks", l.Check(t.Context()))
		})
	}
}

// What others know that a stream had counts too: this log has stored nothing, and not looked.
func TestOthersKnowWhatAStreamHad(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
	publish(t, l, event(1))
	st, err := l.Stats(t.Context(), domain.AggregateEvents)
	if err != nil {
		t.Fatal(err)
	}
	l.Had(domain.AggregateEvents, st.Created.Add(-1), 9) // of one before
	l.Had(domain.AggregateEvents, st.Created, 1)
	if err := l.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Had(domain.AggregateEvents, st.Created, 2)
	wantRemade(t, "whoever asks", l.Check(t.Context()))
	wantRemade(t, "a publisher", l.Publish(t.Context(), event(2)))
}

// Where another node has gone on with what there is, nobody is told to put back what there was.
func TestAnotherNodeHasGoneOnWithLess(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(l *natsstream.Log, created time.Time){
		"with the stream as it is": func(l *natsstream.Log, created time.Time) { l.Had(domain.AggregateEvents, created, 1) },
		"with another":             func(l *natsstream.Log, created time.Time) { l.Had(domain.AggregateEvents, created.Add(1), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := run(t, server.Options{})
			l := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
			publish(t, l, event(1))
			st, err := l.Stats(t.Context(), domain.AggregateEvents)
			if err != nil {
				t.Fatal(err)
			}
			l.Had(domain.AggregateEvents, st.Created, 2)
			wantRemade(t, "whoever asks", l.Check(t.Context()))
			if err := l.Passed(); err != nil {
				t.Errorf("before another node has gone on: %v", err)
			}
			then(l, st.Created)
			for who, err := range map[string]error{"whoever asks": l.Check(t.Context()), "a publisher": l.Publish(t.Context(), event(2)), "who reads": l.Passed()} {
				if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "another node has gone on with the streams as they are: restart this one") ||
					strings.Contains(err.Error(), "--accept-loss") {
					t.Errorf("%s: got %v", who, err)
				}
			}
		})
	}
}

// TestWhatAilsAStreamIsItsOwn: nothing is stored in any while one is another, and of each stream it is told why.
func TestWhatAilsAStreamIsItsOwn(t *testing.T) {
	t.Parallel()
	b := run(t, server.Options{})
	l := open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
	publish(t, l, event(1))
	remake(t, b.url, 0)
	wantRemade(t, "of itself", l.Check(t.Context(), domain.AggregateEvents))
	const want = "stream WORKFLOW_COMMANDS takes nothing from this node while stream AGGREGATE_EVENTS is not what it was"
	if err := l.Check(t.Context(), domain.WorkflowCommands); !errors.Is(err, domain.ErrUnavailable) || err.Error() != want {
		t.Errorf("of another: got %v", err)
	}
	wantRemade(t, "of all", l.Check(t.Context()))
}
