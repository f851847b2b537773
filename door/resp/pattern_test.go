package resp_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/resp"
)

// This file has what patterns and names of channels must not do: keep a processor
// busy, or what belongs to other contexts.

func TestPatternsAreBounded(t *testing.T) {
	r := newRig(t)
	c := r.as(admin)
	c.want("1", "HSET", "h", "f", "v")
	c.want("1", "SADD", "s", "m")
	fits, over := strings.Repeat("a", 1024), strings.Repeat("a", 1025)
	for _, text := range []string{"KEYS", "SCAN 0 MATCH", "HSCAN h 0 MATCH", "SSCAN s 0 MATCH", "PUBSUB CHANNELS", "CONFIG GET"} {
		cmd := strings.Fields(text)
		c.refused("ERR a pattern has 1025 bytes, the limit is 1024", append(cmd, over)...)
		if got := show(c.do(append(cmd, fits)...)); strings.Contains(got, "ERR") {
			t.Errorf("%v: got %s", cmd, got)
		}
	}
	c.refused("ERR a channel's name has 256 bytes, the limit is 255", "PUBLISH", strings.Repeat("a", 256), "x")
	c.want("0", "PUBLISH", strings.Repeat("a", 255), "x")
}

// TestAPatternThatTakesTooLongIsGivenUp has one that is short, for a long text
// and for several.
func TestAPatternThatTakesTooLongIsGivenUp(t *testing.T) {
	r := newRig(t)
	resp.BoundPatterns(r.door, 1<<14)
	c := r.as(admin)
	c.want("1", "SADD", "long", strings.Repeat("a", 1<<20))
	c.want("1", "SADD", "one", strings.Repeat("a", 200))
	c.want("3", "SADD", "many", strings.Repeat("a", 200), strings.Repeat("a", 199), strings.Repeat("a", 198))
	pattern := "*" + strings.Repeat("a", 100) + "b"
	c.want("[0 []]", "SSCAN", "one", "0", "MATCH", pattern)
	for _, key := range []string{"long", "many"} {
		c.refused("ERR the pattern takes too long", "SSCAN", key, "0", "MATCH", pattern)
	}
	c.want("PONG", "PING")
}

// TestChannelsOfOneContextHoldUpNoOther has a context in which something is being
// told all the time: to look through thousands of patterns takes long.
func TestChannelsOfOneContextHoldUpNoOther(t *testing.T) {
	r := newRig(t)
	if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 8, Admins: []domain.ActorID{stranger}}); err != nil {
		t.Fatal(err)
	}
	in8 := func() *conn {
		c := r.connect()
		_ = c.c.SetDeadline(time.Now().Add(20 * time.Second)) // for a door that fails this
		c.want("OK", "AUTH", r.token(stranger))
		c.want("OK", "SELECT", "8")
		return c
	}
	r.as(admin).want("[subscribe news 1]", "SUBSCRIBE", "news")
	defer resp.HoldChannels(r.door, 7)()
	a, p := in8(), in8()
	a.want("[subscribe news 1]", "SUBSCRIBE", "news")
	p.want("1", "PUBLISH", "news", "hello")
	if got := show(a.read()); got != "[message news hello]" {
		t.Errorf("got %s", got)
	}
}

// TestALongPipelineKeepsNoDoorFromClosing has commands that would take for ever,
// one after the other.
func TestALongPipelineKeepsNoDoorFromClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, slow := 0, time.Duration(0)
		r := newRig(t, func(c *resp.Config) {
			c.Writable = func() error {
				begun++
				time.Sleep(slow) // of the bubble
				return nil
			}
		})
		slow = time.Hour
		c := r.as(admin)
		go func() { _, _ = io.Copy(io.Discard, c.r) }()
		c.raw(strings.Repeat(encode("SET", "a", "x"), 100))
		synctest.Wait()
		r.stop()
		if begun != 1 {
			t.Errorf("%d commands were begun, all but one of them after the door was told to close", begun)
		}
	})
}
