package failover_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/client/failover"
	"github.com/ramet-run/ramet/domain"
)

// board are nodes that note what they are asked, each in its way.
type board struct {
	*testing.T
	mu    sync.Mutex
	asked []string
	nodes []failover.Node
}

func (b *board) node(name string, answer http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.asked = append(b.asked, strings.TrimSpace(name+" "+r.Method+" "+r.Header.Get("Idempotency-Key")))
		b.mu.Unlock()
		if got := r.Header.Get("Authorization"); got != "Bearer for-"+name {
			b.Errorf("%s was given %q", name, got)
		}
		answer(w, r)
	}))
	b.Cleanup(s.Close)
	b.nodes = append(b.nodes, failover.Node{URL: s.URL, Token: func(context.Context) (string, error) { return "for-" + name, nil }})
	return s
}

func (b *board) client() *client.Client {
	cfg, err := failover.Config(b.nodes...)
	if err != nil {
		b.Fatal(err)
	}
	c, err := client.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

func (b *board) want(asked ...string) {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.asked, asked) {
		b.Errorf("asked was %q, want %q", b.asked, asked)
	}
	b.asked = nil
}

// well answers whatever is asked.
func well(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"jobs": [{"key": "job:1:1"}]}`)
}

// cut breaks its answer off.
func cut(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") == "text/event-stream" {
		panic(http.ErrAbortHandler) // before it has begun
	}
	w.Header().Set("Content-Length", "1000")
	fmt.Fprint(w, `{"jobs"`)
}

func busy(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprint(w, `{"code": "unavailable", "status": 503, "detail": "it stops"}`)
}

func submit(ctx context.Context, c *client.Client) error {
	_, err := c.Submit(ctx, 1, []api.JobInput{{Job: domain.Job{ScriptType: "shell", Script: "exit 0"}}})
	return err
}

// TestTheNextNodeIsAsked: of what may be done twice the next node is asked at once, and from then on; what may not
// is told to be unknown, and what comes after it goes to the next.
func TestTheNextNodeIsAsked(t *testing.T) {
	for name, first := range map[string]http.HandlerFunc{"cut off": cut, "has no time": busy, "gone": nil} {
		t.Run(name, func(t *testing.T) {
			b := &board{T: t}
			a, met := b.node("a", first), []string{"a"}
			if first == nil {
				a.Close()
				met = nil
			}
			b.node("b", well)
			c := b.client()
			if _, err := c.Job(t.Context(), 1, domain.JobKey{Caller: 1, ID: 1}); err != nil {
				t.Fatal(err)
			}
			b.want(with(met, " GET", "b GET")...)
			if _, err := b.client().Info(t.Context()); err != nil { // which is no operation
				t.Fatal(err)
			}
			b.want(with(met, " GET", "b GET")...)
			if err := submit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			b.want("b POST")

			c = b.client()
			if err := submit(client.Once(t.Context(), "k"), c); err != nil {
				t.Fatal(err)
			}
			b.want(with(met, " POST k", "b POST k")...)

			c = b.client()
			if err := submit(t.Context(), c); !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("what may not be done twice ended with %v", err)
			}
			b.want(with(met, " POST")...)
			if err := submit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			b.want("b POST")
		})
	}
}

// TestAStreamGoesOnAtTheNextNode, wherever in it the first one breaks off: before it answers, too.
func TestAStreamGoesOnAtTheNextNode(t *testing.T) {
	stream := func(lines ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, strings.Join(lines, "\n\n")+"\n\n")
			w.(http.Flusher).Flush()
			if len(lines) == 1 {
				panic(http.ErrAbortHandler)
			}
		}
	}
	one := "event: log\nid: 0\ndata: {\"line\":\"one\"}"
	for name, first := range map[string]http.HandlerFunc{"cut off": cut, "has no time": busy, "in the middle": stream(one)} {
		t.Run(name, func(t *testing.T) {
			b := &board{T: t}
			b.node("a", first)
			b.node("b", stream(one, "event: log\nid: 1\ndata: {\"line\":\"two\"}", "event: end\ndata: {\"id\":7,\"status\":\"finished\"}"))
			var lines []string
			j, err := b.client().FollowLogs(t.Context(), 1, domain.JobKey{Caller: 1, ID: 7}, 0, func(l domain.Log) error {
				lines = append(lines, l.Line)
				return nil
			})
			if err != nil || j.ID != 7 || !slices.Equal(lines, []string{"one", "two"}) {
				t.Errorf("got %q, %+v, %v", lines, j, err)
			}
			b.want("a GET", "b GET")
		})
	}
}

// TestAFileIsAskedOfTheNextNode, until it begins to come.
func TestAFileIsAskedOfTheNextNode(t *testing.T) {
	b := &board{T: t}
	b.node("a", busy)
	b.node("b", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "a file") })
	var got strings.Builder
	file := api.JobArtifactParams{JobParams: api.JobParams{Context: 1, Caller: 1, ID: 1}, File: "a"}
	if err := client.Receive(t.Context(), b.client(), api.JobArtifact, file, &got); err != nil || got.String() != "a file" {
		t.Errorf("got %q, %v", got.String(), err)
	}
	b.want("a GET", "b GET")
}

func with(nodes []string, asked string, more ...string) (all []string) {
	for _, n := range nodes {
		all = append(all, n+asked)
	}
	return append(all, more...)
}

// A caller that goes away says nothing about the node.
func TestACallerThatGoesLeavesTheNode(t *testing.T) {
	b := &board{T: t}
	ctx, gone := context.WithCancel(t.Context())
	went := make(chan struct{})
	b.node("a", func(w http.ResponseWriter, r *http.Request) {
		gone()
		<-went
		well(w, r)
	})
	b.node("b", well)
	c := b.client()
	if err := submit(ctx, c); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	close(went)
	if err := submit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b.want("a POST", "a POST")
}

// inBubble gives a client of nodes a and b, which are reached by pipes: a takes what is sent and does nothing, b answers.
func inBubble(t *testing.T) *client.Client {
	token := func(context.Context) (string, error) { return "x", nil }
	cfg, err := failover.Config(failover.Node{URL: "http://a", Token: token}, failover.Node{URL: "http://b", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	failover.DialBy(cfg, func(_ context.Context, _, addr string) (net.Conn, error) {
		near, far := net.Pipe()
		if strings.HasPrefix(addr, "a:") {
			go io.Copy(io.Discard, far)
			return near, nil
		}
		go func() {
			defer far.Close()
			for in := bufio.NewReader(far); ; {
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				io.Copy(io.Discard, r.Body)
				fmt.Fprint(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			}
		}()
		return near, nil
	})
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestANodeThatHangsIsLeft: its machine takes connections, and it answers nothing. Who waits without end notices, too.
func TestANodeThatHangsIsLeft(t *testing.T) {
	job := domain.JobKey{Caller: 1, ID: 1}
	t.Run("after a deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := inBubble(t)
			defer c.Close()
			for i, want := range []error{context.DeadlineExceeded, nil} {
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				if _, err := c.Job(ctx, 1, job); !errors.Is(err, want) {
					t.Errorf("call %d: got %v, want %v", i, err, want)
				}
				cancel()
			}
		})
	})
	t.Run("without one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := inBubble(t)
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			begun := time.Now()
			var all sync.WaitGroup
			for range 20 { // all of them by one answer
				all.Go(func() {
					if _, err := c.Job(ctx, 1, job); err != nil || time.Since(begun) > 17*time.Second {
						t.Errorf("after %v: %v", time.Since(begun), err)
					}
				})
			}
			if err := submit(ctx, c); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "/health") {
				t.Errorf("what may not be done twice ended with %v", err)
			}
			all.Wait()
		})
	})
}

// TestANodeThatWorksIsNotLeft, however long it takes.
func TestANodeThatWorksIsNotLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := func(context.Context) (string, error) { return "x", nil }
		cfg, err := failover.Config(failover.Node{URL: "http://a", Token: token}, failover.Node{URL: "http://b", Token: token})
		if err != nil {
			t.Fatal(err)
		}
		failover.DialBy(cfg, func(_ context.Context, _, addr string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				for in := bufio.NewReader(far); ; {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					if io.Copy(io.Discard, r.Body); r.URL.Path != "/health" {
						time.Sleep(10 * time.Minute)
					}
					fmt.Fprintf(far, "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"script\": %q}", addr[:1]+"a")
				}
			}()
			return near, nil
		})
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begun := time.Now()
		j, err := c.Job(t.Context(), 1, domain.JobKey{Caller: 1, ID: 1})
		if err != nil || j.Script != "aa" || time.Since(begun) != 10*time.Minute {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// TestAnotherNodeIsAskedAtOnce: when to come again is said of the node that says it. Where all say so it is waited for.
func TestAnotherNodeIsAskedAtOnce(t *testing.T) {
	later := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "20")
		busy(w, r)
	}
	for name, other := range map[string]http.HandlerFunc{"well": well, "busy as well": later} {
		b := &board{T: t}
		b.node("a", later)
		b.node("b", other)
		cfg, err := failover.Config(b.nodes...)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Retry = 10 * time.Second // and who would have to wait for longer is told at once
		c, err := client.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Job(t.Context(), 1, domain.JobKey{Caller: 1, ID: 1})
		if c.Close(); (err == nil) != (name == "well") {
			t.Errorf("%s: got %v", name, err)
		}
		b.want("a GET", "b GET")
	}
}

type closed struct {
	io.Reader
	done *bool
}

func (c closed) Close() error { *c.done = true; return nil }

func TestABodyIsClosedWhereThereIsNoToken(t *testing.T) {
	no := errors.New("the key is gone")
	cfg, err := failover.Config(failover.Node{URL: "http://a", Token: func(context.Context) (string, error) { return "", no }})
	if err != nil {
		t.Fatal(err)
	}
	done := false
	r, _ := http.NewRequestWithContext(t.Context(), "POST", "http://a/", closed{strings.NewReader("x"), &done})
	if _, err := cfg.HTTP.Transport.RoundTrip(r); !errors.Is(err, no) || !done {
		t.Errorf("got %v, and the body is closed: %v", err, done)
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	token := func(context.Context) (string, error) { return "x", nil }
	for _, nodes := range [][]failover.Node{{}, {{URL: "http://a:1"}}, {{URL: "a:1", Token: token}}, {{URL: "http://a/path", Token: token}},
		{{URL: "http://user:secret@a:1", Token: token}}} {
		if _, err := failover.Config(nodes...); !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v: got %v", nodes, err)
		}
	}
}

// TestAnErrorNamesTheNodeThatItIsOf, which is not the first for ever; so does one of an answer that breaks off.
func TestAnErrorNamesTheNodeThatItIsOf(t *testing.T) {
	b := &board{T: t}
	nodes := []*httptest.Server{b.node("a", well), b.node("b", cut), b.node("c", well)}
	nodes[0].Close()
	nodes[2].Close()
	cfg, err := failover.Config(b.nodes...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Retry = 0
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for _, node := range nodes {
		err := submit(t.Context(), c)
		if want := "no answer from " + node.URL + " ("; !errors.Is(err, domain.ErrUnavailable) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The first node may have done it, and the others are away: that one of them refuses the connection says nothing of that.
func TestWhatOneMayHaveDoneIsSaidThoughOthersAreAway(t *testing.T) {
	b := &board{T: t}
	b.node("a", cut)
	b.node("b", well).Close()
	cfg, err := failover.Config(b.nodes...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Keyed, cfg.Retry = true, time.Second
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.SubmitJob(t.Context(), 7, domain.Job{Script: "x", ScriptType: "shell"})
	if !errors.Is(err, client.ErrUnanswered) || !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), b.nodes[0].URL) {
		t.Errorf("got %v", err)
	}
	if _, err = c.Cancel(t.Context(), 7, domain.JobKey{Caller: 1, ID: 1}); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
