package resp_test

import (
	"strings"
	"testing"
)

// A script is lines "command -> answer", in words of a shell without quotes.
func (c *conn) script(text string) {
	c.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cmd, want, ok := strings.Cut(line, " -> ")
		if !ok {
			c.Fatalf("line %q", line)
		}
		args := strings.Fields(cmd)
		for i, a := range args {
			if a == "''" {
				args[i] = ""
			}
		}
		if e, is := strings.CutPrefix(want, "! "); is {
			c.refused(e, args...)
			continue
		}
		c.want(want, args...)
	}
}

func TestCommands(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"a hash counts what is new", `
			HSET h a 1 b 2 a 3 -> 2
			HGET h a -> 3
			HSET h a 4 c '' -> 1
			HMGET h a nope c -> [4 (nil) '']
			HLEN h -> 3
			HEXISTS h c -> 1
			HEXISTS h d -> 0
			HDEL h c c d -> 1
			HSTRLEN h b -> 1
			HMSET h z 9 -> OK
			HDEL h a b z -> 3
			EXISTS h -> 0
			HGETALL h -> []
			HSET h a -> ! ERR wrong number of arguments
		`},
		{"what is no integer in Redis is none here", `
			SET n 010 -> OK
			INCR n -> ! ERR value is not an integer
			DECRBY n 1 -> ! ERR value is not an integer
			GET n -> 010
			HSET h f 010 -> 1
			HINCRBY h f 1 -> ! ERR hash value is not an integer
			HINCRBY h g 010 -> ! ERR value is not an integer
			INCRBY k 010 -> ! ERR value is not an integer
			DECRBY k 010 -> ! ERR value is not an integer
			EXPIRE k 010 -> ! ERR value is not an integer
			PEXPIREAT k 010 -> ! ERR value is not an integer
			SET k v EX 010 -> ! ERR value is not an integer
			SETEX k 010 v -> ! ERR value is not an integer
			LRANGE l 0 010 -> ! ERR value is not an integer
			LTRIM l 010 1 -> ! ERR value is not an integer
			LINDEX l 010 -> ! ERR value is not an integer
			LREM l 010 x -> ! ERR value is not an integer
			SCAN 0 COUNT 010 -> ! ERR value is not an integer
			SELECT 010 -> ! ERR value is not an integer
			LPOP l 010 -> ! ERR value is out of range, must be positive
			SET n +1 -> OK
			INCR n -> ! ERR value is not an integer
			DECRBY n 1 -> ! ERR value is not an integer
			GET n -> +1
			HSET h f +1 -> 0
			HINCRBY h f 1 -> ! ERR hash value is not an integer
			HINCRBY h g +1 -> ! ERR value is not an integer
			INCRBY k +1 -> ! ERR value is not an integer
			DECRBY k +1 -> ! ERR value is not an integer
			EXPIRE k +1 -> ! ERR value is not an integer
			PEXPIREAT k +1 -> ! ERR value is not an integer
			SET k v EX +1 -> ! ERR value is not an integer
			SETEX k +1 v -> ! ERR value is not an integer
			LRANGE l 0 +1 -> ! ERR value is not an integer
			LTRIM l +1 1 -> ! ERR value is not an integer
			LINDEX l +1 -> ! ERR value is not an integer
			LREM l +1 x -> ! ERR value is not an integer
			SCAN 0 COUNT +1 -> ! ERR value is not an integer
			SELECT +1 -> ! ERR value is not an integer
			LPOP l +1 -> ! ERR value is out of range, must be positive
			SET n -0 -> OK
			INCR n -> ! ERR value is not an integer
			DECRBY n 1 -> ! ERR value is not an integer
			GET n -> -0
			HSET h f -0 -> 0
			HINCRBY h f 1 -> ! ERR hash value is not an integer
			HINCRBY h g -0 -> ! ERR value is not an integer
			INCRBY k -0 -> ! ERR value is not an integer
			DECRBY k -0 -> ! ERR value is not an integer
			EXPIRE k -0 -> ! ERR value is not an integer
			PEXPIREAT k -0 -> ! ERR value is not an integer
			SET k v EX -0 -> ! ERR value is not an integer
			SETEX k -0 v -> ! ERR value is not an integer
			LRANGE l 0 -0 -> ! ERR value is not an integer
			LTRIM l -0 1 -> ! ERR value is not an integer
			LINDEX l -0 -> ! ERR value is not an integer
			LREM l -0 x -> ! ERR value is not an integer
			SCAN 0 COUNT -0 -> ! ERR value is not an integer
			SELECT -0 -> ! ERR value is not an integer
			LPOP l -0 -> ! ERR value is out of range, must be positive
			SET n -01 -> OK
			INCR n -> ! ERR value is not an integer
			DECRBY n 1 -> ! ERR value is not an integer
			GET n -> -01
			HSET h f -01 -> 0
			HINCRBY h f 1 -> ! ERR hash value is not an integer
			HINCRBY h g -01 -> ! ERR value is not an integer
			INCRBY k -01 -> ! ERR value is not an integer
			DECRBY k -01 -> ! ERR value is not an integer
			EXPIRE k -01 -> ! ERR value is not an integer
			PEXPIREAT k -01 -> ! ERR value is not an integer
			SET k v EX -01 -> ! ERR value is not an integer
			SETEX k -01 v -> ! ERR value is not an integer
			LRANGE l 0 -01 -> ! ERR value is not an integer
			LTRIM l -01 1 -> ! ERR value is not an integer
			LINDEX l -01 -> ! ERR value is not an integer
			LREM l -01 x -> ! ERR value is not an integer
			SCAN 0 COUNT -01 -> ! ERR value is not an integer
			SELECT -01 -> ! ERR value is not an integer
			LPOP l -01 -> ! ERR value is out of range, must be positive
			SET n 00 -> OK
			INCR n -> ! ERR value is not an integer
			DECRBY n 1 -> ! ERR value is not an integer
			GET n -> 00
			HSET h f 00 -> 0
			HINCRBY h f 1 -> ! ERR hash value is not an integer
			HINCRBY h g 00 -> ! ERR value is not an integer
			INCRBY k 00 -> ! ERR value is not an integer
			DECRBY k 00 -> ! ERR value is not an integer
			EXPIRE k 00 -> ! ERR value is not an integer
			PEXPIREAT k 00 -> ! ERR value is not an integer
			SET k v EX 00 -> ! ERR value is not an integer
			SETEX k 00 v -> ! ERR value is not an integer
			LRANGE l 0 00 -> ! ERR value is not an integer
			LTRIM l 00 1 -> ! ERR value is not an integer
			LINDEX l 00 -> ! ERR value is not an integer
			LREM l 00 x -> ! ERR value is not an integer
			SCAN 0 COUNT 00 -> ! ERR value is not an integer
			SELECT 00 -> ! ERR value is not an integer
			LPOP l 00 -> ! ERR value is out of range, must be positive
			SET n 1_0 -> OK
			INCR n -> ! ERR value is not an integer
			DECRBY n 1 -> ! ERR value is not an integer
			GET n -> 1_0
			HSET h f 1_0 -> 0
			HINCRBY h f 1 -> ! ERR hash value is not an integer
			HINCRBY h g 1_0 -> ! ERR value is not an integer
			INCRBY k 1_0 -> ! ERR value is not an integer
			DECRBY k 1_0 -> ! ERR value is not an integer
			EXPIRE k 1_0 -> ! ERR value is not an integer
			PEXPIREAT k 1_0 -> ! ERR value is not an integer
			SET k v EX 1_0 -> ! ERR value is not an integer
			SETEX k 1_0 v -> ! ERR value is not an integer
			LRANGE l 0 1_0 -> ! ERR value is not an integer
			LTRIM l 1_0 1 -> ! ERR value is not an integer
			LINDEX l 1_0 -> ! ERR value is not an integer
			LREM l 1_0 x -> ! ERR value is not an integer
			SCAN 0 COUNT 1_0 -> ! ERR value is not an integer
			SELECT 1_0 -> ! ERR value is not an integer
			LPOP l 1_0 -> ! ERR value is out of range, must be positive
			SET n 9223372036854775808 -> OK
			INCR n -> ! ERR value is not an integer
			DECRBY n 1 -> ! ERR value is not an integer
			GET n -> 9223372036854775808
			HSET h f 9223372036854775808 -> 0
			HINCRBY h f 1 -> ! ERR hash value is not an integer
			HINCRBY h g 9223372036854775808 -> ! ERR value is not an integer
			INCRBY k 9223372036854775808 -> ! ERR value is not an integer
			DECRBY k 9223372036854775808 -> ! ERR value is not an integer
			EXPIRE k 9223372036854775808 -> ! ERR value is not an integer
			PEXPIREAT k 9223372036854775808 -> ! ERR value is not an integer
			SET k v EX 9223372036854775808 -> ! ERR value is not an integer
			SETEX k 9223372036854775808 v -> ! ERR value is not an integer
			LRANGE l 0 9223372036854775808 -> ! ERR value is not an integer
			LTRIM l 9223372036854775808 1 -> ! ERR value is not an integer
			LINDEX l 9223372036854775808 -> ! ERR value is not an integer
			LREM l 9223372036854775808 x -> ! ERR value is not an integer
			SCAN 0 COUNT 9223372036854775808 -> ! ERR value is not an integer
			SELECT 9223372036854775808 -> ! ERR value is not an integer
			LPOP l 9223372036854775808 -> ! ERR value is out of range, must be positive
			RPUSH l a b -> 2
			LINDEX l 9999999999 -> (nil)
			LREM l 9999999999 a -> 1
			LREM l -9223372036854775808 b -> 1
			EXISTS k n -> 1
		`},
		{"numbers in a hash", `
			HINCRBY h n 5 -> 5
			HINCRBY h n -7 -> -2
			HSET h t x -> 1
			HINCRBY h t 1 -> ! ERR hash value is not an integer
			HINCRBY h n 9223372036854775807 -> 9223372036854775805
			HINCRBY h n 9223372036854775807 -> ! ERR increment or decrement would overflow
			HINCRBYFLOAT h f 1.5 -> 1.5
			HINCRBYFLOAT h f 1.5 -> 3
			HSETNX h n 1 -> 0
			HSETNX h m 1 -> 1
		`},
		{"a list has two ends", `
			LPUSH l a b c -> 3
			RPUSH l d -> 4
			LRANGE l 0 -1 -> [c b a d]
			LRANGE l 1 2 -> [b a]
			LRANGE l -2 100 -> [a d]
			LRANGE l 5 9 -> []
			LINDEX l 0 -> c
			LINDEX l -1 -> d
			LINDEX l 9 -> (nil)
			LLEN l -> 4
			LPOP l -> c
			RPOP l -> d
			RPOP l 5 -> [a b]
			RPOP l -> (nil)
			RPOP l 2 -> (nil)
			LPUSHX l a -> 0
			EXISTS l -> 0
		`},
		{"items are taken out of a list", `
			RPUSH l a b a c a b -> 6
			LREM l 2 a -> 2
			LRANGE l 0 -1 -> [b c a b]
			LREM l -1 b -> 1
			LRANGE l 0 -1 -> [b c a]
			LREM l 0 nope -> 0
			LTRIM l 1 -1 -> OK
			LRANGE l 0 -1 -> [c a]
			LTRIM l 5 9 -> OK
			EXISTS l -> 0
			LREM l x a -> ! ERR value is not an integer
		`},
		{"an item moves in one step", `
			RPUSH a 1 2 3 -> 3
			RPOPLPUSH a b -> 3
			LMOVE a b LEFT RIGHT -> 1
			LRANGE b 0 -1 -> [3 1]
			LMOVE a a LEFT RIGHT -> 2
			LMOVE nope b LEFT LEFT -> (nil)
			BLMOVE a b RIGHT LEFT 0.01 -> 2
			BRPOPLPUSH a b 0.01 -> (nil)
			LRANGE b 0 -1 -> [2 3 1]
			LMOVE a b UP LEFT -> ! ERR syntax error
		`},
		{"a blocking pop takes the first that there is", `
			RPUSH b 1 2 -> 2
			BLPOP a b 1 -> [b 1]
			BRPOP b a 0 -> [b 2]
			BLPOP a b 0.01 -> (nil)
			BLPOP a x -> ! ERR timeout is not a float
			BLPOP a -1 -> ! ERR timeout is negative
		`},
		{"strings", `
			SET s one -> OK
			GET s -> one
			TYPE s -> string
			SETNX s two -> 0
			SET s two NX -> (nil)
			SET s two XX GET -> one
			GETSET s three -> two
			APPEND s ! -> 6
			STRLEN s -> 6
			MGET s nope -> [three! (nil)]
			MSET x 1 y 2 -> OK
			INCR x -> 2
			DECRBY x 5 -> -3
			INCR s -> ! ERR value is not an integer
			INCRBYFLOAT y 0.5 -> 2.5
			GETDEL s -> three!
			GET s -> (nil)
			GETDEL s -> (nil)
			SET e '' -> OK
			GET e -> ''
			EXISTS e -> 1
			SET e v KEEPTTL EX 5 -> ! ERR syntax error
			SET e v EX 0 -> ! ERR invalid expire time in 'set' command
		`},
		{"sets", `
			SADD s b a b -> 2
			SADD s a c -> 1
			SMEMBERS s -> [a b c]
			SISMEMBER s a -> 1
			SISMEMBER s ab -> 0
			SMISMEMBER s a x -> [1 0]
			SCARD s -> 3
			SREM s a x -> 1
			TYPE s -> set
			SREM s b c -> 2
			EXISTS s -> 0
		`},
		{"a key holds one kind of thing", `
			HSET h a 1 -> 1
			RPUSH l a -> 1
			SADD s a -> 1
			SET t a -> OK
			GET h -> ! WRONGTYPE
			GET l -> ! WRONGTYPE
			GET s -> ! WRONGTYPE
			HGET l a -> ! WRONGTYPE
			HGET s a -> ! WRONGTYPE
			HGETALL t -> ! WRONGTYPE
			HSET t a 1 -> ! WRONGTYPE
			HLEN t -> ! WRONGTYPE
			LPUSH h a -> ! WRONGTYPE
			LPUSH t a -> ! WRONGTYPE
			LLEN s -> ! WRONGTYPE
			RPOP h -> ! WRONGTYPE
			SADD l a -> ! WRONGTYPE
			SMEMBERS h -> ! WRONGTYPE
			INCR h -> ! WRONGTYPE
			LMOVE l h LEFT LEFT -> ! WRONGTYPE
			LRANGE l 0 -1 -> [a]
			TYPE h -> hash
			TYPE l -> list
			TYPE nope -> none
			MGET h t -> [(nil) a]
			SET h over -> OK
			TYPE h -> string
		`},
		{"keys", `
			MSET k:1 a k:2 b other c -> OK
			EXISTS k:1 k:2 k:1 nope -> 3
			DEL k:1 k:1 nope -> 1
			UNLINK k:2 -> 1
			KEYS o* -> [other]
			KEYS ramet:* -> []
			DEL other -> 1
		`},
		{"time to live", `
			SET s a EX 100 -> OK
			TTL s -> 100
			PERSIST s -> 1
			PERSIST s -> 0
			TTL s -> -1
			TTL nope -> -2
			EXPIRE s 50 -> 1
			EXPIRE s 60 NX -> 0
			EXPIRE s 40 GT -> 0
			EXPIRE s 40 LT -> 1
			TTL s -> 40
			SET s b KEEPTTL -> OK
			TTL s -> 40
			SET s b -> OK
			TTL s -> -1
			EXPIRE nope 5 -> 0
			EXPIRE s -1 -> 1
			EXISTS s -> 0
			EXPIRE s 1 SOON -> 0
			RPUSH l a -> 1
			PEXPIRE l 100000 -> 1
			EXPIRE l 5 NX XX -> ! ERR NX and XX
		`},
		{"what a connection is asked", `
			PING -> PONG
			PING hello -> hello
			ECHO x -> x
			CLIENT SETNAME me -> OK
			CLIENT GETNAME -> me
			CLIENT NO-EVICT on -> OK
			CLIENT SETINFO LIB-NAME x -> OK
			CLIENT NOPE -> ! ERR unknown subcommand
			COMMAND DOCS -> []
			COMMAND GETKEYS MSET a 1 b 2 -> [a b]
			CONFIG GET maxmemory -> [maxmemory 0]
			CONFIG SET maxmemory 1 -> ! ERR CONFIG SET
			NOPE a b -> ! ERR unknown command 'NOPE', with args beginning with: 'a' 'b' 
			GET -> ! ERR wrong number of arguments for 'get' command
			SELECT x -> ! ERR
		`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			newRig(t).as(admin).script(tt.script)
		})
	}
}
