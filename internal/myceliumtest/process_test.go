package myceliumtest_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/internal/myceliumtest"
)

// TestProcesses has two stand-ins in processes of their own.
func TestProcesses(t *testing.T) {
	bin := myceliumtest.Build(t)
	a := myceliumtest.Run(t, bin)
	b := myceliumtest.Run(t, bin, a.Endpoint())
	a.AwaitRoute(b)
	b.AwaitRoute(a)
	send := func(from, to *myceliumtest.Process, payload string) string {
		t.Helper()
		status, text := call(t, "POST", from.URL()+"/api/v1/messages", fmt.Sprintf(`{"dst":{"pk":%q},"payload":%q}`, to.Key(), b64(payload)))
		if status != http.StatusCreated {
			t.Fatalf("got %d %s", status, text)
		}
		return fields(t, text)["id"].(string)
	}
	take := func(at *myceliumtest.Process, seconds int) string {
		t.Helper()
		status, text := call(t, "GET", fmt.Sprintf("%s/api/v1/messages?timeout=%d", at.URL(), seconds), "")
		if status == http.StatusNoContent {
			return "-"
		}
		raw, _ := base64.StdEncoding.DecodeString(fields(t, text)["payload"].(string))
		return string(raw)
	}
	id := send(a, b, "there")
	send(b, a, "and back")
	if diff := cmp.Diff([]string{"there", "and back"}, []string{take(b, 60), take(a, 60)}); diff != "" {
		t.Error(diff)
	}
	// told waits until a knows what b popped: it is told before what b sends next.
	mark := 0
	told := func() {
		t.Helper()
		mark++
		want := fmt.Sprint("mark ", mark)
		send(b, a, want)
		for got := ""; got != want; { // an older mark comes again after a cut
			if got = take(a, 60); got == "-" {
				t.Fatalf("no %s", want)
			}
		}
	}
	told()
	if _, text := call(t, "GET", a.URL()+"/api/v1/messages/status/"+id, ""); fields(t, text)["state"] != "read" {
		t.Errorf("got %s, want read", text)
	}

	// A link is cut as on the real daemon.
	peers := b.URL() + "/api/v1/admin/peers"
	if status, text := call(t, "DELETE", peers+"/"+url.PathEscape(a.Endpoint()), ""); status != 204 {
		t.Fatalf("got %d %s", status, text)
	}
	send(a, b, "through the cut")
	if got := take(b, 0); got != "-" {
		t.Errorf("got %q over a cut link", got)
	}
	if status, text := call(t, "POST", peers, fmt.Sprintf(`{"endpoint":%q}`, a.Endpoint())); status != 204 {
		t.Fatalf("got %d %s", status, text)
	}
	if got := take(b, 60); got != "through the cut" {
		t.Errorf("healed: got %q", got)
	}

	// A process that was killed has its key, and nothing else. What it had popped
	// would come again, had it not said so.
	told()
	key := b.Key()
	send(b, b, "lost")
	b.Kill()
	send(a, b, "while it is away")
	b.Start()
	if b.Key() != key {
		t.Errorf("got key %s after a restart, want %s", b.Key(), key)
	}
	if got := take(b, 60); got != "while it is away" {
		t.Errorf("restarted: got %q", got)
	}

	if status, text := call(t, "PUT", b.URL()+"/stand-in/faults", `{"lose":1}`); status != 204 {
		t.Fatalf("got %d %s", status, text)
	}
	send(b, b, "lost")
	if got := take(b, 0); got != "-" {
		t.Errorf("with faults: got %q", got)
	}
}
