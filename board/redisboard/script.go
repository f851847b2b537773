package redisboard

import (
	"context"
	"crypto/rand"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

var (
	//go:embed lua/lib.lua
	libLua string
	//go:embed lua/commit.lua
	commitLua string
	//go:embed lua/claim.lua
	claimLua string
	//go:embed lua/lease.lua
	leaseLua string
	//go:embed lua/read.lua
	readLua string
)

// script is a Lua script that a server knows by its hash. It is called so, and
// sent whole to a server that has lost it (a restart, SCRIPT FLUSH).
type script struct{ source, hash string }

func newScript(source string) script {
	source = namesLua + libLua + source
	sum := sha1.Sum([]byte(source)) // Redis names scripts by SHA-1; nothing hangs on its strength
	return script{source, hex.EncodeToString(sum[:])}
}

// namesLua is what the scripts must know of the names of queues, and of epochs.
var namesLua = fmt.Sprintf("local maxField, capPrefix, ownQueues, epochLeap, restartLeap, mostLost = '%s', '%s', '%s', %d, %d, %d\n",
	queue.MaxField, queue.CapField(""), queue.OwnPrefix, board.EpochLeap, restartLeap, mostLost)

const (
	// restartLeap is by how much counters go on where the server is another process that has what
	// lay on its disk: more than is given out in the time between two looks of a node at the server.
	restartLeap = 100_000
	// mostLost is how many numbers that are known to be lost counters go beyond at most, each of
	// them: most were another counter's, and an id has 32 bits.
	mostLost = 1 << 26
)

var (
	commitScript = newScript(commitLua)
	claimScript  = newScript(claimLua)
	leaseScript  = newScript(leaseLua)
	readScript   = newScript(readLua)
)

func (s script) byHash(b rueidis.Builder, args []string) rueidis.Completed {
	return b.Evalsha().Sha1(s.hash).Numkeys(0).Arg(args...).Build()
}

// isUnknown reports whether the server did not know the script.
func isUnknown(r rueidis.RedisResult) bool {
	err, ok := rueidis.IsRedisErr(r.Error())
	return ok && err.IsNoScript()
}

// call calls a script.
func (b *Board) call(ctx context.Context, s script, args []string) rueidis.RedisResult {
	r := b.client.Do(ctx, s.byHash(b.client.B(), args))
	if isUnknown(r) {
		r = b.load(ctx, s, args, b.facts.Load().durability)
	}
	return r
}

// load calls a script that the server has not got yet. A server loses what it has
// got when it ends: so nobody calls a script of one that was restarted before it
// was looked at what that may have lost, in the call that brings it the script. It
// is told what an answered write survives there, as far as that is known, and how many
// numbers were given out, as far as this board has heard.
func (b *Board) load(ctx context.Context, s script, args []string, survives board.Durability) rueidis.RedisResult {
	args = slices.Clone(args)
	args[0] = b.whose() + "!" + string(survives) + "+" + b.heardOf()
	return b.client.Do(ctx, b.client.B().Eval().Script(s.source).Numkeys(0).Arg(args...).Build())
}

// heardOf is how many numbers were given out, as far as this board has heard.
func (b *Board) heardOf() string { return strconv.FormatInt(b.given.Load(), 10) }

// hearGiven notes how many numbers have been given out, as the server says.
func (b *Board) hearGiven(m *rueidis.RedisMessage) {
	n, _ := m.AsInt64() // what somebody else has written there says nothing
	for was := b.given.Load(); n > was && !b.given.CompareAndSwap(was, n); was = b.given.Load() {
	}
}

// whose is the board that is meant, as scripts read it.
func (b *Board) whose() string {
	if id := b.id.Load(); id != nil {
		return string(b.tenancy) + ":" + *id
	}
	return string(b.tenancy)
}

// args are the arguments that every script gets, and others. Whom they call is
// told to all boards but the named one, which has it with the answer.
func (b *Board) args(name string, more ...string) []string {
	return append(append(make([]string, 0, 2+len(more)), b.whose(), name), more...)
}

// identify learns the id of the board, which is made with it. From then on every
// call is refused on a server that does not have that board any more.
func (b *Board) identify(ctx context.Context) error {
	m, _, err := b.run(ctx, readScript, "identity", "0", rand.Text())
	if err != nil {
		return err
	}
	id, err := m.ToString()
	if err != nil {
		return b.translate(err)
	}
	b.id.Store(&id)
	return nil
}

// run calls a script. A nil answer is the zero message with isNil.
//
// Errors: translated; [domain.ErrUnavailable] once closed.
func (b *Board) run(ctx context.Context, s script, args ...string) (m rueidis.RedisMessage, isNil bool, err error) {
	if err := ctx.Err(); err != nil {
		return m, false, err
	}
	if !b.begin() {
		return m, false, errClosed()
	}
	defer b.calls.Done()
	m, err = b.call(ctx, s, b.args("", args...)).ToMessage()
	return m, rueidis.IsRedisNil(err), b.translate(err)
}

// look is a read of n answers by a server of which it is looked first whether it has lost something. That does
// not rest on its having lost its scripts: a replica that was the primary before, and becomes it again, has them.
func (b *Board) look(ctx context.Context, n int, what string, space board.Space, args ...string) ([]rueidis.RedisMessage, error) {
	m, err := b.read(ctx, what, space, append([]string{string(b.facts.Load().durability), b.heardOf()}, args...)...)
	if err != nil {
		return nil, err
	}
	answer, err := m.ToArray()
	if err == nil && len(answer) != n {
		return nil, domain.Unavailablef("redis at %s: an answer of %d parts, want %d", b.addr, len(answer), n)
	}
	return answer, b.translate(err)
}
