package etcdboard_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/testwait"
)

func TestTheMiddleClockIsTheBoards(t *testing.T) {
	const hour = 3_600_000
	for _, c := range []struct {
		name string
		own  int64
		all  []int64
		want int64
	}{
		{"one node has its own", 100, []int64{100}, 100},
		{"a node near the middle goes by its own", 900, []int64{900, 0, 100}, 900},
		{"one that is not goes by the middle", 2000, []int64{2000, 0, 100}, 100},
		{"one of three that is ahead", hour, []int64{hour, 0, 3}, 3},
		{"one of three that is behind", -hour, []int64{-hour, 0, 3}, 0},
		{"the others of three with one that is ahead", 0, []int64{0, hour, 3}, 0},
		{"the earlier of two", hour, []int64{hour, 0}, 0},
		{"the earlier of two is right, too", 0, []int64{hour, 0}, 0},
		{"the earlier of the two in the middle", 0, []int64{hour, 0, -hour, hour}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := etcdboard.BoardsTime(c.own, c.all); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// skewed opens a board on a node whose clock is off by so much.
func skewed(t *testing.T, url string, skew time.Duration) *etcdboard.Board {
	t.Helper()
	b, err := etcdboard.OpenSkewed(t.Context(), url, etcdboard.Config{Answer: 2 * time.Minute}, skew)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// TestNodesWhoseClocksDisagreeHaveOneTime has nodes an hour apart: each sees the alarms and
// keys of all come at the same instant, from the moment on at which it has opened the board.
func TestNodesWhoseClocksDisagreeHaveOneTime(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	for i, c := range []struct {
		skews []time.Duration
		want  time.Duration
	}{
		{[]time.Duration{0, time.Hour}, 0},
		{[]time.Duration{time.Hour, 0}, 0},
		{[]time.Duration{0, -time.Hour}, -time.Hour},
		{[]time.Duration{0, 0, -time.Hour}, 0},
		{[]time.Duration{time.Hour, 0, 0}, 0},
		{[]time.Duration{-time.Hour, 0, time.Hour}, 0},
	} {
		t.Run(fmt.Sprint(c.skews), func(t *testing.T) {
			t.Parallel()
			url := etcdtest.URL(fmt.Sprint("clocks", i), server)
			var nodes []*etcdboard.Board
			for n, skew := range c.skews {
				nodes = append(nodes, skewed(t, url, skew))
				if n == 0 {
					commit(t, nodes[0], in(sp).Set("r", field("a", "1")))
				}
			}
			for n, b := range nodes {
				if off := time.Until(b.Now()) - c.want; off.Abs() > time.Minute {
					t.Errorf("the time of node %d is off by %v, want %v", n, off+c.want, c.want)
				}
			}
			for n, b := range nodes {
				now, later := fmt.Sprint("now", n), fmt.Sprint("later", n)
				commit(t, b, in(sp).SetAlarm(now, b.Now()).SetAlarm(later, b.Now().Add(20*time.Minute)).
					Set(later, field("a", "1")).Expire(later, 20*time.Minute))
				for m, other := range nodes {
					due, err := other.Due(t.Context(), 10, 2*time.Minute)
					if err != nil || len(due) != 1 || due[0].Name != now {
						t.Errorf("of the alarms that node %d has set, node %d sees %v come %v, want %s", n, m, due, err, now)
					}
					stats, err := other.Stat(t.Context(), sp, later)
					if err != nil || stats[0].Kind != board.KindRecord {
						t.Errorf("what node %d lets expire in 20 minutes is for node %d %v %v", n, m, stats, err)
					}
					// By the clock of its machine.
					if left := time.Until(stats[0].Expires.Add(-c.skews[m])); left > 20*time.Minute || left < 15*time.Minute {
						t.Errorf("what node %d lets expire in 20 minutes expires for node %d in %v", n, m, left)
					}
				}
				commit(t, b, in(sp).ClearAlarm(now).ClearAlarm(later))
			}
		})
	}
}

// TestAClockThatLeavesCountsNoMore has a node whose clock is behind close its board.
func TestAClockThatLeavesCountsNoMore(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url := etcdtest.URL("leaving", server)
	one := skewed(t, url, 0)
	commit(t, one, in(sp).Set("r", field("a", "1")))
	behind := skewed(t, url, -time.Hour)
	if off := time.Until(one.Now()); off > -30*time.Minute {
		t.Fatalf("the board's time is off by %v, want an hour behind", off)
	}
	if err := behind.Close(); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the board's time is that of the node which is left", func() bool { return time.Until(one.Now()).Abs() < time.Minute })
}

// TestWhatAKilledNodeSaidIsNoWord has a key be left of a node whose clock was behind, and
// another have a clock that nobody has set: neither has a say.
func TestWhatAKilledNodeSaidIsNoWord(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("killed", server), client(t, server)
	first := open(t, url)
	commit(t, first, in(sp).Set("r", field("a", "1")))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "killed/~clock/x", strconv.FormatInt(time.Now().Add(-5*time.Minute).UnixMilli(), 10)); err != nil {
		t.Fatal(err)
	}
	one := open(t, url) // with the patience that is usual
	if off := time.Until(one.Now()); off.Abs() > time.Minute {
		t.Errorf("with a key that is left the board's time is off by %v", off)
	}
	unset, err := etcdboard.OpenSkewed(t.Context(), url, etcdboard.Config{}, -50*365*24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer unset.Close()
	testwait.Until(t, "a clock that nobody has set has no say", func() bool {
		return time.Until(one.Now()).Abs() < time.Minute && time.Until(unset.Now()).Abs() < time.Minute
	})
}

// TestTheFirstNodeIsKnownFromTheFirstCommitOn looks at what the board began with: who opens it
// a moment later waits for a word of each clock that it knows of.
func TestTheFirstNodeIsKnownFromTheFirstCommitOn(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("first", server), client(t, server)
	one := open(t, url)
	commit(t, one, in(sp).Set("r", field("a", "1")))
	got, err := c.Get(t.Context(), "first/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	begun := map[int64][]string{}
	for _, kv := range got.Kvs {
		begun[kv.CreateRevision] = append(begun[kv.CreateRevision], string(kv.Key))
	}
	for _, names := range begun {
		if slices.Contains(names, "first/head") {
			if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "first/~clock/") }) {
				t.Errorf("with its head the board has %v, and no clock", names)
			}
			return
		}
	}
	t.Errorf("there is no head: %v", begun)
}

// keysOfClocks are the names of the keys under which clocks spoke.
func keysOfClocks(t *testing.T, c *clientv3.Client, prefix string) (names []string) {
	t.Helper()
	got, err := c.Get(t.Context(), prefix+"/~clock/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range got.Kvs {
		if name := strings.TrimPrefix(string(kv.Key), prefix+"/~clock/"); name != "?" { // by which a command asks
			names = append(names, name)
		}
	}
	return names
}

// TestAWordOfLongAgoIsWaitedForOnce has a key be left of a node that was killed an hour ago, when
// no other was there to take it away.
func TestAWordOfLongAgoIsWaitedForOnce(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("long", server), client(t, server)
	first := open(t, url)
	commit(t, first, in(sp).Set("r", field("a", "1")))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), "long/~clock/x", strconv.FormatInt(time.Now().Add(-time.Hour).UnixMilli(), 10)); err != nil {
		t.Fatal(err)
	}
	b, err := etcdboard.OpenHasty(t.Context(), url, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if off := time.Until(b.Now()); off.Abs() > time.Minute {
		t.Errorf("the time is off by %v", off)
	}
	if names := keysOfClocks(t, c, "long"); slices.Contains(names, "x") {
		t.Errorf("keys of clocks: %q: the next start waits for x, too", names)
	}
}

// TestACommandsClockHasNoSay has commands on machines whose clocks are off be beside one node:
// they go by its time, and it by its own.
func TestACommandsClockHasNoSay(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("command", server), client(t, server)
	one := skewed(t, url, 0)
	commit(t, one, in(sp).Set("r", field("a", "1")).Set("idem", field("a", "1")).Expire("idem", 20*time.Minute))
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		command, err := etcdboard.OpenSkewed(t.Context(), url, etcdboard.Config{Answer: 2 * time.Minute, Passing: true}, off)
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string]*etcdboard.Board{"the node": one, "the command": command} {
			if off := time.Until(b.Now()); off.Abs() > time.Minute {
				t.Errorf("the time of %s is off by %v", name, off)
			}
		}
		if names := keysOfClocks(t, c, "command"); len(names) != 1 {
			t.Errorf("keys of clocks: %q, want the node's alone", names)
		}
		if stats, err := command.Stat(t.Context(), sp, "idem"); err != nil || stats[0].Kind != board.KindRecord {
			t.Errorf("what expires in 20 minutes is for the command %v %v", stats, err)
		}
		if err := command.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACommandAloneGoesByItsOwnClock has a board whose nodes are all stopped.
func TestACommandAloneGoesByItsOwnClock(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	b, err := etcdboard.OpenSkewed(t.Context(), etcdtest.URL("alone", server), etcdboard.Config{Passing: true}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if off := time.Until(b.Now()); (off - time.Hour).Abs() > time.Minute {
		t.Errorf("the time is off by %v, want an hour, as the only clock that there is", off)
	}
}

// TestANodeThatWasKilledHasOneSay has a node be killed again and again, and start with another
// clock: what its earlier lives have said counts no more, and nobody waits for a word of them.
func TestANodeThatWasKilledHasOneSay(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("lives", server), client(t, server)
	one := skewed(t, url, 0)
	commit(t, one, in(sp).Set("r", field("a", "1")))
	for i := range 4 {
		word := strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)
		if _, err := c.Put(t.Context(), fmt.Sprint("lives/~clock/folder.", i), word); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "the lives are heard", func() bool { return time.Until(one.Now()) > 30*time.Minute })
	again, err := etcdboard.OpenSkewed(t.Context(), url, etcdboard.Config{Answer: 2 * time.Minute, Folder: "folder"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	testwait.Until(t, "the time is that of the nodes which live", func() bool {
		return time.Until(one.Now()).Abs() < time.Minute && time.Until(again.Now()).Abs() < time.Minute
	})
	if names := keysOfClocks(t, c, "lives"); len(names) != 2 {
		t.Errorf("keys of clocks: %q, want one for each node", names)
	}
}

// TestAClockFarFromTheLastWordsWaits has a node a year ahead start while the others, which
// have spoken a moment ago, stand still for longer than a start waits for those that are dead.
func TestAClockFarFromTheLastWordsWaits(t *testing.T) {
	server := etcdtest.Start(t, "--unsafe-no-fsync")
	url, c := etcdtest.URL("still", server), client(t, server)
	first := open(t, url)
	commit(t, first, in(sp).Set("idem", field("a", "1")).Expire("idem", 24*time.Hour))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	say := func() {
		for _, n := range []string{"x", "y"} {
			if _, err := c.Put(t.Context(), "still/~clock/"+n, strconv.FormatInt(time.Now().UnixMilli(), 10)); err != nil {
				t.Fatal(err)
			}
		}
	}
	say()
	log := &testwait.Log{}
	opened := make(chan *etcdboard.Board, 1)
	go func() {
		b, err := etcdboard.OpenSkewed(t.Context(), url, etcdboard.Config{Logger: slog.New(slog.NewTextHandler(log, nil))}, 365*24*time.Hour)
		if err != nil {
			t.Error(err)
		}
		opened <- b
	}()
	testwait.Until(t, "it waits, or does not", func() bool {
		return strings.Contains(log.String(), "is far from this machine's clock") || len(opened) > 0
	})
	if len(opened) > 0 {
		(<-opened).Close()
		t.Fatal("the board was opened by a clock a year ahead of the last words of all others")
	}
	say() // they go on
	b := <-opened
	defer b.Close()
	if off := time.Until(b.Now()); off.Abs() > time.Minute {
		t.Errorf("the time is off by %v", off)
	}
	if stats, err := b.Stat(t.Context(), sp, "idem"); err != nil || stats[0].Kind != board.KindRecord {
		t.Errorf("what expires in 24 hours is %v %v", stats, err)
	}
}
