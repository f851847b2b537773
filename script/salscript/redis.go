package salscript

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// redisTime bounds one command.
const redisTime = 10 * time.Second

// redisConn is the script's one connection: to REDIS_URL, else to REDIS_HOST,
// REDIS_PORT, REDIS_DB with REDIS_USERNAME and REDIS_PASSWORD of its environment.
type redisConn struct{ client rueidis.Client }

func (c *redisConn) reset() {
	if c.client != nil {
		c.client.Close()
		c.client = nil
	}
}

func (c *redisConn) open() error {
	if c.client != nil {
		return nil
	}
	option, err := redisOption()
	if err != nil {
		return err
	}
	option.DisableCache, option.ForceSingleClient = true, true
	option.Dialer.Timeout = redisTime
	client, err := rueidis.NewClient(option)
	if err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	c.client = client
	return nil
}

func redisOption() (rueidis.ClientOption, error) {
	if address := os.Getenv("REDIS_URL"); address != "" {
		option, err := rueidis.ParseURL(address)
		if err != nil { // which has the address in it, and the password in that
			err = errors.New("redis: REDIS_URL: want redis://user:password@host:port/db")
		}
		return option, err
	}
	db, err := strconv.Atoi(cmp.Or(os.Getenv("REDIS_DB"), "0"))
	if err != nil {
		return rueidis.ClientOption{}, errors.New("redis: REDIS_DB: want a number")
	}
	return rueidis.ClientOption{
		InitAddress: []string{net.JoinHostPort(cmp.Or(os.Getenv("REDIS_HOST"), "127.0.0.1"), cmp.Or(os.Getenv("REDIS_PORT"), "6379"))},
		Username:    os.Getenv("REDIS_USERNAME"), Password: os.Getenv("REDIS_PASSWORD"), SelectDB: db,
	}, nil
}

// redisDo runs one command; nothing there is an empty result.
func (h *host) redisDo(words ...string) (rueidis.RedisResult, error) {
	if err := h.redis.open(); err != nil {
		return rueidis.RedisResult{}, err
	}
	ctx, cancel := context.WithTimeout(h.ctx, redisTime)
	defer cancel()
	result := h.redis.client.Do(ctx, h.redis.client.B().Arbitrary(words...).Build())
	if err := result.Error(); err != nil && !rueidis.IsRedisNil(err) {
		return result, fmt.Errorf("redis: %w", err)
	}
	return result, nil
}

func (h *host) redisFunctions() []function {
	done := func(words ...string) (bool, error) {
		_, err := h.redisDo(words...)
		return err == nil, err
	}
	text := func(words ...string) (string, error) {
		result, err := h.redisDo(words...)
		if err != nil {
			return "", err
		}
		s, err := result.ToString()
		if rueidis.IsRedisNil(err) {
			return "", nil
		}
		return s, err
	}
	number := func(words ...string) (int64, error) {
		result, err := h.redisDo(words...)
		if err != nil {
			return 0, err
		}
		return result.AsInt64()
	}
	removed := func(words ...string) (bool, error) {
		n, err := number(words...)
		return n > 0, err
	}
	return []function{
		{"redis_ping", func() (string, error) { return text("PING") }},
		{"redis_set", func(key, v string) (bool, error) { return done("SET", key, v) }},
		{"redis_get", func(key string) (string, error) { return text("GET", key) }},
		{"redis_del", func(key string) (bool, error) { return removed("DEL", key) }},
		{"redis_hset", func(key, field, v string) (bool, error) { return done("HSET", key, field, v) }},
		{"redis_hget", func(key, field string) (string, error) { return text("HGET", key, field) }},
		{"redis_hgetall", func(key string) (map[string]string, error) {
			result, err := h.redisDo("HGETALL", key)
			if err != nil {
				return nil, err
			}
			return result.AsStrMap()
		}},
		{"redis_hdel", func(key, field string) (bool, error) { return removed("HDEL", key, field) }},
		{"redis_rpush", func(key, v string) (bool, error) { return done("RPUSH", key, v) }},
		{"redis_lpush", func(key, v string) (bool, error) { return done("LPUSH", key, v) }},
		{"redis_llen", func(key string) (int64, error) { return number("LLEN", key) }},
		{"redis_lrange", func(key string, from, to int64) ([]string, error) {
			result, err := h.redisDo("LRANGE", key, strconv.FormatInt(from, 10), strconv.FormatInt(to, 10))
			if err != nil {
				return nil, err
			}
			return result.AsStrSlice()
		}},
		{"redis_reset", func() (bool, error) {
			h.redis.reset()
			return true, h.redis.open()
		}},
	}
}
