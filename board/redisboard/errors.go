package redisboard

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

func errClosed() error { return domain.Unavailablef("board is closed") }

// translate turns what the client says into a kind of error. The client's
// error never leaves the driver.
func (b *Board) translate(err error) error {
	switch {
	case err == nil || rueidis.IsRedisNil(err):
		return nil
	case b.closing.Err() != nil || errors.Is(err, rueidis.ErrClosing):
		return errClosed()
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	if re, ok := rueidis.IsRedisErr(err); ok {
		return b.refusal(re.Error())
	}
	if timed := (net.Error)(nil); errors.As(err, &timed) && timed.Timeout() {
		return domain.Unavailablef("redis at %s cannot be reached: it gives no answer", b.addr)
	}
	if dialled := (*net.OpError)(nil); errors.As(err, &dialled) {
		err = dialled.Err // where it was dialled stands before it
	}
	return domain.Unavailablef("redis at %s cannot be reached: %v", b.addr, err)
}

// refusal translates what the server itself answers.
func (b *Board) refusal(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "KIND":
		// What Redis adds to it is of its script, and tells nobody anything.
		rest, _, _ = strings.Cut(rest, " script: ")
		return domain.Invalidf("%s", rest)
	case "GONE":
		return domain.Unavailablef("the board that this node knew is gone from redis at %s: it was emptied, or came back without its data; "+
			"restore its data, or start each node once with --accept-loss, to go on with the board that is there now", b.addr)
	case "OOM":
		return domain.Exhaustedf("redis at %s is at its maxmemory: raise it, or delete something", b.addr)
	case "READONLY":
		return domain.Unavailablef("redis at %s is a read-only replica: connect to the primary", b.addr)
	case "LOADING":
		return domain.Unavailablef("redis at %s is still loading its data", b.addr)
	case "BUSY":
		return domain.Unavailablef("redis at %s is busy with a long script", b.addr)
	case "MISCONF":
		return domain.Unavailablef("redis at %s takes no writes, because it cannot save to disk: see its log", b.addr)
	case "MASTERDOWN", "NOREPLICAS", "CLUSTERDOWN", "TRYAGAIN":
		return domain.Unavailablef("redis at %s takes no commands now: %s", b.addr, text)
	case "NOAUTH":
		return domain.Unavailablef("redis at %s wants a password: write redis://:password@host", b.addr)
	case "WRONGPASS":
		return domain.Unavailablef("redis at %s refuses the user name or password", b.addr)
	case "NOPERM":
		return domain.Unavailablef("redis at %s does not allow its user what a board needs: %s", b.addr, rest)
	}
	if strings.Contains(text, "DB index is out of range") {
		return domain.Invalidf("redis at %s has too few databases: raise databases in redis.conf, or use tenancy=prefix", b.addr)
	}
	return domain.Unavailablef("redis at %s: %s", b.addr, text)
}

// checkSpace refuses a space for which the server has no database.
//
// Errors: [domain.ErrInvalid].
func (b *Board) checkSpace(space board.Space) error {
	if b.tenancy == TenancyDB && int64(space) >= b.databases.Load() {
		return tooFew(b.databases.Load(), space)
	}
	return nil
}

func tooFew(databases int64, space board.Space) error {
	return domain.Invalidf("redis has %d databases, context %d needs \"databases %d\" in redis.conf, and others to come need more, or use tenancy=prefix",
		databases, space, int64(space)+1)
}
