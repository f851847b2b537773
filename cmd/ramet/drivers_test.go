package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/object"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/processscript"
	"github.com/ramet-run/ramet/script/pythonscript"
	"github.com/ramet-run/ramet/script/rhaiscript"
	"github.com/ramet-run/ramet/script/salscript"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestBoards(t *testing.T) {
	tests := []struct {
		url  func(t *testing.T) string
		want any // of the board's type
		kind string
	}{
		{func(*testing.T) string { return "" }, (*pebbleboard.Board)(nil), "embedded"},
		{func(*testing.T) string { return "pebble:" }, (*pebbleboard.Board)(nil), "embedded"},
		{func(*testing.T) string { return "mem:" }, (*memboard.Board)(nil), "memory"},
		{func(t *testing.T) string { return redistest.Start(t).URL() }, (*redisboard.Board)(nil), "redis"},
		{func(t *testing.T) string { return redistest.StartSocket(t).URL() }, (*redisboard.Board)(nil), "redis"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%T", tt.want), func(t *testing.T) {
			url, dir := tt.url(t), t.TempDir()
			b, err := openBoard(t.Context(), options{boardURL: url, dataDir: dir, log: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if got, want := fmt.Sprintf("%T", b), fmt.Sprintf("%T", tt.want); got != want {
				t.Errorf("%q: got a %s, want a %s", url, got, want)
			}
			if got := boardKind(url); got != tt.kind {
				t.Errorf("%q: got kind %s, want %s", url, got, tt.kind)
			}
			_, err = os.Stat(filepath.Join(dir, "board"))
			if embedded := tt.kind == "embedded"; embedded != (err == nil) {
				t.Errorf("%q: a folder for the board: %v, want %v", url, err == nil, embedded)
			}
		})
	}
}

func TestBoardsThatAreNone(t *testing.T) {
	tests := []struct {
		url, want string
		kind      error
	}{
		{"carrier-pigeon://x", "want nothing (embedded), redis://host:port", domain.ErrInvalid},
		{"localhost:6379", "want nothing (embedded)", domain.ErrInvalid},
		{"redis://h/3", "ramet uses database N for context N", domain.ErrInvalid},
		{"redis://h?colour=red", `parameter "colour"`, domain.ErrInvalid},
		{"redis://127.0.0.1:1", "127.0.0.1:1", domain.ErrUnavailable},
	}
	for _, tt := range tests {
		b, err := openBoard(t.Context(), options{boardURL: tt.url, dataDir: t.TempDir(), log: quiet()})
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.url, err, tt.want)
		}
		if b != nil {
			t.Errorf("%q: got a board with the error", tt.url)
		}
	}
}

func TestRuntimes(t *testing.T) {
	j, err := jail.Open(jail.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	b := memboard.Open()
	defer b.Close()
	objects := object.New(b, identity.NewAccess(identity.NewRegistry(b), nil))
	no := false
	tests := []struct {
		name string
		with map[domain.ScriptType]runtimeConfig
		want string // types in order; those of package pythonscript end in *, of rhaiscript in +, of salscript in ~
	}{
		{"those built in", nil, "node osis+ python* rhai+ sal~ shell v"},
		{"one of one's own", map[domain.ScriptType]runtimeConfig{"ruby": {Command: []string{"ruby"}}}, "node osis+ python* rhai+ ruby sal~ shell v"},
		{"without one", map[domain.ScriptType]runtimeConfig{"v": {Off: true}, "node": {Off: true}}, "osis+ python* rhai+ sal~ shell"},
		{"python that is not forked", map[domain.ScriptType]runtimeConfig{"python": {Fork: &no}}, "node osis+ python* rhai+ sal~ shell v"},
		{"python by a command", map[domain.ScriptType]runtimeConfig{"python": {Command: []string{"uv", "run"}}}, "node osis+ python rhai+ sal~ shell v"},
		{"shell by a command", map[domain.ScriptType]runtimeConfig{"shell": {Command: []string{"bash"}}}, "node osis+ python* rhai+ sal~ shell v"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := openRuntimes(config{Runtimes: tt.with}, j, objects)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, rt := range list {
				defer rt.Close()
				got = append(got, string(rt.Type())+mark(t, rt))
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got %s, want %s", text, tt.want)
			}
		})
	}
	if _, err := openRuntimes(config{Runtimes: map[domain.ScriptType]runtimeConfig{"ruby": {}}}, j, objects); !errors.Is(err, domain.ErrInvalid) ||
		!strings.Contains(err.Error(), "ruby") {
		t.Errorf("a runtime without a command: got %v", err)
	}
}

// mark tells the packages of runtimes apart.
func mark(t *testing.T, rt script.Runtime) string {
	t.Helper()
	switch rt.(type) {
	case *processscript.Runtime:
		return ""
	case *pythonscript.Runtime:
		return "*"
	case *rhaiscript.Runtime:
		return "+"
	case *salscript.Runtime:
		return "~"
	}
	t.Fatalf("got a %T", rt)
	return ""
}
