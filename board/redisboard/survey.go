package redisboard

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// facts are what is known about the server.
type facts struct {
	durability board.Durability
	notes      []string
	evicts     string // what the server throws away when its memory is full; "": nothing
	config     bool   // CONFIG is allowed
	events     bool   // keyspace events of lists come
}

// Durability implements [board.Board]: what the server's settings said when
// the connection was made.
func (b *Board) Durability() board.Durability { return b.facts.Load().durability }

// Settings are sentences for who runs the server: what its settings, as they were when the connection
// was made, may lose or slow down. None: nothing to say. What it evicts [Board.Evictions] says.
func (b *Board) Settings(context.Context) ([]string, error) { return b.facts.Load().notes, nil }

// survey looks at version, role and settings. It runs again after each
// reconnection: the server may be another one, or has lost settings.
func (b *Board) survey(ctx context.Context) error {
	info, err := b.client.Do(ctx, b.client.B().Info().Build()).ToString()
	if err != nil {
		return b.translate(err)
	}
	about := parseInfo(info)
	if err := b.checkServer(about); err != nil {
		return err
	}
	f := &facts{}
	cfg, err := b.client.Do(ctx, b.client.B().ConfigGet().Parameter("databases", "appendonly", "appendfsync", "save",
		"no-appendfsync-on-rewrite").Build()).AsStrMap()
	if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
		return b.translate(err)
	}
	f.config = err == nil
	if !f.config {
		f.notes = append(f.notes, "CONFIG is not allowed: set notify-keyspace-events to at least \"El\" by hand, or pushes by foreign programs are seen "+
			"up to some seconds late")
	}
	f.judge(about, cfg)
	if err := b.recognise(ctx, f.durability); err != nil {
		return err
	}
	if err := b.count(ctx, cfg); err != nil {
		return err
	}
	b.askEvents(ctx, f)
	b.facts.Store(f)
	return nil
}

// recognise has it looked at whether the server is the process that it was, as
// each call does that brings it a script: see [Board.load].
func (b *Board) recognise(ctx context.Context, survives board.Durability) error {
	return b.translate(b.load(ctx, readScript, b.args("", "len", "0"), survives).Error())
}

func parseInfo(info string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			out[name] = value
		}
	}
	return out
}

func (b *Board) checkServer(about map[string]string) error {
	version, isValkey := about["valkey_version"]
	if !isValkey {
		version = about["redis_version"]
	}
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < 7 {
		return domain.Invalidf("redis at %s is version %s, want 7 or later", b.addr, version)
	}
	if about["cluster_enabled"] == "1" {
		return domain.Invalidf("redis at %s is a cluster: a board needs one primary", b.addr)
	}
	if about["role"] == "slave" {
		return domain.Unavailablef("redis at %s is a read-only replica of %s: connect to the primary", b.addr, about["master_host"])
	}
	return nil
}

// judge says what an answered write survives.
func (f *facts) judge(about, cfg map[string]string) {
	fsync := cfg["appendfsync"]
	switch {
	case about["aof_enabled"] != "1":
		f.durability = board.DurableMemory
		if cfg["save"] != "" {
			f.note("appendonly is no: a restart of redis loses everything since the last snapshot (save %s)", cfg["save"])
		} else {
			f.note("appendonly is no: a restart of redis loses everything; set appendonly yes")
		}
	case fsync == "always":
		f.durability = board.DurableDisk
		if cfg["no-appendfsync-on-rewrite"] == "yes" {
			f.durability = board.DurableProcess
			f.note("no-appendfsync-on-rewrite is yes: a power cut during a rewrite loses what was answered meanwhile")
		}
	default:
		f.durability = board.DurableProcess
		f.note("appendfsync is %s: a power cut loses about the last second of answered work, more where the disk is slow; set appendfsync always",
			orUnknown(fsync))
	}
	f.evicts = evicts(about)
}

// evicts says what a server throws away when its memory is full: "" where nothing.
// INFO says it also where CONFIG is not allowed. Where there is no limit yet
// (maxmemory 0) one may be set at any time, so the policy alone counts.
func evicts(about map[string]string) string {
	switch policy := about["maxmemory_policy"]; {
	case policy == "" || policy == "noeviction":
		return ""
	case strings.HasPrefix(policy, "volatile-"):
		return "maxmemory-policy is " + policy + ": redis throws away the marks that keep things from being done twice, and what has ended, when its memory is full"
	default:
		return "maxmemory-policy is " + policy + ": redis throws away unfinished work when its memory is full"
	}
}

// mayStay refuses a server that throws keys away, unless [Config.MayLose] says that
// they may be lost.
//
// Errors: [domain.ErrInvalid].
func (b *Board) mayStay() error {
	if evicts := b.facts.Load().evicts; evicts != "" && !b.mayLose {
		return domain.Invalidf("redis at %s: %s. Set it to noeviction (in redis.conf, or `redis-cli CONFIG SET maxmemory-policy noeviction`), "+
			"or say that work may be lost: --may-lose, or may_lose in the config file", b.addr, evicts)
	}
	return nil
}

// Evictions are sentences about what the server has thrown away, or would, as it is
// now. None: nothing.
//
// Errors: [domain.ErrUnavailable].
func (b *Board) Evictions(ctx context.Context) (texts []string, err error) {
	info, err := b.client.Do(ctx, b.client.B().Info().Build()).ToString()
	if err != nil {
		return nil, b.translate(err)
	}
	about := parseInfo(info)
	if n := about["evicted_keys"]; n != "" && n != "0" {
		texts = append(texts, "redis has thrown away "+n+" keys since it was started, of Ramet or of others, for its memory was full: "+
			"work may be lost, and be done twice; `ramet audit` names what it misses. `redis-cli CONFIG RESETSTAT` forgets the number")
	}
	if text := evicts(about); text != "" {
		texts = append(texts, text+"; set maxmemory-policy noeviction")
	}
	return texts, nil
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func (f *facts) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

// count finds out how many databases there are.
func (b *Board) count(ctx context.Context, cfg map[string]string) error {
	if n, err := strconv.ParseInt(cfg["databases"], 10, 64); err == nil {
		b.databases.Store(n)
		return nil
	}
	if b.tenancy == TenancyPrefix {
		b.databases.Store(1)
		return nil
	}
	m, _, err := b.run(ctx, readScript, "databases", "0", "65536")
	if err != nil {
		return err
	}
	n, err := m.AsInt64()
	b.databases.Store(n)
	return b.translate(err)
}

// checkContexts refuses a server that cannot hold the contexts on it.
//
// Errors: [domain.ErrInvalid].
func (b *Board) checkContexts(ctx context.Context) error {
	made, err := b.client.Do(ctx, b.client.B().Hget().Key("ramet:board").Field("tenancy").Build()).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		err = b.client.Do(ctx, b.client.B().Hset().Key("ramet:board").FieldValue().FieldValue("tenancy", string(b.tenancy)).Build()).Error()
		if err != nil {
			return b.translate(err)
		}
	case err != nil:
		return b.translate(err)
	case made != string(b.tenancy):
		return domain.Invalidf("the board at redis %s was made with tenancy=%s, not %s: open it so, or move its keys and set field tenancy of ramet:board",
			b.addr, made, b.tenancy)
	}
	if b.tenancy == TenancyPrefix {
		return nil
	}
	contexts, err := b.client.Do(ctx, b.client.B().Smembers().Key(contexts).Build()).AsStrSlice()
	if err != nil {
		return b.translate(err)
	}
	top := board.Space(0)
	for _, id := range contexts {
		if n, err := strconv.ParseUint(id, 10, 32); err == nil {
			top = max(top, board.Space(n))
		}
	}
	return b.checkSpace(top)
}

// listEvents are the keyspace events by which a foreign push is seen;
// keyEvents those by which Watch sees every foreign change.
const (
	listEvents = "El"
	keyEvents  = "Kghlsx"
)

// askEvents adds what pushes need to the server's notify-keyspace-events.
func (b *Board) askEvents(ctx context.Context, f *facts) {
	f.events = true
	if !f.config {
		return
	}
	want := listEvents
	if b.watches.any() {
		want += keyEvents
	}
	if err := b.addEvents(ctx, want); err != nil {
		f.events = false
		f.config = false
		f.note("notify-keyspace-events cannot be set (%v): set it to at least %q, or pushes by foreign programs are seen up to some seconds late", err, listEvents)
	}
}

// addEvents adds flags to the server's notify-keyspace-events. One at a time: a
// Watch and the survey of a new connection would undo each other.
func (b *Board) addEvents(ctx context.Context, want string) error {
	if b.leave {
		return nil
	}
	b.events.Lock()
	defer b.events.Unlock()
	cfg, err := b.client.Do(ctx, b.client.B().ConfigGet().Parameter("notify-keyspace-events").Build()).AsStrMap()
	if err != nil {
		return err
	}
	have := cfg["notify-keyspace-events"]
	flags := have
	all := strings.ReplaceAll(have, "A", "g$lshzxetd")
	for _, f := range want {
		if !strings.ContainsRune(all, f) {
			flags += string(f)
			all += string(f)
		}
	}
	if flags == have {
		return nil
	}
	return b.client.Do(ctx, b.client.B().ConfigSet().ParameterValue().ParameterValue("notify-keyspace-events", flags).Build()).Error()
}

// watchEvents makes the server tell about every change of a key, if it may.
// Otherwise the scripts' own messages must do.
func (b *Board) watchEvents(ctx context.Context) (bool, error) {
	if !b.facts.Load().config || b.leave {
		return false, nil
	}
	return true, b.translate(b.addEvents(ctx, keyEvents))
}
