package resp_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/door/resp"
	"github.com/ramet-run/ramet/internal/testwait"
)

var hostile = []string{
	"*1\r\n$4\r\nPING\r\n", "PING\r\n", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "*-1\r\n*0\r\n\r\nPING\r\n", "*1\r\n$1048576\r\n", "*1100\r\n$1\r\na\r\n",
	"\"a\\x41\" 'b\\'c'\r\n", "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\n\x00\xff\r\n\x01\r\n", "$5\r\nhello\r\n", "*1\r\n$-1\r\n", "*99999999999\r\n",
	"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc", strings.Repeat("*1\r\n", 50),
}

// FuzzReader wants the same commands of a stream however it arrives, and that
// what was read writes itself back.
func FuzzReader(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, errW := resp.ReadCommands(bytes.NewReader(in))
		bits, errB := resp.ReadCommands(iotest.OneByteReader(bytes.NewReader(in)))
		if diff := cmp.Diff(whole, bits); diff != "" || fmt.Sprint(errW) != fmt.Sprint(errB) {
			t.Fatalf("as a whole %v, byte by byte %v:\n%s", errW, errB, diff)
		}
		var again strings.Builder
		for _, cmd := range whole {
			again.WriteString(encode(cmd...))
		}
		back, err := resp.ReadCommands(strings.NewReader(again.String()))
		if diff := cmp.Diff(whole, back); diff != "" || err != io.EOF {
			t.Fatalf("written and read again: %v\n%s", err, diff)
		}
	})
}

// FuzzDoor wants that no bytes bring the door down: it answers others after.
func FuzzDoor(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s))
	}
	for _, cmd := range []string{"LMOVE a a LEFT RIGHT", "BLPOP a 0.001", "MULTI", "EXEC", "WATCH a", "SUBSCRIBE a", "PSUBSCRIBE *[", "HELLO 3",
		"RESET", "SCAN 0 MATCH [a-", "SET a b EX 1 GET", "LTRIM a -1 0",
		"LREM a -9223372036854775808 x", "HSET job:10:1 status finished", "LPOP a 900", "EXPIRE a 9223372036854775807", "CLIENT LIST", "COMMAND",
		"CONFIG GET *", "SSCAN a 0", "KEYS ***********a", "RPOP queue:v"} {
		f.Add([]byte(cmd + "\r\nRPUSH a x y z\r\n" + cmd + "\r\n"))
	}
	log := &testwait.Log{}
	r := newRig(f, func(c *resp.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	f.Fuzz(func(t *testing.T, in []byte) {
		r := &rig{TB: t, keys: r.keys, pipes: r.pipes}
		c := r.as(admin)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.Copy(io.Discard, c.r) }) // until it is closed
		_ = c.c.SetWriteDeadline(time.Now().Add(5 * time.Second))
		c.raw(string(in) + "\r\n")
		c.c.Close()
		wg.Wait()
		other := r.as(reader)
		other.want("PONG", "PING")
		other.c.Close()
		if text := log.String(); strings.Contains(text, "broke down") || strings.Contains(text, "command failed") {
			t.Fatalf("the log says:\n%s", text)
		}
	})
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true}, {"*", "abc", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"a*c", "abc", true}, {"a*d", "abc", false}, {"", "", true}, {"", "a", false},
		{"a?c", "abc", true}, {"a?c", "ac", false}, {"[a-c]x", "bx", true}, {"[^a-c]x", "bx", false}, {"[^a-c]x", "dx", true}, {"[c-a]x", "bx", true},
		{`\*`, "*", true}, {`\*`, "a", false},
		{`[\]]`, "]", true}, {"[abc", "c", true}, {"[", "[", false}, {`a\`, `a\`, true}, {"h[ae]llo", "hallo", true}, {"**a**", "xax", true},
		{"job:*:1", "job:12:1", true}, {"job:*:1", "job:12:12", false},
	} {
		if got, _ := resp.Glob(tt.pattern, tt.s); got != tt.want {
			t.Errorf("%q fits %q: got %v, want %v", tt.s, tt.pattern, got, tt.want)
		}
	}
}

// TestHostilePatternsTakeFewSteps holds patterns to what the length of the text
// allows, however they are made.
func TestHostilePatternsTakeFewSteps(t *testing.T) {
	const long = 200
	text := strings.Repeat("a", long)
	for _, pattern := range []string{strings.Repeat("a*", 100) + "b", "*" + strings.Repeat("a", 100) + "b",
		"*[" + strings.Repeat("b", 1000), strings.Repeat("*", 1000) + "b",
		strings.Repeat("*?", 400), "*" + strings.Repeat("[a-z]", 100) + "b", strings.Repeat("[", 1000), "*" + strings.Repeat(`\a`, 500)} {
		if _, steps := resp.Glob(pattern, text); steps > long*long {
			t.Errorf("%.30s… of %d bytes: %d steps", pattern, len(pattern), steps)
		}
	}
}
