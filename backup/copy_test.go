package backup_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
)

// compared is a board that tells when it is compared, which is when the other one was read. Its
// alarms are asked for before, too: whether it is empty.
type compared struct {
	board.Board
	asked int
	tell  func()
}

func (c *compared) Alarms(ctx context.Context, after board.Alarm, limit int) ([]board.Alarm, error) {
	if c.asked++; c.asked == 2 {
		c.tell()
	}
	return c.Board.Alarms(ctx, after, limit)
}

// TestABoardThatIsUsedWhileItIsCopied: what happens there after it was read is not in the copy, so
// that is no copy; the next run makes it one.
func TestABoardThatIsUsedWhileItIsCopied(t *testing.T) {
	commit := func(t *testing.T, b board.Board, what *board.Batch) {
		t.Helper()
		if err := b.Commit(t.Context(), *what); err != nil {
			t.Fatal(err)
		}
	}
	started := strconv.FormatInt(time.Now().UnixMilli(), 10)
	for name, c := range map[string]struct {
		happens func(t *testing.T, b board.Board)
		want    string
	}{
		"a job": {func(t *testing.T, b board.Board) {
			commit(t, b, (&board.Batch{Space: 7}).Set("job:1:late", board.Field{Name: "status", Value: "dispatched"}))
		}, "something wrote in its space 7"},
		"what expires": {func(t *testing.T, b board.Board) {
			commit(t, b, (&board.Batch{Space: 8}).Set("late", board.Field{Name: "a", Value: "1"}).Expire("late", time.Hour))
		}, "something wrote in its space 8"},
		"a number": {func(t *testing.T, b board.Board) {
			if _, err := b.Next(t.Context(), 7, layout.Seq("job", 1), 1); err != nil {
				t.Fatal(err)
			}
		}, "something wrote in its space 7"},
		"a node that lives": {func(t *testing.T, b board.Board) {
			commit(t, b, new(board.Batch).Set(layout.Node("n2"), board.Field{Name: layout.NodeSeen, Value: started}))
		}, "node n2 started"},
		"a node that has stopped again": {func(t *testing.T, b board.Board) {
			commit(t, b, new(board.Batch).Set(layout.Node("n1"), board.Field{Name: layout.NodeStarted, Value: started}).Expire(layout.Node("n1"), time.Hour))
		}, "node n1 started"},
	} {
		t.Run(name, func(t *testing.T) {
			src, dst := memboard.Open(), memboard.Open()
			living(t, src)
			to := &compared{Board: dst, tell: func() { c.happens(t, src) }}
			_, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "home"}, backup.Side{Board: to}, false, nil)
			if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "not to be used") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if err := backup.Unfinished(t.Context(), dst); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("it is called whole: %v", err)
			}
			commit(t, src, new(board.Batch).Delete(layout.Node("n2")))
			if _, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}, false, nil); err != nil {
				t.Fatal(err)
			}
			lapsed(t, dst)
		})
	}
}

// TestACopyAgain: that it was made already is what is the matter with the board, and not that it
// has something.
func TestACopyAgain(t *testing.T) {
	src, dst, other := memboard.Open(), memboard.Open(), memboard.Open()
	living(t, src)
	living(t, other)
	if err := other.Commit(t.Context(), *new(board.Batch).Set(layout.Identity, board.Field{Name: layout.IdentityID, Value: "B2"})); err != nil {
		t.Fatal(err)
	}
	from := backup.Side{Board: src, Name: "home"}
	if _, err := backup.Copy(t.Context(), from, backup.Side{Board: dst}, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Copy(t.Context(), from, backup.Side{Board: dst}, false, nil); err == nil || !strings.Contains(err.Error(), "a copy of home already") {
		t.Errorf("got %v", err)
	}
	if _, err := backup.Copy(t.Context(), from, backup.Side{Board: other}, false, nil); err == nil || strings.Contains(err.Error(), "copy") {
		t.Errorf("another board: got %v", err)
	}
}

// TestACopyOverKeysOfOthers: what no board could have gives way under a key that the copy needs,
// where the board may be filled over; all else of that kind stays.
func TestACopyOverKeysOfOthers(t *testing.T) {
	s := redistest.Start(t)
	src := memboard.Open()
	living(t, src)
	dst, err := redisboard.Open(t.Context(), s.URL(), redisboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dst.Close() })
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, SelectDB: 7, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	do := func(words ...string) string {
		t.Helper()
		text, err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).ToString()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	from, to := backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}
	do("SET", "job:1:6", "x")
	_, err = backup.Copy(t.Context(), from, to, false, nil)
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "board to fill") || !strings.Contains(err.Error(), "remove what lies there") {
		t.Fatalf("into an empty board: got %v", err)
	}
	for _, key := range []string{"job:1:6", "queue:python", "set", "theirs"} {
		do("SET", key, "x")
	}
	for range 2 {
		_, err = backup.Copy(t.Context(), from, to, false, nil)
		if !errors.Is(err, domain.ErrInvalid) || do("GET", "set") != "x" || do("GET", "job:1:6") != "x" {
			t.Fatalf("going on: got %v", err)
		}
	}
	if _, err := backup.Copy(t.Context(), from, to, true, nil); err != nil {
		t.Fatal(err)
	}
	lapsed(t, dst)
	if do("GET", "theirs") != "x" {
		t.Error("a key of another program is gone")
	}
}
