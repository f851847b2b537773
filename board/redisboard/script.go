package redisboard

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"

	"github.com/redis/rueidis"
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
	sum := sha1.Sum([]byte(libLua + source)) // Redis names scripts by SHA-1; nothing hangs on its strength
	return script{libLua + source, hex.EncodeToString(sum[:])}
}

var (
	commitScript = newScript(commitLua)
	claimScript  = newScript(claimLua)
	leaseScript  = newScript(leaseLua)
	readScript   = newScript(readLua)
)

func (s script) byHash(b rueidis.Builder, args []string) rueidis.Completed {
	return b.Evalsha().Sha1(s.hash).Numkeys(0).Arg(args...).Build()
}

func (s script) whole(b rueidis.Builder, args []string) rueidis.Completed {
	return b.Eval().Script(s.source).Numkeys(0).Arg(args...).Build()
}

// isUnknown reports whether the server did not know the script.
func isUnknown(r rueidis.RedisResult) bool {
	err, ok := rueidis.IsRedisErr(r.Error())
	return ok && err.IsNoScript()
}

func (s script) exec(ctx context.Context, c rueidis.Client, args []string) rueidis.RedisResult {
	r := c.Do(ctx, s.byHash(c.B(), args))
	if isUnknown(r) {
		r = c.Do(ctx, s.whole(c.B(), args))
	}
	return r
}

// args are the arguments that every script gets, and others. Whom they call is
// told to all boards but the named one, which has it with the answer.
func (b *Board) args(name string, more ...string) []string {
	return append(append(make([]string, 0, 2+len(more)), string(b.tenancy), name), more...)
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
	m, err = s.exec(ctx, b.client, b.args("", args...)).ToMessage()
	return m, rueidis.IsRedisNil(err), b.translate(err)
}
