package resp_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// notTheirs is what nobody but an admin of context 8 may see.
const notTheirs = "NOT-THEIRS"

// FuzzRights: whatever bytes come from who may only read a context, or from who may
// do nothing in it, its board is as it was, and so is that of another context, of
// which nothing comes out. What does come out are whole answers.
func FuzzRights(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s), true)
	}
	for _, cmd := range []string{"SET a 1", "GET a", "HSET job:10:1 status finished", "HGETALL job:10:1", "LPUSH queue:v job:10:2", "LPOP queue:v",
		"LRANGE queue:v 0 -1", "DEL a", "UNLINK job:10:1", "EXPIRE a 1", "RENAME a b", "COPY a b",
		"LMOVE queue:v b LEFT RIGHT", "BLPOP queue:v 0.001", "SADD contexts 9", "SMEMBERS contexts", "GETDEL a", "GETEX a EX 1", "GETSET a 1",
		"SETNX c 1", "INCR n", "APPEND a x", "HINCRBY job:10:1 id 1", "FLUSHDB", "FLUSHALL",
		"CONFIG SET x y", "EVAL return 0", "SWAPDB 7 8", "MOVE a 8", "PUBLISH a b", "KEYS *", "SCAN 0", "TYPE a", "OBJECT ENCODING a", "CLIENT LIST",
		"CLIENT KILL ID 1", "MONITOR", "PSUBSCRIBE *", "DEBUG OBJECT a", "SORT queue:v STORE x"} {
		for _, s := range []string{"%s", "MULTI\r\n%s\r\nEXEC", "SELECT 8\r\n%s", "SELECT 0\r\n%s", "WATCH a\r\nMULTI\r\nSELECT 8\r\n%s\r\nEXEC",
			"HELLO 3 AUTH operator x\r\n%s", "AUTH operator x\r\n%s", "RESET\r\n%s"} {
			f.Add([]byte(fmt.Sprintf(s, cmd)+"\r\n"), true)
		}
		f.Add([]byte(cmd+"\r\n"), false)
	}
	f.Fuzz(func(t *testing.T, in []byte, mayRead bool) {
		if len(in) > 4096 || bytes.Contains(in, []byte("THEIRS")) {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 8, Admins: []domain.ActorID{admin}}); err != nil {
				t.Fatal(err)
			}
			for _, space := range []board.Space{7, 8} {
				text := "plain"
				if space == 8 {
					text = notTheirs
				}
				b := board.Batch{Space: space}
				b.Set("job:10:1", board.Field{Name: "id", Value: "1"}, board.Field{Name: "script", Value: text}, board.Field{Name: "status", Value: "waiting"})
				b.PushRight("queue:v", "job:10:1", text)
				b.Set("a", board.Field{Name: "value", Value: text})
				if err := r.board.Commit(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			seven, eight := contents(t, r.board, 7), contents(t, r.board, 8)
			who, c := stranger, r.connect()
			if mayRead {
				who = reader
			}
			c.want("OK", "AUTH", r.token(who))
			if mayRead {
				c.want("OK", "SELECT", "7")
			}
			var out bytes.Buffer
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = io.Copy(&out, c.r)
			}()
			go func() { _, _ = c.c.Write(append(in, '\r', '\n')) }() // until the door closes
			synctest.Wait()
			c.c.Close()
			<-done
			synctest.Wait()
			if now := contents(t, r.board, 7); now != seven {
				t.Errorf("%q of actor %d changed context 7:\n%s\nwas\n%s", in, who, now, seven)
			}
			if now := contents(t, r.board, 8); now != eight {
				t.Errorf("%q of actor %d changed context 8:\n%s\nwas\n%s", in, who, now, eight)
			}
			if strings.Contains(out.String(), notTheirs) || !mayRead && strings.Contains(out.String(), "plain") {
				t.Errorf("%q shows actor %d what is not for it: %q", in, who, out.String())
			}
			r.stop()
		})
	})
}

// contents are all that lies on a space of a board.
func contents(t *testing.T, b board.Board, space board.Space) string {
	t.Helper()
	var all strings.Builder
	for cursor := ""; ; {
		keys, next, err := b.Keys(t.Context(), space, "", cursor, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			fmt.Fprintf(&all, "%s:", key)
			if recs, err := b.Get(t.Context(), space, key); err == nil {
				fmt.Fprintf(&all, " %v", recs)
			}
			if items, err := b.List(t.Context(), space, key, 0, 100); err == nil {
				fmt.Fprintf(&all, " %q", items)
			}
			if members, err := b.Members(t.Context(), space, key, "", 100); err == nil {
				fmt.Fprintf(&all, " {%q}", members)
			}
			all.WriteByte('\n')
		}
		if cursor = next; cursor == "" {
			return all.String()
		}
	}
}
