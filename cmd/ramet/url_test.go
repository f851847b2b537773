package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestWhereAURLComesFrom(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return "@" + path
	}
	for _, c := range []struct {
		name, flag, config, want string
		err                      error
	}{
		{name: "nothing"},
		{name: "a flag", flag: "redis://a", config: "redis://b", want: "redis://a"},
		{name: "the config file", config: "redis://b", want: "redis://b"},
		{name: "a file", flag: file("a", "redis://:p@a\n", 0o600), config: "redis://b", want: "redis://:p@a"},
		{name: "a file that the config file names", config: file("b", " redis://b ", 0o640), want: "redis://b"},
		{name: "a file for all", flag: file("all", "redis://a", 0o644), err: domain.ErrForbidden},
		{name: "no file", flag: "@" + filepath.Join(dir, "none"), err: domain.ErrNotFound},
		{name: "a folder", flag: "@" + dir, err: domain.ErrInvalid},
		{name: "an empty file", flag: file("e", "\n", 0o600), err: domain.ErrInvalid},
		{name: "two lines", flag: file("2", "redis://a\nredis://b\n", 0o600), err: domain.ErrInvalid},
		{name: "a file that names another", flag: file("f", "@a", 0o600), err: domain.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options{boardURL: c.flag, archiveURL: c.flag, streamURL: c.flag, log: slog.New(slog.DiscardHandler)}
			cfg := config{Board: c.config, Archive: c.config, Stream: c.config}
			if c.flag != "" {
				o.buses = []string{c.flag}
			}
			if c.config != "" {
				cfg.Buses = []string{c.config}
			}
			err := o.findURLs(cfg)
			if !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			bus := ""
			if len(o.buses) > 0 {
				bus = o.buses[0]
			}
			for what, got := range map[string]string{"board": o.boardURL, "archive": o.archiveURL, "stream": o.streamURL, "bus": bus} {
				if got != c.want {
					t.Errorf("%s: got %q, want %q", what, got, c.want)
				}
			}
		})
	}
}
