package redisboard

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// channels are what every board listens to; pushPattern are the pushes of
// everybody, foreign programs too.
var channels = []string{"ramet:wake", "ramet:alarm", "ramet:lapse"}

const pushPattern = "__keyevent@*__:[lr]push"

// listener is the connection on which messages come.
type listener struct {
	mu     sync.Mutex
	conn   rueidis.DedicatedClient // nil while there is none
	stands signal                  // fired when there is one again
}

// listen keeps a subscription until the board is closed. The first outcome
// goes to up.
func (b *Board) listen(up chan<- error) {
	first := func(err error) {
		if up != nil {
			up <- err
			up = nil
		}
	}
	pause := 50 * time.Millisecond
	for {
		err := b.session(func() {
			pause = 50 * time.Millisecond
			first(nil)
		})
		first(err)
		if b.closing.Err() != nil {
			return
		}
		b.log.Warn("redis connection lost", "err", err)
		if b.sleep(b.closing, pause, nil) != nil {
			return
		}
		pause = min(2*pause, time.Second)
	}
}

// session subscribes and stays until the connection ends. It calls up when
// the subscription stands.
func (b *Board) session(up func()) error {
	conn, release := b.client.Dedicate()
	defer release()
	ended := conn.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: b.hear})
	if err := b.subscribe(conn); err != nil {
		return err
	}
	// The server may be another one now, or have lost its settings.
	if err := b.survey(b.closing); err != nil {
		return err
	}
	if err := b.mayStay(); err != nil {
		b.log.Error("redis may lose work", "err", err) // what runs goes on: ending it would lose more
	}
	b.listener.mu.Lock()
	b.listener.conn = conn
	b.listener.mu.Unlock()
	b.listener.stands.fire()
	defer func() {
		b.listener.mu.Lock()
		b.listener.conn = nil
		b.listener.mu.Unlock()
	}()
	// Messages have been missed until now: everybody looks again.
	b.line.wakeAll()
	b.alarmSet.fire()
	b.lapsed.fire()
	b.watches.missed()
	b.heard.lose()
	b.touches.look()
	up()
	b.log.Info("redis connection stands")
	select {
	case err := <-ended:
		return b.translate(err)
	case <-b.closing.Done():
		return errClosed()
	}
}

func (b *Board) subscribe(conn rueidis.DedicatedClient) error {
	ctx := b.closing
	cmds := rueidis.Commands{
		conn.B().Subscribe().Channel(channels...).Build(),
		conn.B().Psubscribe().Pattern(pushPattern).Build(),
	}
	names, patterns := b.watches.list()
	if len(names) > 0 {
		cmds = append(cmds, conn.B().Subscribe().Channel(names...).Build())
	}
	if len(patterns) > 0 {
		cmds = append(cmds, conn.B().Psubscribe().Pattern(patterns...).Build())
	}
	for _, cmd := range cmds {
		if err := conn.Do(ctx, cmd).Error(); err != nil {
			return b.translate(err)
		}
	}
	// The answer to a ping comes after the subscriptions are in force.
	return b.translate(conn.Do(ctx, conn.B().Ping().Build()).Error())
}

// tuneSoon is tune, but waits where there is no subscription just now: after a
// lost connection calls are answered again before messages come again. It
// waits as long as for any answer.
func (b *Board) tuneSoon(ctx context.Context, build func(rueidis.Builder) rueidis.Completed) error {
	for end := time.Now().Add(b.answer); ; {
		again := b.listener.stands.wait()
		err := b.tune(ctx, build)
		if !errors.Is(err, domain.ErrUnavailable) || b.closing.Err() != nil {
			return err
		}
		late := time.NewTimer(time.Until(end))
		defer late.Stop()
		select {
		case <-again:
		case <-late.C:
			return err
		case <-b.closing.Done():
			return errClosed()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tune adds or removes a topic of the standing subscription.
func (b *Board) tune(ctx context.Context, build func(rueidis.Builder) rueidis.Completed) error {
	b.listener.mu.Lock()
	defer b.listener.mu.Unlock()
	conn := b.listener.conn
	if conn == nil {
		return domain.Unavailablef("redis at %s cannot be reached", b.addr)
	}
	if err := conn.Do(ctx, build(conn.B())).Error(); err != nil {
		return b.translate(err)
	}
	return b.translate(conn.Do(ctx, conn.B().Ping().Build()).Error())
}

// hear handles one message. It must not wait.
func (b *Board) hear(m rueidis.PubSubMessage) {
	switch {
	case m.Channel == "ramet:wake":
		from, rest, _ := strings.Cut(m.Message, "|")
		count, group, ok := strings.Cut(rest, "|")
		if n, err := strconv.Atoi(count); ok && err == nil && from != b.name {
			b.line.wake(group, n)
		}
	case m.Channel == "ramet:alarm":
		b.alarmSet.fire()
	case m.Channel == "ramet:lapse":
		b.lapsed.fire()
	case m.Channel == "ramet:changes":
		if space, key, ok := cutMember(m.Message); ok {
			b.watches.tell(space, key)
		}
	case m.Pattern == pushPattern:
		if db, ok := database(m.Channel, "__keyevent@"); ok {
			b.pushed(b.cutPrefix(db, m.Message))
		}
	case m.Pattern == popPattern:
		if db, ok := database(m.Channel, "__keyevent@"); ok {
			if space, list := b.cutPrefix(db, m.Message); queue.Is(list) {
				b.watches.popped(space, list)
			}
		}
	default:
		b.hearChange(m)
	}
}

// hearChange handles a keyspace event of a watched key.
func (b *Board) hearChange(m rueidis.PubSubMessage) {
	db, ok := database(m.Channel, "__keyspace@")
	if !ok || m.Message == "expire" || m.Message == "persist" {
		return // when a key will go is no change of what it holds
	}
	_, key, _ := strings.Cut(m.Channel, "__:")
	space, name := b.cutPrefix(db, key)
	if !hidden(name) {
		b.watches.tell(space, name)
	}
}

// database is N in "<head>N__:...".
func database(channel, head string) (board.Space, bool) {
	rest, ok := strings.CutPrefix(channel, head)
	number, _, found := strings.Cut(rest, "__:")
	n, err := strconv.ParseUint(number, 10, 32)
	return board.Space(n), ok && found && err == nil
}

// pushed handles a push by anybody on any list.
func (b *Board) pushed(space board.Space, list string) {
	b.heard.note(space)
	if !queue.Is(list) {
		return
	}
	group := queue.Group(list)
	if claims, waits := b.line.asked(group); claims {
		b.touches.add(space, group, waits)
	}
}
