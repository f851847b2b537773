//go:build no_etcd && no_grpc && no_nats && no_otlp && no_postgres && no_s3

package main

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/node"
)

// What a small program was built without is refused by name, with what to do, and
// is never opened as something else.
func TestLeftOutPartsAreRefused(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	p := &parts{log: log}
	_, board := openBoard(t.Context(), options{boardURL: "etcd://127.0.0.1:2379", log: log})
	_, archive := archivePlace{kind: "postgres", url: "postgres://u:secret@h/db"}.open(t.Context(), options{log: log})
	_, bus := openBuses(t.Context(), []string{"nats:"}, testKeys(t), t.TempDir(), p.natsPeers, log)
	_, streams := p.openStream(t.Context(), "nats://u:secret@h:4222", t.TempDir(), nil, false, log)
	_, ofNATS := natsConfig(cli.NATSOptions{})
	secrets, err := effect.NewSecrets(nil, log)
	if err != nil {
		t.Fatal(err)
	}
	host, kinds := effect.Host{Secrets: secrets}, effectKinds(&node.Node{})
	_, grpc := effect.OpenSet([]effect.Definition{{Name: "ask", Kind: domain.EffectGRPC}}, kinds, host)
	_, sql := effect.OpenSet([]effect.Definition{{Name: "ask", Kind: domain.EffectSQL, Options: map[string]any{
		"driver": "postgres", "address": "h:5432", "database": "d", "user": "u", "security": "none", "statements": []any{"SELECT 1"},
	}}}, kinds, host)
	traced := config{Tracing: tracingConfig{Endpoint: "http://127.0.0.1:4318"}}
	_, s3 := openArtifactStore("s3://bucket?endpoint=127.0.0.1:9000", "", "")
	for what, err := range map[string]error{"artifacts: no_s3": s3, "no_etcd": board, "archive: no_postgres": archive, "bus: no_nats": bus,
		"streams: no_nats": streams,
		"config: no_nats":  ofNATS, "no_otlp": p.openTracing(t.Context(), traced), "no_grpc": grpc, "driver: no_postgres": sql} {
		_, tag, _ := strings.Cut(": "+what, "no_")
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "built without it") || !strings.Contains(err.Error(), "no_"+tag) {
			t.Errorf("%s: got %v, want that it was built without it, and the tag", what, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v shows a password", what, err)
		}
	}
	slices.Sort(without)
	if got := strings.Join(without, " "); got != "etcd grpc nats otlp postgres s3" {
		t.Errorf("it says that it is without %s", got)
	}
}
