package redisboard

import (
	"context"
	_ "embed"

	"github.com/redis/rueidis"
)

// The scripts. Each is EVALSHA with a fallback to EVAL, so that a server that
// has lost them (a restart, SCRIPT FLUSH) learns them again by itself.
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

	commitScript = rueidis.NewLuaScript(libLua + commitLua)
	claimScript  = rueidis.NewLuaScript(libLua + claimLua)
	leaseScript  = rueidis.NewLuaScript(libLua + leaseLua)
	readScript   = rueidis.NewLuaScript(libLua + readLua)
)

// run calls a script. A nil answer is the zero message with isNil.
//
// Errors: translated; [domain.ErrUnavailable] once closed.
func (b *Board) run(ctx context.Context, script *rueidis.Lua, args ...string) (m rueidis.RedisMessage, isNil bool, err error) {
	if err := ctx.Err(); err != nil {
		return m, false, err
	}
	if !b.begin() {
		return m, false, errClosed()
	}
	defer b.calls.Done()
	m, err = script.Exec(ctx, b.client, nil, append([]string{string(b.tenancy), b.name}, args...)).ToMessage()
	return m, rueidis.IsRedisNil(err), b.translate(err)
}
