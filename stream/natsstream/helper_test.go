package natsstream_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

func hostPort(t testing.TB, addr string) (string, int) {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// file writes a file and returns its name.
func file(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// client is another program on a server.
func client(t testing.TB, url string, opts ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	nc, err := nats.Connect(url, append(opts, nats.Timeout(patience))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

func event(n int) stream.Message {
	return stream.Message{Stream: domain.AggregateEvents, Subject: "aggregate.account." + strconv.Itoa(n%7), ID: fmt.Sprint("event-", n), Data: fmt.Append(nil, n)}
}

// until does something again and again while it is unavailable.
func until(t testing.TB, do func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, domain.ErrUnavailable) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func publish(t testing.TB, l stream.Log, messages ...stream.Message) {
	t.Helper()
	until(t, func(ctx context.Context) error { return l.Publish(ctx, messages...) })
}

func reader(t testing.TB, l stream.Log, c stream.Consumer) stream.Reader {
	t.Helper()
	var r stream.Reader
	until(t, func(ctx context.Context) (err error) {
		r, err = l.Read(ctx, c)
		return err
	})
	t.Cleanup(func() { r.Close() })
	return r
}

func next(t testing.TB, r stream.Reader, most int) (list []stream.Message) {
	t.Helper()
	until(t, func(ctx context.Context) (err error) {
		list, err = r.Next(ctx, most)
		return err
	})
	return list
}
