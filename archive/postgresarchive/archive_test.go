package postgresarchive_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/archivetest"
	"github.com/ramet-run/ramet/archive/postgresarchive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/postgrestest"
)

func open(t *testing.T, url string) *postgresarchive.Archive {
	t.Helper()
	a, err := postgresarchive.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestArchive(t *testing.T) {
	url := postgrestest.Start(t).URL()
	var schemas atomic.Int64
	var urls sync.Map // by archive
	openAt := func(t *testing.T, url string) archive.Archive {
		a := open(t, url+"&pool_max_conns=8")
		urls.Store(a, url)
		return a
	}
	// In a group, so that the server outlives the parallel tests.
	t.Run("suite", func(t *testing.T) {
		archivetest.Run(t, archivetest.Factory{
			Open: func(t *testing.T) archive.Archive {
				return openAt(t, fmt.Sprintf("%s&schema=s%d", url, schemas.Add(1)))
			},
			Reopen: func(t *testing.T, a archive.Archive) archive.Archive {
				u, _ := urls.Load(a)
				return openAt(t, u.(string))
			},
			Durability: "disk",
		})
	})
	t.Run("nodes that start at once make the schema once", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 8 {
			a := open(t, url+"&schema=together&pool_max_conns=1")
			wg.Go(func() {
				if _, err := a.Count(t.Context(), archive.Query{Context: 1}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func TestAServerThatGoesAwayAndComesBack(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t, "fsync = off")
	s.Kill()
	a := open(t, s.URL())
	record := func(id domain.JobID) []archive.Record {
		r, err := archive.OfJob(1, &domain.Job{ID: id, CallerID: 1, Status: domain.JobFinished, FinishedMs: 1000}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return []archive.Record{r}
	}
	if err := a.Put(t.Context(), record(1)); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("put before the server was ever there: got %v", err)
	}
	if d := a.Durability(); d != board.DurableMemory {
		t.Errorf("got durability %q of a server that nobody has met", d)
	}
	s.Restart()
	if err := a.Put(t.Context(), record(1)); err != nil {
		t.Fatalf("put once it is there: %v", err)
	}
	if d := a.Durability(); d != board.DurableProcess {
		t.Errorf("got durability %q, want process: fsync is off", d)
	}
	s.Kill()
	if err := a.Put(t.Context(), record(2)); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("put while it is away: got %v", err)
	}
	s.Restart()
	if err := a.Put(t.Context(), record(2)); err != nil {
		t.Fatalf("put once it is back: %v", err)
	}
	if n, err := a.Count(t.Context(), archive.Query{Context: 1}); err != nil || n != 2 {
		t.Errorf("got %d records, %v, want 2", n, err)
	}
}

// A server is not silent because all connections to it are at work.
func TestAServerAnswersWhereAllConnectionsAreTaken(t *testing.T) {
	t.Parallel()
	a := open(t, postgrestest.Start(t, "fsync = off").URL()+"&pool_max_conns=1")
	s, err := a.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // it would be waited for as long as the snapshot is read
	defer cancel()
	if err := a.Ping(ctx); err != nil {
		t.Error(err)
	}
}

// What cannot be reached is told without the words of the library, which begin with the URL's user and database.
func TestAServerThatCannotBeReachedIsToldPlainly(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // its connections are made, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, c := range []struct{ at, with, want string }{
		{silent.Addr().String(), "sslmode=require&connect_timeout=1", "reach the archive: PostgreSQL cannot be reached: it gave no answer in time"},
		{silent.Addr().String(), "sslmode=disable&connect_timeout=1", "reach the archive: PostgreSQL cannot be reached: it gave no answer in time"},
		{gone.Addr().String(), "sslmode=disable", "connection refused"},
	} {
		err := open(t, "postgres://ramet:hunter2@"+c.at+"/db?"+c.with).Ping(t.Context())
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "user=") {
			t.Errorf("%s: got %v, want %q", c.with, err, c.want)
		}
	}
}

// A table that somebody keeps locked is not waited for, by nothing that the archive is asked; and it counts as one that
// gives no answer.
func TestALockedTableIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	url := postgrestest.Start(t, "fsync = off").URL()
	a := open(t, url+"&pool_max_conns=8")
	r, err := archive.OfJob(1, &domain.Job{ID: 1, CallerID: 1, Status: domain.JobFinished, FinishedMs: 1000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Put(t.Context(), []archive.Record{r}), a.Ping(t.Context())); err != nil {
		t.Fatal(err)
	}
	other, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	if _, err := other.Exec(t.Context(), "BEGIN; LOCK TABLE ramet.records, ramet.names, ramet.marks IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	name := archive.Name{Context: 1, Blueprint: "b", Trigger: "t"}
	var calls sync.WaitGroup
	for what, call := range map[string]func(ctx context.Context) error{
		"get":    func(ctx context.Context) error { _, err := a.Get(ctx, 1, r.Key, 0); return err },
		"search": func(ctx context.Context) error { _, err := a.Search(ctx, archive.Query{Context: 1}); return err },
		"words": func(ctx context.Context) error {
			_, err := a.Search(ctx, archive.Query{Context: 1, Text: "x"})
			return err
		},
		"count":   func(ctx context.Context) error { _, err := a.Count(ctx, archive.Query{Context: 1}); return err },
		"put":     func(ctx context.Context) error { return a.Put(ctx, []archive.Record{r}) },
		"claim":   func(ctx context.Context) error { _, err := a.Claim(ctx, name, "flow:1", time.Now()); return err },
		"holder":  func(ctx context.Context) error { _, err := a.Holder(ctx, name); return err },
		"marks":   func(ctx context.Context) error { _, err := a.Marks(ctx); return err },
		"highest": func(ctx context.Context) error { _, err := a.Highest(ctx); return err },
		"ping":    a.Ping,
	} {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := call(ctx); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "keeps its tables locked") {
				t.Errorf("%s: got %v", what, err)
			}
		})
	}
	calls.Wait()
	longer := open(t, url+"&pool_max_conns=1&lock_timeout=60000") // which the ping does not wait for
	if err := longer.Ping(t.Context()); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "keeps its tables locked") {
		t.Errorf("with another bound: got %v", err)
	}
	if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*postgresarchive.Archive{a, longer} {
		if err := a.Ping(t.Context()); err != nil {
			t.Errorf("when it is unlocked: %v", err)
		}
		if _, err := a.Get(t.Context(), 1, r.Key, 0); err != nil {
			t.Errorf("when it is unlocked: %v", err)
		}
	}
}

func TestBadURLs(t *testing.T) {
	for _, url := range []string{
		"postgres://ramet:hunter2@host:port/db", "postgres://ramet:hunter2@/db?schema=A-b", "postgres://ramet:hunter2@h/db?sslmode=perhaps",
		"postgres://ramet:12#hunter2@h/db", "postgres://ramet:12/hunter2@h/db", "postgres://ramet:hunter2@h/db?schema=a;sslmode=verify-full",
	} {
		_, err := postgresarchive.Open(url)
		if !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want one of kind invalid without the password", url, err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	a, err := postgresarchive.Open(postgrestest.Start(b).URL())
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	archivetest.Bench(b, a)
}

func TestSettingsThatCostSomething(t *testing.T) {
	t.Parallel()
	s := postgrestest.Start(t, "fsync = off", "full_page_writes = off", "autovacuum = off", "max_connections = 6", "superuser_reserved_connections = 0")
	a := open(t, s.URL())
	texts, err := a.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"fsync off", "full_page_writes off", "autovacuum off"} {
		if i >= len(texts) || !strings.Contains(texts[i], want) {
			t.Errorf("got %q, want %q in the one at %d", texts, want, i)
		}
	}
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var checksums string // as servers of a version are made
	if err := conn.QueryRow(t.Context(), "SHOW data_checksums").Scan(&checksums); err != nil {
		t.Fatal(err)
	}
	if told := strings.Contains(strings.Join(texts, "; "), "data_checksums off"); told != (checksums == "off") {
		t.Errorf("data_checksums is %s, and got %q", checksums, texts)
	}
}
