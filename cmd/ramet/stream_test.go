//go:build !no_nats

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/stream/natsstream"
)

func TestStreamTexts(t *testing.T) {
	tests := []struct {
		text string
		want natsstream.Config
		err  string
	}{
		{text: "nats:"},
		{text: "nats:?sync=always", want: natsstream.Config{SyncDeclared: true}},
		{
			text: "nats:?listen=0.0.0.0:4222&token_file=/etc/token&tls_cert=c.pem&tls_key=k.pem",
			want: natsstream.Config{Listen: "0.0.0.0:4222", TokenFile: "/etc/token", TLSCert: "c.pem", TLSKey: "k.pem"},
		},
		{text: "nats://a:4222,b:4222", want: natsstream.Config{URL: "nats://a:4222,b:4222"}},
		{
			text: "tls://u:p@host?replicas=3&creds=/c&ca=/ca.pem&create=no",
			want: natsstream.Config{URL: "tls://u:p@host", Replicas: 3, CredsFile: "/c", CA: "/ca.pem", NoCreate: true},
		},
		{
			text: "nats://host?replicas=1&sync=always&nkey=/n&token_file=/t",
			want: natsstream.Config{URL: "nats://host", Replicas: 1, SyncDeclared: true, NkeyFile: "/n", TokenFile: "/t"},
		},
		{text: "kafka://u:secret@host", err: `kind "kafka"`},
		{text: "tls:", err: "want nats:"},
		{text: "nats:host:4222", err: "want nats: with parameters"},
		{text: "nats:?create=no", err: "known are listen, producer, sync"},
		{text: "nats://u:secret@host?listen=:1", err: "known are ca, create"},
		{text: "nats://u:secret@host?replicas=2", err: "want 1 or 3"},
		{text: "nats://u:secret@host?sync=never", err: "want always"},
		{text: "nats://u:secret@host?create=yes", err: "want no"},
		{text: "nats://u:secret@host?replicas=%zz", err: "malformed"},
		{text: "nats://host?replicas=1&replicas=3", err: "twice"},
		{text: "nats:?producer=:x&producer=:y", err: "producer"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := streamConfig(tt.text)
			if tt.err != "" {
				if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") {
					t.Errorf("got error %v, want %q and no secret", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(func(a, b identity.LinkKey) bool { return true })); diff != "" {
				t.Errorf("config (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	if l, err := (&parts{keys: testKeys(t)}).openStream(t.Context(), "off", t.TempDir(), nil, false, quiet()); l != nil || err != nil {
		t.Errorf("off: got %v and %v, want none", l, err)
	}
	for _, tt := range []struct {
		text    string
		mayLose bool
		want    board.Durability
	}{
		{"nats:", false, board.DurableDisk},
		{"nats:", true, board.DurableProcess},
		{"nats:?sync=always", true, board.DurableDisk},
	} {
		dir := t.TempDir()
		l, err := (&parts{keys: testKeys(t)}).openStream(t.Context(), tt.text, dir, nil, tt.mayLose, quiet())
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Durability(); got != tt.want {
			t.Errorf("%s, may lose %t: got durability %s, want %s", tt.text, tt.mayLose, got, tt.want)
		}
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if _, err := os.Stat(filepath.Join(dir, "streams")); err != nil {
			t.Errorf("%s: no folder for the streams: %v", tt.text, err)
		}
	}
	if l, err := (&parts{keys: testKeys(t)}).openStream(t.Context(), "nats://127.0.0.1:1?replicas=1", t.TempDir(), nil, false, quiet()); l != nil ||
		!errors.Is(err, domain.ErrInvalid) {
		t.Errorf("an external server that may lose messages: got %v and %v, want none and invalid", l, err)
	}
}
