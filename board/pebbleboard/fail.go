package pebbleboard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/ramet-run/ramet/domain"
)

// This file has what happens when the disk fails. Memory must never run ahead
// of it, so the first write that fails stops the board for good: everybody
// who waits and everybody who comes later gets the same error.

var noContext = context.Background()

// fail stops the board.
func (b *Board) fail(err error) {
	b.failOnce.Do(func() {
		b.failed = b.explain(err)
		close(b.down)
		b.log.Error("board stopped", "folder", b.dir, "err", b.failed)
		if b.cfg.Fatal != nil {
			go b.cfg.Fatal(b.failed)
		}
	})
}

func (b *Board) failf(format string, args ...any) { b.fail(fmt.Errorf(format, args...)) }

func (b *Board) stopped() bool {
	select {
	case <-b.down:
		return true
	default:
		return false
	}
}

// failure is why the board has stopped. It is asked after down is closed.
func (b *Board) failure() error { return b.failed }

func (b *Board) unavailable(format string, args ...any) error {
	return domain.Unavailablef("%s", fmt.Errorf(format, args...))
}

// explain says what a failed write means to a person.
func (b *Board) explain(err error) error {
	switch {
	case errors.Is(err, domain.ErrUnavailable):
		return err
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return domain.Unavailablef("data folder %q is full: free some space and start again; nothing acknowledged was lost", b.dir)
	case errors.Is(err, syscall.EROFS):
		return domain.Unavailablef("data folder %q is on a read-only disk: make it writable and start again; nothing acknowledged was lost", b.dir)
	case pebble.IsCorruptionError(err) || errors.Is(err, errCorrupt):
		return damaged(b.dir, err)
	}
	return domain.Unavailablef("data folder %q cannot be written: %v; check the disk and start again; nothing acknowledged was lost", b.dir, plain(err))
}

func damaged(dir string, err error) error {
	return domain.Unavailablef("data folder %q is damaged: %v; restore it from a backup (stop everything that uses it first)", dir, plain(err))
}

// plain is an error's first line: stack traces are not for people.
func plain(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// readError translates an error of a read; nil stays nil.
func (b *Board) readError(err error) error {
	switch {
	case err == nil || errors.Is(err, domain.ErrUnavailable):
		return err
	case pebble.IsCorruptionError(err) || errors.Is(err, errCorrupt):
		return damaged(b.dir, err)
	}
	return b.unavailable("read data folder %q: %s", b.dir, plain(err))
}

// storeLog takes what Pebble logs, and keeps it from ending the process.
type storeLog struct{ b *Board }

func (l storeLog) Infof(string, ...any) {}

func (l storeLog) Errorf(format string, args ...any) {
	l.b.log.Warn("store", "folder", l.b.dir, "message", fmt.Sprintf(format, args...))
}

// Fatalf must not return: Pebble would go on with what it knows to be broken.
// The board stops, and so does the goroutine.
func (l storeLog) Fatalf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	for _, a := range args {
		if e, ok := a.(error); ok {
			err = fmt.Errorf("%s: %w", strings.TrimSpace(fmt.Sprintf(format, args...)), e)
		}
	}
	l.b.fail(err)
	runtime.Goexit()
}

// storeEvents stops the board when a flush or compaction cannot write: the
// log would grow until nothing goes any more.
func (b *Board) storeEvents() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			if errors.Is(err, pebble.ErrCancelledCompaction) || errors.Is(err, pebble.ErrClosed) {
				return
			}
			b.fail(err)
		},
		// By default this is a Fatalf, in whose place the store cannot do without the
		// goroutine: it panics.
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			b.fail(damaged(b.dir, fmt.Errorf("%s: %w", filepath.Base(i.Path), i.Details)))
		},
	}
}
