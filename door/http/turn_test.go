package http_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/testpipe"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
	"github.com/ramet-run/ramet/work"
)

// slowReads lets nobody have what was asked for in context 7 before it may go on.
type slowReads struct {
	service.Jobs
	service.Archive
	inside chan int // capacity 1: how many ask now
	gate   chan struct{}
}

func (s *slowReads) wait(tenant domain.TenantID) {
	if tenant != 7 {
		return
	}
	s.inside <- <-s.inside + 1
	<-s.gate
	s.inside <- <-s.inside - 1
}

func (s *slowReads) Show(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	s.wait(tenant)
	return s.Jobs.Show(ctx, tenant, key)
}

func (s *slowReads) List(ctx context.Context, tenant domain.TenantID, f work.Filter, cursor string) ([]*domain.Job, listing.At, error) {
	s.wait(tenant)
	return s.Jobs.List(ctx, tenant, f, cursor)
}

func (s *slowReads) Logs(ctx context.Context, tenant domain.TenantID, key domain.JobKey, from, n int) ([]domain.Log, error) {
	s.wait(tenant)
	return s.Jobs.Logs(ctx, tenant, key, from, n)
}

func (s *slowReads) Cancel(ctx context.Context, tenant domain.TenantID, key domain.JobKey, by domain.ActorID) (*domain.Job, error) {
	s.wait(tenant)
	return s.Jobs.Cancel(ctx, tenant, key, by)
}

func (s *slowReads) Search(_ context.Context, q archive.Query) (archive.Page, error) {
	s.wait(q.Context)
	return archive.Page{}, nil
}

// asking is how many read now.
// Ping says that the archive answers, as it does.
func (s *slowReads) Ping(context.Context) error { return nil }

func (s *slowReads) asking() int {
	synctest.Wait()
	n := <-s.inside
	s.inside <- n
	return n
}

// slowRig is a rig in a bubble, its reads, and where to connect.
func slowRig(t *testing.T) (*rig, *slowReads, *testpipe.Listener) {
	slow := &slowReads{inside: make(chan int, 1), gate: make(chan struct{})}
	slow.inside <- 0
	r := newRigWithout(t, func(p *service.Parts) {
		slow.Jobs = p.Jobs
		p.Jobs, p.Archive = slow, slow
	})
	ln := testpipe.Listen()
	r.serve(ln)
	return r, slow, ln
}

// send sends a request on a connection of its own.
func (r *rig) send(ln *testpipe.Listener, as domain.ActorID, method, path, header, body string) net.Conn {
	r.Helper()
	c, err := ln.Dial()
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.Close() })
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: n1\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n%s\r\n%s",
		method, path, r.token(as), len(body), header, body)
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// answered reads an answer.
func (r *rig) answered(c net.Conn) *nethttp.Response {
	r.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute)) // a stream goes on
	answer, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		r.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer
}

// TestAnswersOfOneContextAreMadeAFewAtOnce has one actor ask for more at once than
// is read at once: it is in memory several times until it is an answer that counts.
func TestAnswersOfOneContextAreMadeAFewAtOnce(t *testing.T) {
	const job = "/v1/contexts/7/jobs/10/1"
	for _, tt := range []struct {
		name, method, path, header string
		as                         domain.ActorID
		want                       int
	}{
		{"a job", "GET", job, "", reader, 16},
		{"what became of a job", "GET", job + "/wait?timeout_ms=1", "", reader, 16},
		{"a job that is followed", "GET", job + "/wait", "Accept: text/event-stream\r\n", reader, 16},
		{"a job that is changed", "POST", job + "/cancel", "", admin, 16},
		{"a log", "GET", job + "/logs", "", reader, 2},
		{"a list", "GET", "/v1/contexts/7/jobs", "", reader, 2},
		{"an export", "GET", "/v1/contexts/7/archive/export", "", reader, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, slow, ln := slowRig(t)
				c := r.send(ln, admin, "POST", "/v1/contexts/7/jobs", "", `{"id":1,"script":"say x","script_type":"lines","not_before":4000000000000}`)
				if got := r.answered(c); got.StatusCode != nethttp.StatusOK {
					t.Fatalf("got %v", got)
				}
				var all []net.Conn
				for range 40 {
					all = append(all, r.send(ln, tt.as, tt.method, tt.path, tt.header, ""))
				}
				time.Sleep(time.Second) // those who wait have waited
				if got := slow.asking(); got != tt.want {
					t.Errorf("%d read at once, want %d", got, tt.want)
				}
				other := r.send(ln, domain.Operator, "GET", "/v1/contexts/1/jobs", "", "")
				if got := r.answered(other); got.StatusCode != nethttp.StatusOK {
					t.Errorf("another context: got %v", got)
				}
				foreign := r.send(ln, stranger, "GET", job, "", "")
				if got := r.answered(foreign); got.StatusCode != nethttp.StatusForbidden {
					t.Errorf("who has no right: got %v, want 403 at once", got)
				}
				mate := r.send(ln, admin+reader-tt.as, "GET", job, "", "")
				if got := slow.asking(); got != tt.want+1 {
					t.Errorf("%d read at once with another of the context, want %d", got, tt.want+1)
				}
				close(slow.gate)
				for _, c := range append(all, mate) {
					if tt.header != "" {
						c.Close() // it would go on
						continue
					}
					if got := r.answered(c); got.StatusCode != nethttp.StatusOK {
						t.Errorf("got %v", got)
					}
				}
			})
		})
	}
}

// slowKeys are records whose keys are as slow.
type slowKeys struct {
	service.Records
	slow *slowReads
}

func (s *slowKeys) Keys(ctx context.Context, space board.Space, prefix, cursor string, limit int) ([]string, string, error) {
	s.slow.wait(domain.TenantID(space))
	return s.Records.Keys(ctx, space, prefix, cursor, limit)
}

// TestRunnersOfOneContextAreListedAFewAtOnce by all of its actors together, though the path does not name it.
func TestRunnersOfOneContextAreListedAFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowReads{inside: make(chan int, 1), gate: make(chan struct{})}
		slow.inside <- 0
		r := newRigWithout(t, func(p *service.Parts) { p.Records = &slowKeys{p.Records, slow} })
		ln := testpipe.Listen()
		r.serve(ln)
		var all []net.Conn
		for _, as := range []domain.ActorID{admin, servicetest.Executor, reader} {
			for range 5 {
				all = append(all, r.send(ln, as, "GET", "/v1/runners?context=7", "", ""))
			}
		}
		time.Sleep(time.Second)
		if got := slow.asking(); got != 4 {
			t.Errorf("%d are read at once, want 4", got)
		}
		close(slow.gate)
		for _, c := range all {
			if got := r.answered(c); got.StatusCode != nethttp.StatusOK {
				t.Errorf("got %v", got)
			}
		}
	})
}

// TestALongLineIsRefused has one actor ask for more than may wait.
func TestALongLineIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, slow, ln := slowRig(t)
		var all sync.WaitGroup
		refused := make(chan *nethttp.Response, 300)
		for range 300 {
			c := r.send(ln, reader, "GET", "/v1/contexts/7/jobs/10/1", "", "")
			all.Go(func() {
				answer, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
				if err == nil && answer.StatusCode == nethttp.StatusTooManyRequests {
					refused <- answer
				}
			})
		}
		if got := slow.asking(); got != 16 || len(refused) != 300-16-256 {
			t.Errorf("%d read and %d are refused, want 16 and 28", got, len(refused))
		}
		for range len(refused) {
			if answer := <-refused; answer.Header.Get("Retry-After") != "1" {
				t.Errorf("got %v, want Retry-After", answer)
			}
		}
		close(slow.gate)
		all.Wait()
		if got := len(refused); got != 0 {
			t.Errorf("%d of those who waited were refused", got)
		}
	})
}

// TestWhatIsFollowedAndNotReadIsCounted has streams whose events nobody takes.
func TestWhatIsFollowedAndNotReadIsCounted(t *testing.T) {
	const size = 400 << 10
	synctest.Test(t, func(t *testing.T) {
		b := budget.New(budget.Config{Bytes: 8 << 20, BytesPerActor: 1 << 20}, nil)
		r := newRigWithout(t, func(*service.Parts) {}, func(c *http.Config) { c.Budget = b })
		ln := testpipe.Listen()
		r.serve(ln)
		body := fmt.Sprintf(`{"id":1,"script":%q,"script_type":"lines","not_before":4000000000000}`, strings.Repeat("x", size))
		if got := r.answered(r.send(ln, admin, "POST", "/v1/contexts/7/jobs", "", body)); got.StatusCode != nethttp.StatusOK {
			t.Fatalf("got %v", got)
		}
		follow := func() net.Conn {
			c := r.send(ln, reader, "GET", "/v1/contexts/7/jobs/10/1/wait", "Accept: text/event-stream\r\n", "")
			synctest.Wait()
			return c
		}
		deaf := []net.Conn{follow(), follow()}
		if got := r.answered(follow()); got.StatusCode != nethttp.StatusTooManyRequests || got.Header.Get("Retry-After") == "" {
			t.Errorf("one too many: got %v, want 429 with Retry-After", got)
		}
		if got := b.Used()["bytes"]; got < 2*size || got > 1<<20 {
			t.Errorf("%d bytes are counted, want two scripts'", got)
		}
		for _, c := range deaf {
			c.Close()
		}
		synctest.Wait()
		if got := b.Used()["bytes"]; got != 0 {
			t.Errorf("%d bytes are counted when all have gone, want 0", got)
		}
	})
}
