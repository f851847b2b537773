package natslink

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatEverybodyMeetsIsSaidSeldomAndQuietly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := &ServerLog{Log: slog.New(slog.NewTextHandler(&out, nil)), Seldom: &Seldom{}}
		count := func(words string) int { return strings.Count(out.String(), words) }
		for n := range 100 {
			l.Errorf("Error trying to connect as leafnode to remote server %q (attempt %d): dial tcp: connection refused", "10.0.0.1:7422", n)
			l.Errorf("10.0.0.1:7422 - lid:%d - Leafnode Error 'Authorization Violation'", n)
			l.Errorf("10.0.0.2:%d - lid:%d - authentication error - Nkey", 40000+n, n)
		}
		if n := count("level=WARN"); n != 0 {
			t.Errorf("got %d warnings:\n%s", n, &out)
		}
		if away, refused := count("NATS link is not up"), count("NATS link not let in"); away != 1 || refused != 1 {
			t.Errorf("got %d and %d lines, want one each:\n%s", away, refused, &out)
		}
		time.Sleep(quietFor)
		l.Errorf("Error trying to connect as leafnode to remote server %q (attempt %d): dial tcp: connection refused", "10.0.0.1:7422", 100)
		if n := count("NATS link is not up"); n != 2 {
			t.Errorf("after a while: got %d lines, want 2", n)
		}
		l.Warnf("the disk is slow")
		if n := count("level=WARN"); n != 1 {
			t.Errorf("what nobody expects: got %d warnings:\n%s", n, &out)
		}
	})
}

func TestLatelyIsBounded(t *testing.T) {
	var l Lately
	for n := range 3 * maxSaid {
		l.Said(strings.Repeat("x", n%(2*maxSaid)), time.Time{})
	}
	if len(l.when) > maxSaid {
		t.Errorf("it remembers %d texts, the limit is %d", len(l.when), maxSaid)
	}
}
