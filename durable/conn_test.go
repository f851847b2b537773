package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
)

func TestAConnHearsWhatTheChannelSays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := durable.Serve(t.Context(), l, durable.NewScript(&memory{}, "seed", func(bool) {}))
	defer server.Close()
	c := durable.Dial(path)
	ask := func(r durable.Request) (durable.Answer, error) { return c.Do(context.Background(), r) }
	begun, err := ask(durable.Request{Do: durable.DoStep, Name: "a"})
	if err != nil || begun.Done || begun.N != 1 || begun.Attempt != 1 {
		t.Fatalf("got %+v, %v", begun, err)
	}
	if a, err := ask(durable.Request{Do: durable.DoDone, Name: "a", N: 1, Value: json.RawMessage(`{"x":"<"}`)}); err != nil || !a.Done {
		t.Errorf("got %+v, %v", a, err)
	}
	if _, err := ask(durable.Request{Do: durable.DoDone, Name: "b", N: 1}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v, want what the channel says of a step that was not begun", err)
	}
	if a, err := ask(durable.Request{Do: durable.DoSleep, Name: "nap", ForMs: new(int64(3_600_000))}); err != nil || !a.Suspend {
		t.Errorf("got %+v, %v, want it suspended", a, err)
	}
}
