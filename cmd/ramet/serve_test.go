package main

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/node"
)

// TestANodeThatWaitsForItsBoardIsStopped: whoever stops it has not made it fail, as little as one
// that runs.
func TestANodeThatWaitsForItsBoardIsStopped(t *testing.T) {
	s := redistest.Start(t, "appendonly no", "rdbcompression no")
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 200 {
		if err := c.Do(t.Context(), c.B().Set().Key(fmt.Sprint("text:", i)).Value(strings.Repeat(strconv.Itoa(i), 2000)).Build()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Do(t.Context(), c.B().Arbitrary("SAVE").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	s.RestartLoading()
	log, ended := &testwait.Log{}, make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		ended <- serve(ctx, cli.ServeOptions{DataDir: t.TempDir(), BoardURL: s.URL(), Listen: cli.ListenNone, Logger: slog.New(slog.NewTextHandler(log, nil))})
	}()
	log.Await(t, "redis is loading its data", 1)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
}

// TestACommandThatIsANodeEndsWithEverythingClosed: its process ends as soon as Stop returns,
// and what is not closed by then never is. The lock of the folder is what is left last.
func TestACommandThatIsANodeEndsWithEverythingClosed(t *testing.T) {
	dir := t.TempDir()
	n, err := embedded(t.Context(), cli.EmbeddedOptions{DataDir: dir, Socket: cli.SocketPath(dir), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	lock, err := node.Lock(t.Context(), dir, 0)
	if err != nil {
		t.Fatalf("the command has ended and holds its folder: %v", err)
	}
	lock.Close()
}
