package redisboard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testcert"
	"github.com/ramet-run/ramet/internal/testport"
	"github.com/ramet-run/ramet/internal/testwait"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	locked := redistest.Start(t, "requirepass secret")
	small := redistest.Start(t, "databases 4")
	dial(t, small, 0).do("SADD", "contexts", "1", "20")
	made := redistest.Start(t)
	open(t, made, redisboard.Config{Tenancy: redisboard.TenancyPrefix})
	for _, c := range []struct {
		name, url, words string
		kind             error
	}{
		{"no URL", "localhost:6379", "want redis://", domain.ErrInvalid},
		{"another scheme", "http://localhost", "want redis://", domain.ErrInvalid},
		{"a database", "redis://localhost/3", "names database", domain.ErrInvalid},
		{"an unknown parameter", "redis://localhost/?tenant=db", "tenant", domain.ErrInvalid},
		{"an unknown tenancy", "redis://localhost/?tenancy=both", "want db or prefix", domain.ErrInvalid},
		{"parameters as they were long ago", "redis://localhost/?tenancy=prefix;master=x", "malformed", domain.ErrInvalid},
		{"two tenancies", "redis://localhost/?tenancy=prefix&tenancy=db", "twice", domain.ErrInvalid},
		{"a password that is not escaped", "redis://u:12#secret@localhost", "redis://…@localhost", domain.ErrInvalid},
		{"nobody there", "redis://127.0.0.1:1", "cannot be reached", domain.ErrUnavailable},
		{"no password", locked.URL(), "wants a password", domain.ErrUnavailable},
		{"a wrong password", "redis://:wrong@" + locked.Addr(), "refuses the user name or password", domain.ErrUnavailable},
		{"too few databases", small.URL(),
			`redis has 4 databases, context 20 needs "databases 21" in redis.conf, and others to come need more, or use tenancy=prefix`, domain.ErrInvalid},
		{"the other tenancy", made.URL(), "was made with tenancy=prefix", domain.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := redisboard.Open(t.Context(), c.url, redisboard.Config{})
			if err == nil {
				b.Close()
			}
			wantKind(t, "open", err, c.kind, c.words)
		})
	}
	b, err := redisboard.Open(t.Context(), "redis://:secret@"+locked.Addr(), redisboard.Config{})
	if err != nil {
		t.Fatalf("open with the right password: %v", err)
	}
	b.Close()
}

func TestSpaceWithoutDatabase(t *testing.T) {
	s := redistest.Start(t, "databases 16")
	b := open(t, s, redisboard.Config{})
	words := `redis has 16 databases, context 20 needs "databases 21" in redis.conf, and others to come need more, or use tenancy=prefix`
	wantKind(t, "commit", b.Commit(t.Context(), board.Batch{Space: 20}), domain.ErrInvalid, words)
	_, err := b.Get(t.Context(), 20, "r")
	wantKind(t, "get", err, domain.ErrInvalid, words)
	commit(t, b, &board.Batch{Space: 15})
}

// TestOpenWaitsWhileDataIsLoaded: a server that is loading its data is there, and is waited
// for; whoever is told to end meanwhile does.
func TestOpenWaitsWhileDataIsLoaded(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendonly no", "rdbcompression no")
	writer := dial(t, s, 0)
	for i := range 200 {
		writer.do("SET", fmt.Sprint("text:", i), strings.Repeat(strconv.Itoa(i), 2000))
	}
	writer.do("SAVE")
	s.RestartLoading()
	impatient, cut := context.WithCancel(t.Context())
	for _, c := range []struct {
		ctx  context.Context
		then func()
		want error
	}{
		{impatient, func() { cut() }, context.Canceled},
		{t.Context(), func() { dial(t, s, 0).do("CONFIG", "SET", "key-load-delay", "0") }, nil},
	} {
		log := &testwait.Log{}
		done := make(chan error, 1)
		go func() {
			b, err := redisboard.Open(c.ctx, s.URL(), redisboard.Config{Logger: slog.New(slog.NewTextHandler(log, nil))})
			if err == nil {
				b.Close()
			}
			done <- err
		}()
		log.Await(t, "redis is loading its data", 1)
		c.then()
		if err := <-done; !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

// A user who may not use CONFIG: databases are counted by trying, and what
// that costs is said.
func TestWithoutConfig(t *testing.T) {
	s := redistest.Start(t, "databases 21", `user worker on >secret ~* &* +@all -config`)
	b, err := redisboard.Open(t.Context(), "redis://worker:secret@"+s.Addr(), redisboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	commit(t, b, &board.Batch{Space: 20})
	wantKind(t, "commit", b.Commit(t.Context(), board.Batch{Space: 21}), domain.ErrInvalid, "21 databases")
	if texts, err := b.Settings(t.Context()); len(texts) == 0 || err != nil {
		t.Errorf("got nothing about CONFIG, %v", err)
	}
	if _, err := b.Watch(t.Context(), 1, ""); err != nil {
		t.Errorf("watch: %v", err)
	}
}

func TestDurability(t *testing.T) {
	t.Parallel()
	for want, settings := range map[board.Durability][][]string{
		board.DurableMemory:  {nil, {"save 60 1"}},
		board.DurableProcess: {{"appendonly yes"}, {"appendonly yes", "appendfsync no"}},
		board.DurableDisk:    {{"appendonly yes", "appendfsync always"}},
	} {
		for i, conf := range settings {
			t.Run(string(want)+strconv.Itoa(i), func(t *testing.T) {
				b := open(t, redistest.Start(t, conf...), redisboard.Config{})
				if got := b.Durability(); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
				if texts, err := b.Settings(t.Context()); err != nil || (len(texts) == 0) != (want == board.DurableDisk) {
					t.Errorf("settings: %q, %v", texts, err)
				}
			})
		}
	}
}

func TestUnixSocket(t *testing.T) {
	s := redistest.StartSocket(t)
	b := open(t, s, redisboard.Config{})
	commit(t, b, set("r", "a", "1"))
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, port := testcert.New(t), testport.Free(t)
	_, number, _ := net.SplitHostPort(port)
	redistest.Start(t, "tls-port "+number, "tls-cert-file "+cert.Cert, "tls-key-file "+cert.Key, "tls-ca-cert-file "+cert.CA, "tls-auth-clients yes")
	both := "?ca=" + cert.CA + "&cert=" + cert.Cert + "&key=" + cert.Key
	for _, scheme := range []string{"rediss://", "valkeys://"} {
		b, err := redisboard.Open(t.Context(), scheme+port+"/"+both, redisboard.Config{})
		if err != nil {
			t.Fatalf("%s: %v", scheme, err)
		}
		commit(t, b, set("r", "a", "1"))
		b.Close()
	}
	for _, c := range []struct {
		name, query, words string
		kind               error
	}{
		{"a server for whom nobody vouches", "", "certificate", domain.ErrUnavailable},
		{"another's CA", "?ca=" + testcert.New(t).CA, "certificate", domain.ErrUnavailable},
		{"no certificate of our own", "?ca=" + cert.CA, "cannot be reached", domain.ErrUnavailable},
		{"a file that is not there", "?ca=/none", "tls: ca: open /none", domain.ErrNotFound},
		{"a certificate without its key", "?cert=" + cert.Cert, "go together", domain.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := redisboard.Open(t.Context(), "rediss://"+port+"/"+c.query, redisboard.Config{})
			if err == nil {
				b.Close()
			}
			wantKind(t, "open", err, c.kind, c.words)
		})
	}
}

// TestSentinels has the primary die: the board goes on with who was its replica.
func TestSentinels(t *testing.T) {
	t.Parallel()
	const auth = "requirepass secret"
	primary := redistest.Start(t, auth, "masterauth secret", "repl-diskless-sync-delay 0")
	_, port, _ := net.SplitHostPort(primary.Addr())
	replica := redistest.Start(t, auth, "masterauth secret", "replicaof 127.0.0.1 "+port)
	sentinel := redistest.StartSentinel(t, "house", primary, "sentinel auth-pass house secret")
	url := "redis://:secret@127.0.0.1:1," + sentinel.Addr() + "/?master=house&sentinel_password="
	b, err := redisboard.Open(t.Context(), url, redisboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	commit(t, b, set("r", "a", "1"))
	testwait.Until(t, "the replica to have it", func() bool { // else it is no board that goes on
		c, err := net.Dial("tcp", replica.Addr())
		if err != nil {
			return false
		}
		defer c.Close()
		fmt.Fprintf(c, "AUTH secret\r\nHGET ramet:board id\r\nQUIT\r\n")
		text, _ := io.ReadAll(c)
		return strings.Contains(string(text), "$26\r\n")
	})
	testwait.Until(t, "the Sentinel to know the replica", func() bool {
		c, err := net.Dial("tcp", sentinel.Addr())
		if err != nil {
			return false
		}
		defer c.Close()
		fmt.Fprintf(c, "SENTINEL REPLICAS house\r\n")
		text := make([]byte, 4096)
		n, _ := c.Read(text)
		_, port, _ := net.SplitHostPort(replica.Addr())
		return strings.Contains(string(text[:n]), port)
	})
	primary.Kill()
	testwait.Until(t, "the board to go on", func() bool {
		return b.Commit(t.Context(), *set("r", "b", "2")) == nil
	})
	if at := b.Durability(); at == "" {
		t.Error("nothing is known of the new primary")
	}
	for query, words := range map[string]string{"": "primary as ?master=",
		"?master=other&sentinel_password=": "redis at other (known to the Sentinels " + sentinel.Addr() + ",127.0.0.1:1) cannot be reached",
		"?sentinel_user=x":                 "too, as master="} {
		other, err := redisboard.Open(t.Context(), "redis://:secret@"+sentinel.Addr()+",127.0.0.1:1/"+query, redisboard.Config{})
		if err == nil {
			other.Close()
			t.Errorf("%q: it was opened", query)
		} else if !strings.Contains(err.Error(), words) {
			t.Errorf("%q: got %v, want %q", query, err, words)
		}
	}
}

// Two boards on one server, as two nodes have them: no job twice, none lost,
// and each is woken by the other.
func TestTwoBoards(t *testing.T) {
	s := redistest.Start(t)
	boards := []*redisboard.Board{open(t, s, redisboard.Config{}), open(t, s, redisboard.Config{})}
	const jobs = 2000
	var mu sync.Mutex
	seen := map[string]int{}
	var all sync.WaitGroup
	for i := range 8 {
		b := boards[i%2]
		all.Go(func() {
			for {
				got, err := b.Claim(t.Context(), waitingAsk("queue:v"))
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				mu.Lock()
				for _, c := range got {
					seen[c.Item]++
				}
				done := len(seen) >= jobs
				mu.Unlock()
				if done {
					// Whoever still waits is let go by one item each.
					commit(t, b, (&board.Batch{Space: 1}).PushLeft("queue:v", "end"+got[0].Item))
					return
				}
			}
		})
	}
	for i := range jobs {
		commit(t, boards[i%2], (&board.Batch{Space: board.Space(1 + i%5)}).PushLeft("queue:v", "job:"+strconv.Itoa(i)))
	}
	all.Wait()
	for item, n := range seen {
		if n != 1 {
			t.Errorf("%s was claimed %d times", item, n)
		}
	}
}
