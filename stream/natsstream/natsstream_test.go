package natsstream_test

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ramet-run/ramet/internal/testport"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/stream/natsstream"
	"github.com/ramet-run/ramet/stream/streamtest"
)

// open opens a log that ends with the test.
func open(t testing.TB, cfg natsstream.Config) *natsstream.Log {
	t.Helper()
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	l, err := natsstream.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	for _, mayLose := range []bool{false, true} {
		t.Run(fmt.Sprintf("messages may be lost: %t", mayLose), func(t *testing.T) {
			t.Parallel()
			streamtest.Run(t, streamtest.Factory{
				Open: func(t *testing.T) streamtest.Broker {
					dir := t.TempDir()
					return streamtest.Broker{Log: func(t *testing.T) stream.Log {
						return open(t, natsstream.Config{DataDir: dir, MayLose: mayLose})
					}}
				},
				Features: streamtest.Features{Alone: "the embedded server is one process's"},
			})
		})
	}
}

func TestExternal(t *testing.T) {
	t.Parallel()
	streamtest.Run(t, streamtest.Factory{Open: func(t *testing.T) streamtest.Broker {
		b := run(t, server.Options{SyncAlways: true, MaxPayload: 2 << 20})
		return streamtest.Broker{
			Log: func(t *testing.T) stream.Log {
				return open(t, natsstream.Config{URL: b.url, Replicas: 1, SyncDeclared: true})
			},
			Restart: b.restart,
		}
	}})
}

// broker is a NATS server that listens.
type broker struct {
	url  string
	opts server.Options

	mu sync.Mutex
	s  *server.Server
}

// run starts a server that ends with the test.
func run(t *testing.T, opts server.Options) *broker {
	t.Helper()
	b := &broker{opts: opts}
	addr := testport.Free(t)
	b.url = "nats://" + addr
	b.opts.Host, b.opts.Port = hostPort(t, addr)
	b.opts.NoSigs, b.opts.JetStream = true, true
	if b.opts.StoreDir == "" {
		b.opts.StoreDir = t.TempDir()
	}
	b.start(t)
	t.Cleanup(func() { b.end() })
	return b
}

func (b *broker) start(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	opts := b.opts
	s, err := server.NewServer(&opts)
	if err != nil {
		t.Fatal(err)
	}
	b.s = s
	s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
}

func (b *broker) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.s.Shutdown()
	b.s.WaitForShutdown()
}

func (b *broker) restart(t *testing.T) {
	t.Helper()
	b.end()
	b.start(t)
}
