package service_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// stillArchive takes what it is asked and answers no more once it is silent, and slowly before.
type stillArchive struct {
	silent atomic.Bool
	takes  time.Duration
}

func (a *stillArchive) wait(ctx context.Context, takes time.Duration) error {
	for began := time.Now(); a.silent.Load() || time.Since(began) < takes; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (a *stillArchive) Get(ctx context.Context, _ domain.TenantID, key string, _ int64) (archive.Record, error) {
	return archive.Record{Key: key, Kind: domain.ArchiveJob}, a.wait(ctx, a.takes)
}

func (a *stillArchive) Search(ctx context.Context, _ archive.Query) (archive.Page, error) {
	return archive.Page{}, a.wait(ctx, a.takes)
}
func (a *stillArchive) Count(ctx context.Context, _ archive.Query) (int64, error) {
	return 0, a.wait(ctx, a.takes)
}
func (a *stillArchive) Ping(ctx context.Context) error { return a.wait(ctx, 0) }
func (a *stillArchive) Durability() board.Durability   { return board.DurableDisk }

// TestASilentArchiveIsNotWaitedFor where its connection is there already and nothing comes by it;
// one that is slow is.
func TestASilentArchiveIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &stillArchive{takes: 20 * time.Second}
		r := newRig(t)
		parts := servicetest.Parts(r.board, r.registry, r.engine)
		parts.Archive = a
		s := service.New(parts)
		defer time.Sleep(time.Minute) // no look goes on
		c := s.As(admin)
		reads := map[string]func(ctx context.Context) error{
			"show": func(ctx context.Context) error {
				_, err := c.ShowArchive(ctx, api.ArchiveShowParams{Context: house, Key: "job:1:1"})
				return err
			},
			"search": func(ctx context.Context) error {
				_, err := c.SearchArchive(ctx, api.ArchiveParams{Context: house})
				return err
			},
			"count": func(ctx context.Context) error {
				_, err := c.SearchArchive(ctx, api.ArchiveParams{Context: house, ArchiveFilter: api.ArchiveFilter{Count: true}})
				return err
			},
			"a job that left the board": func(ctx context.Context) error {
				_, err := c.ShowJob(ctx, api.JobParams{Context: house, ID: 1})
				return err
			},
		}
		for name, read := range reads {
			for _, after := range []time.Duration{0, 5 * time.Second} {
				a.silent.Store(after == 0)
				time.AfterFunc(after, func() { a.silent.Store(true) })
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				began := time.Now()
				err := read(ctx)
				cancel()
				if took := time.Since(began); !errors.Is(err, domain.ErrUnavailable) || !strings.HasPrefix(err.Error(), "the archive gives no answer since ") ||
					took > after+3*time.Second {
					t.Errorf("%s, silent after %v: got %v after %v", name, after, err, took)
				}
				a.silent.Store(false)
				time.Sleep(time.Minute)
			}
			began := time.Now()
			if err := read(t.Context()); errors.Is(err, domain.ErrUnavailable) || time.Since(began) < a.takes {
				t.Errorf("%s, slow: got %v after %v", name, err, time.Since(began))
			}
		}
	})
}
