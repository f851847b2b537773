package work_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

func TestPrerequisitesOfTheOutsideWorld(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	dir := t.TempDir()
	e := work.New(b, work.Config{DataDir: dir, Egress: dialer(t, "127.0.0.0/8"), LookTime: 100 * time.Millisecond})
	var status atomic.Int32 // a look that has given up may still be answered
	status.Store(http.StatusServiceUnavailable)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer server.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := closed.Addr().String()
	closed.Close()
	folder := work.ContextDir(dir, tenant)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
	r.submit(job(1, "x", func(j *domain.Job) {
		j.Prerequisites = []string{"file:in.csv", "file:link", server.URL + "/ready", "tcp:" + server.Listener.Addr().String(), "tcp:" + gone}
	}))
	defer checking(t, e)()
	// look hands the job's alarm to the engine, as if its instant had come, and waits
	// for the look at its addresses.
	look := func() string {
		at, set, err := b.AlarmOf(t.Context(), 1, "prereq:job:1:1")
		if err != nil || !set {
			return ""
		}
		if known, err := e.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: "prereq:job:1:1", At: at}); !known || err != nil {
			t.Fatal(known, err)
		}
		untilChecked(t, b, key(1))
		recs, err := b.Get(t.Context(), 1, "job:1:1")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(layout.Unmet(recs[0]), " ")
	}
	// An address that does not answer in time is looked at again: on a busy machine
	// even one that is there may take several looks.
	find := func(want string) {
		t.Helper()
		testwait.Nil(t, func() error {
			if got := look(); got != want {
				return fmt.Errorf("unmet are %q, want %q", got, want)
			}
			return nil
		})
	}
	find("file:in.csv file:link " + server.URL + "/ready tcp:" + gone)
	status.Store(http.StatusNoContent)
	if err := os.WriteFile(filepath.Join(folder, "in.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	find("file:link tcp:" + gone) // a link out of the folder is no file in it
}

// checking runs a checker until the end it returns is called.
func checking(t *testing.T, e *work.Engine) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { e.Check(ctx, "n1/a") })
	return func() { stop(); wg.Wait() }
}

// untilChecked waits until no look at a job's addresses is asked for.
func untilChecked(t *testing.T, b board.Board, job domain.JobKey) {
	t.Helper()
	testwait.Until(t, "look at "+job.String(), func() bool {
		recs, err := b.Get(t.Context(), 1, layout.Check(job))
		if err != nil {
			t.Fatal(err)
		}
		return recs[0] == nil
	})
}

func dialer(t *testing.T, rules ...string) *egress.Dialer {
	t.Helper()
	r, err := egress.Parse(rules)
	if err != nil {
		t.Fatal(err)
	}
	return egress.NewDialer(r)
}

// TestAddressesThatMayNotBeReachedAllLookTheSame has prerequisites at doors of
// many kinds that do not open. What can be seen of their jobs must not tell
// which is which: the record, the explanation, the alarm.
func TestAddressesThatMayNotBeReachedAllLookTheSame(t *testing.T) {
	asked := make(chan string, 1)
	inner := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer inner.Close()
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, inner.URL+"/redirected", http.StatusFound)
		case "/no":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/silent":
			<-r.Context().Done()
		}
	}))
	defer outer.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	mute, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := nobody.Addr().String()
	nobody.Close()
	t.Setenv("HTTP_PROXY", inner.URL)
	t.Setenv("http_proxy", inner.URL)

	b := memboard.Open()
	defer b.Close()
	const lookTime = 300 * time.Millisecond
	const pause = lookTime + time.Second // from one look to the next, of a job that has not waited for long
	e := work.New(b, work.Config{LookTime: lookTime,
		Egress: dialer(t, outer.Listener.Addr().String(), mute.Addr().String(), gone)})
	r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
	defer checking(t, e)()
	doors := []string{
		outer.URL + "/redirect", outer.URL + "/no", outer.URL + "/silent", "http://" + mute.Addr().String() + "/", "http://" + gone + "/", // open by the rules
		inner.URL + "/closed", "http://localhost:" + port + "/named", "http://[::ffff:127.0.0.1]:" + port + "/mapped", "http://2130706433:" + port + "/number",
		"http://10.255.255.1/", "http://169.254.169.254/latest", "http://[64:ff9b::7f00:1]:" + port + "/", "http://[fe80::1]/", "http://0.0.0.0:" + port + "/",
		"tcp:" + inner.Listener.Addr().String(), "tcp:localhost:" + port, "tcp:no.such.name.invalid:80", "tcp:224.0.0.1:80",
	}
	type seen struct{ record, text string }
	var first seen
	for i, door := range doors {
		r.submit(job(domain.JobID(i+1), "x", func(j *domain.Job) { j.Prerequisites = []string{door} }))
		key := domain.JobKey{Caller: 1, ID: domain.JobID(i + 1)}
		name := "prereq:" + key.String()
		at, _, err := b.AlarmOf(t.Context(), 1, name)
		if err != nil {
			t.Fatal(err)
		}
		watching, stop := context.WithCancel(t.Context())
		events, err := b.Watch(watching, 1, key.String()) // nothing may be written when the look ends
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := e.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: name, At: at}); err != nil {
			t.Fatal(door, err)
		}
		handled := time.Now()
		untilChecked(t, b, key)
		if took := time.Since(began); took < lookTime {
			t.Errorf("%s: the look was over after %v, sooner than one that gets no answer", door, took)
		}
		stop()
		n := 0
		for range events {
			n++
		}
		if n != 0 {
			t.Errorf("%s: the record was written %d times", door, n)
		}
		x, err := e.Explain(t.Context(), 1, key)
		if err != nil {
			t.Fatal(err)
		}
		next, set, err := b.AlarmOf(t.Context(), 1, name)
		if err != nil || !set {
			t.Fatal(door, set, err)
		}
		// The instant is a whole number of milliseconds, and counted from one between these two.
		if next.Before(began.Add(pause-time.Millisecond)) || next.After(handled.Add(pause+time.Millisecond)) {
			t.Errorf("%s: the next look is %v after this one, want %v", door, next.Sub(began), pause)
		}
		recs, err := b.Get(t.Context(), 1, key.String())
		if err != nil {
			t.Fatal(err)
		}
		got := seen{record: strings.ReplaceAll(fmt.Sprint(recs[0].Get("status"), layout.Unmet(recs[0]), recs[0].Get("error")), door, "DOOR"),
			text: strings.ReplaceAll(x.Text, door, "DOOR")}
		if i == 0 {
			first = got
			if !strings.Contains(got.text, "egress") {
				t.Errorf("got %q: nothing says where to look", got.text)
			}
		} else if got != first {
			t.Errorf("%s can be told from the others:\ngot  %+v\nwant %+v", door, got, first)
		}
	}
	select {
	case path := <-asked:
		t.Errorf("the closed server was asked for %s", path)
	default:
	}
}

// TestAFewLooksAtOnce is about a context with many jobs at doors that do not
// answer: their alarms make no connection, and their looks leave room for those of
// another context.
func TestAFewLooksAtOnce(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	mute, other := accepts(t), accepts(t)
	e := work.New(b, work.Config{LookTime: 30 * time.Minute, Egress: dialer(t, "127.0.0.0/8")})
	r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
	const jobs = 40
	for i := range domain.JobID(jobs) {
		r.submit(job(i+1, "x", func(j *domain.Job) { j.Prerequisites = []string{"http://" + mute.address} }))
		handlePrereq(t, b, e, 1, i+1)
	}
	receipts, err := e.Submit(t.Context(), 2, []*domain.Job{job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{"http://" + other.address} })})
	if err != nil || receipts[0].Err != nil {
		t.Fatal(receipts, err)
	}
	handlePrereq(t, b, e, 2, 1)
	if n := len(mute.came) + len(other.came); n != 0 {
		t.Errorf("the alarms made %d connections", n)
	}
	end := checking(t, e)
	<-other.came
	for range work.ChecksContext {
		<-mute.came
	}
	if n := len(mute.came); n != 0 {
		t.Errorf("%d more looks than %d were made at once for one context", n, work.ChecksContext)
	}
	end() // looks are cut short, and made by the next node
	if n, err := b.Len(t.Context(), 1, queue.Checks); err != nil || n[0] != jobs {
		t.Errorf("%d looks are asked for after the end, %v, want %d", n, err, jobs)
	}
}

// door is a server that takes connections and says nothing.
type door struct {
	address string
	came    chan struct{}
}

func accepts(t *testing.T) door {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := door{l.Addr().String(), make(chan struct{}, 1000)}
	var wg sync.WaitGroup
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			open = append(open, c)
			d.came <- struct{}{}
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
		for _, c := range open {
			c.Close()
		}
	})
	return d
}

// handlePrereq hands a job's alarm to the engine, as if its instant had come.
func handlePrereq(t *testing.T, b board.Board, e *work.Engine, space board.Space, id domain.JobID) {
	t.Helper()
	name := layout.Alarm(layout.AlarmPrereq, key(id))
	at, set, err := b.AlarmOf(t.Context(), space, name)
	if err != nil || !set {
		t.Fatal(name, set, err)
	}
	if ours, err := e.HandleAlarm(t.Context(), board.Alarm{Space: space, Name: name, At: at}); !ours || err != nil {
		t.Fatal(name, ours, err)
	}
}

// TestALookSurvivesItsNode has a node die that had taken a look in hand. The job's
// alarm asks for no second one meanwhile.
func TestALookSurvivesItsNode(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	server := accepts(t)
	e := work.New(b, work.Config{LookTime: 30 * time.Minute, Egress: dialer(t, "127.0.0.0/8")})
	r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
	r.submit(job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{"tcp:" + server.address} }))
	handlePrereq(t, b, e, 1, 1)
	taken, err := b.Claim(t.Context(), board.Ask{Max: 1, Owner: "dead/a", Lease: time.Minute, Queues: []board.Queue{{Lists: []string{queue.Checks}}}})
	if err != nil || len(taken) != 1 {
		t.Fatal(taken, err)
	}
	handlePrereq(t, b, e, 1, 1)
	if n, err := b.Len(t.Context(), 1, queue.Checks); err != nil || n[0] != 0 {
		t.Errorf("%d looks are asked for, %v, while one is in hand", n, err)
	}
	if err := b.Void(t.Context(), "dead/"); err != nil {
		t.Fatal(err)
	}
	lost, err := b.Expired(t.Context(), 1, time.Minute)
	if err != nil || len(lost) != 1 {
		t.Fatal(lost, err)
	}
	if ours, err := e.RecoverLease(t.Context(), lost[0]); !ours || err != nil {
		t.Fatal(ours, err)
	}
	defer checking(t, e)()
	<-server.came
	untilChecked(t, b, key(1))
	recs, err := b.Get(t.Context(), 1, key(1).String())
	if got := layout.Unmet(recs[0]); err != nil || len(got) != 0 {
		t.Errorf("unmet are %v, %v, want the address met", got, err)
	}
}

// TestNamesCostNothingWhileJobsWaitForThem has a job wait for a name, and another one
// for a file as well: only that is looked for again soon.
func TestNamesCostNothingWhileJobsWaitForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		e := work.New(b, work.Config{DataDir: t.TempDir()})
		r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
		r.submit(job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{"the lab is open"} }),
			job(2, "x", func(j *domain.Job) { j.Prerequisites = []string{"the lab is open", "file:in.csv"} }))
		for id, want := range map[domain.JobID]time.Duration{1: 10 * time.Minute, 2: time.Second} {
			name := layout.Alarm(layout.AlarmPrereq, key(id))
			at, _, err := b.AlarmOf(t.Context(), 1, name)
			if err != nil {
				t.Fatal(err)
			}
			if known, err := e.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: name, At: at}); !known || err != nil {
				t.Fatal(known, err)
			}
			if at, _, err = b.AlarmOf(t.Context(), 1, name); err != nil || time.Until(at).Round(time.Second) != want {
				t.Errorf("job %d is looked at again in %v, %v, want %v", id, time.Until(at), err, want)
			}
		}
	})
}

// lookedAt is a board on which somebody's look at a waiting job is written just before
// the job is woken.
type lookedAt struct {
	board.Board
	look func()
}

func (b *lookedAt) CommitEach(ctx context.Context, batches []board.Batch) []error {
	if b.look != nil {
		look := b.look
		b.look = nil
		look()
	}
	return b.Board.CommitEach(ctx, batches)
}

// TestALookThatDidNotSeeTheMarkIsMadeAgain marks a name as met while a look that has
// not found it yet is written.
func TestALookThatDidNotSeeTheMarkIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain := memboard.Open()
		defer plain.Close()
		b := &lookedAt{Board: plain}
		e := work.New(b, work.Config{})
		r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
		r.submit(job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{"the lab is open"} }))
		name := layout.Alarm(layout.AlarmPrereq, key(1))
		b.look = func() {
			at, _, err := plain.AlarmOf(t.Context(), 1, name)
			if err != nil {
				t.Fatal(err)
			}
			if err := plain.Commit(t.Context(), *(&board.Batch{Space: 1}).AlarmAt(name, at).SetAlarm(name, time.Now().Add(10*time.Minute))); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.MarkMet(t.Context(), tenant, "the lab is open"); err != nil {
			t.Fatal(err)
		}
		if at, set, err := plain.AlarmOf(t.Context(), 1, name); err != nil || !set || at.After(time.Now().Add(time.Second)) {
			t.Errorf("the job is looked at at %v (set: %v, %v), want now", at, set, err)
		}
	})
}

func TestPrerequisitesThatCannotBe(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	for _, p := range []string{"file:/etc/passwd", "file:../x", "tcp:host", "https://", "job:1", "flow:0", "flow:x", "url:http://example.org", "URL:x",
		"port:db:5432", "HTTP://example.org", "File:x", "", strings.Repeat("x", 201)} {
		receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{p} })})
		if err != nil || !errors.Is(receipts[0].Err, domain.ErrInvalid) {
			t.Errorf("%q: got %v, %v, want it refused", p, receipts, err)
		}
	}
	for i, name := range []string{"url", "port", "the port: open", "curl:x", "s3://bucket/in.csv"} {
		receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{job(domain.JobID(10+i), "x", func(j *domain.Job) { j.Prerequisites = []string{name} })})
		if err != nil || receipts[0].Err != nil {
			t.Errorf("%q, which people mark: got %v, %v", name, receipts, err)
		}
	}
	for _, name := range []string{"", "file:x", "job:1:2"} {
		if err := e.MarkMet(t.Context(), tenant, name); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("mark %q: got %v", name, err)
		}
	}
	receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "x", func(j *domain.Job) { j.NotBefore = time.Now().UnixNano() })})
	if err != nil || !errors.Is(receipts[0].Err, domain.ErrInvalid) {
		t.Errorf("not_before in nanoseconds: got %v, %v", receipts, err)
	}
}

// TestAPrerequisiteWithAPasswordIsRefused, whatever the kind of address: it would stand on the record, for all who read jobs.
func TestAPrerequisiteWithAPasswordIsRefused(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	for _, p := range []string{"http://user:pass@example.org/ready", "redis://user:pass@host", "https://example.org/ready?token=pass"} {
		receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{p} })})
		if err != nil {
			t.Fatal(err)
		}
		if err := receipts[0].Err; !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "pass") ||
			!strings.Contains(err.Error(), "a login or a secret") {
			t.Errorf("%q: got %v", p, err)
		}
		if err := e.MarkMet(t.Context(), tenant, p); !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "pass") {
			t.Errorf("mark %q: got %v", p, err)
		}
	}
}

func TestLoginIn(t *testing.T) {
	for text, want := range map[string]bool{
		"redis://user:secret@host": true, "http://token@host/x": true, "https://h/x?api_key=1": true, "x://u%40h": true, "redis://u:a/b@h": true,
		"https://h/x?a=1&Token=2": true, "https://h/@scope/x": false, "s3://bucket/a@v2": false, "http://h:8080/a@b?q=me@x": false, "user@host": false,
		"https://h/x?token_file=a": false, "name": false, "": false,
	} {
		if got := work.LoginIn(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}
