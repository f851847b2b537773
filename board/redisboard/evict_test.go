package redisboard_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
)

// A server that throws away keys when its memory is full is refused, also where
// it may not be asked for its configuration; who insists is told.
func TestAServerThatEvictsIsRefused(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "allkeys-random", "volatile-ttl"} {
		s := redistest.Start(t, "maxmemory 8mb", "maxmemory-policy "+policy, "user worker on >secret ~* &* +@all -config")
		for _, url := range []string{s.URL(), "redis://worker:secret@" + s.Addr()} {
			b, err := redisboard.Open(t.Context(), url, redisboard.Config{})
			if err == nil {
				b.Close()
			}
			wantKind(t, policy, err, domain.ErrInvalid, "CONFIG SET maxmemory-policy noeviction")
			wantKind(t, policy, err, domain.ErrInvalid, "--may-lose")
		}
		b := open(t, s, redisboard.Config{MayLose: true})
		if got, err := b.Evictions(t.Context()); err != nil || len(got) != 1 || !strings.Contains(got[0], policy) {
			t.Errorf("%s: got evictions %q, %v", policy, got, err)
		}
	}
	b := open(t, redistest.Start(t, "maxmemory 8mb", "maxmemory-policy noeviction"), redisboard.Config{})
	if got, err := b.Evictions(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("noeviction: got evictions %q, %v", got, err)
	}
}
