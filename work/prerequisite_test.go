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
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/egress"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

func TestPrerequisitesOfTheOutsideWorld(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	dir := t.TempDir()
	e := work.New(b, work.Config{DataDir: dir, Egress: dialer(t, "127.0.0.0/8"), LookTime: 100 * time.Millisecond})
	status := http.StatusServiceUnavailable
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
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
	// look hands the job's alarm to the engine, as if its instant had come.
	look := func() string {
		at, set, err := b.AlarmOf(t.Context(), 1, "prereq:job:1:1")
		if err != nil || !set {
			return ""
		}
		if known, err := e.HandleAlarm(t.Context(), board.Alarm{Space: 1, Name: "prereq:job:1:1", At: at}); !known || err != nil {
			t.Fatal(known, err)
		}
		recs, err := b.Get(t.Context(), 1, "job:1:1")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(layout.Unmet(recs[0]), " ")
	}
	if got, want := look(), "file:in.csv file:link "+server.URL+"/ready tcp:"+gone; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	status = http.StatusNoContent
	if err := os.WriteFile(filepath.Join(folder, "in.csv"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := look(), "file:link tcp:"+gone; got != want {
		t.Errorf("got %q, want %q: a link out of the folder is no file in it", got, want)
	}
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
	e := work.New(b, work.Config{LookTime: 300 * time.Millisecond,
		Egress: dialer(t, outer.Listener.Addr().String(), mute.Addr().String(), gone)})
	r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
	doors := []string{
		outer.URL + "/redirect", outer.URL + "/no", outer.URL + "/silent", "http://" + mute.Addr().String() + "/", "http://" + gone + "/", // open by the rules
		inner.URL + "/closed", "http://localhost:" + port + "/named", "http://[::ffff:127.0.0.1]:" + port + "/mapped", "http://2130706433:" + port + "/number",
		"http://10.255.255.1/", "http://169.254.169.254/latest", "http://[64:ff9b::7f00:1]:" + port + "/", "http://[fe80::1]/", "http://0.0.0.0:" + port + "/",
		"tcp:" + inner.Listener.Addr().String(), "tcp:localhost:" + port, "tcp:no.such.name.invalid:80", "tcp:224.0.0.1:80",
	}
	type seen struct {
		record, text string
		pause        time.Duration
	}
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
		recs, err := b.Get(t.Context(), 1, key.String())
		if err != nil {
			t.Fatal(err)
		}
		got := seen{record: strings.ReplaceAll(fmt.Sprint(recs[0].Get("status"), layout.Unmet(recs[0]), recs[0].Get("error")), door, "DOOR"),
			text: strings.ReplaceAll(x.Text, door, "DOOR"), pause: next.Sub(began).Round(time.Second)}
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
// answer: they hold up neither each other for ever nor the handling of alarms.
func TestAFewLooksAtOnce(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{LookTime: time.Minute, Egress: dialer(t, "127.0.0.0/8")})
	r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
	ctx, stop := context.WithCancel(t.Context())
	var looks sync.WaitGroup
	defer looks.Wait()
	defer stop()
	const jobs = 40
	ended := make(chan struct{}, jobs)
	for i := range domain.JobID(jobs) {
		r.submit(job(i+1, "x", func(j *domain.Job) { j.Prerequisites = []string{"http://" + mute.Addr().String()} }))
		name := fmt.Sprintf("prereq:job:1:%d", i+1)
		at, _, err := b.AlarmOf(t.Context(), 1, name)
		if err != nil {
			t.Fatal(err)
		}
		looks.Go(func() {
			_, _ = e.HandleAlarm(ctx, board.Alarm{Space: 1, Name: name, At: at})
			ended <- struct{}{}
		})
	}
	for range jobs - work.ReachJobs { // the others wait for an answer, for a minute
		<-ended
	}
	if n := len(ended); n != 0 {
		t.Errorf("%d more looks ended than should: fewer than %d are made at once", n, work.ReachJobs)
	}
}

func TestPrerequisitesThatCannotBe(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	for _, p := range []string{"file:/etc/passwd", "file:../x", "tcp:host", "https://", "job:1", "flow:0", "flow:x", "", strings.Repeat("x", 201)} {
		receipts, err := e.Submit(t.Context(), tenant, []*domain.Job{job(1, "x", func(j *domain.Job) { j.Prerequisites = []string{p} })})
		if err != nil || !errors.Is(receipts[0].Err, domain.ErrInvalid) {
			t.Errorf("%q: got %v, %v, want it refused", p, receipts, err)
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
