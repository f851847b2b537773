package resp

import (
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file is the table of what may be done with which key: the right that
// each class of command needs, and the rule that holds beside it. Who has a
// right is decided in package identity alone.

// class is a kind of command, as rights see it.
type class uint8

// The classes.
const (
	reads   class = iota // HGET LRANGE EXISTS TTL ...
	writes               // HSET HDEL SET INCR SADD ...: field by field, for hashes of the layout
	pushes               // LPUSH RPUSH, and where LMOVE puts
	pops                 // LPOP BRPOP ..., and where LMOVE takes
	prunes               // LREM LTRIM
	deletes              // DEL UNLINK GETDEL
	expires              // EXPIRE PERSIST ...
	classes              // how many there are
)

// ofNoNoun is the group of keys with what belongs to all nouns: logs of jobs, the
// audit log, checkpoints, objects. No token that is narrowed to groups has it.
const ofNoNoun = ""

// right is what a class needs on a key: a verb, or the reason why nobody may.
type right struct {
	verb domain.Verb
	no   string
}

func may(v domain.Verb) right { return right{verb: v} }
func no(why string) right     { return right{no: why} }

// row is one kind of key.
type row struct {
	// prefix begins the keys; exact says that it is the whole key.
	prefix string
	exact  bool
	// group is the group of operations that the key belongs to, for tokens that
	// are narrowed to some.
	group  string
	rights [classes]right
	// own is the key that an actor may read by another right than others: ownRead.
	own     func(domain.ActorID) string
	ownRead right
	// fields say who may write which field; nil: the right of writes is for all.
	fields *fields
	// put is asked before fields are written, take before an item is popped,
	// drop before the key is deleted. Nil: nothing is asked.
	put  func(*call, *change) error
	take func(x *call, key, item string) (keep bool, err error)
	drop func(*call, *leaf) error
	// secret are fields whose values are hidden from who may not read
	// environment variables.
	secret map[string]func(string) string
}

// fields are a record's fields by who may write them.
type fields struct {
	// definition is what its maker writes, with the right maker.
	maker      domain.Verb
	definition []string
	// progress is what who works on it writes, with the right worker.
	worker   domain.Verb
	progress []string
	// ours nobody writes through this door; closed says that neither does
	// anybody any other: a definition is all there is.
	ours   []string
	closed bool
}

// Reasons.
const (
	isHash    = "it is a hash"
	isList    = "it is a list"
	oursAlone = "keys that begin with ramet: are written by the node alone"
	byGrant   = "a context's record is changed by `ramet context grant`, `revoke` and `update`"
	byActor   = "actors are made and changed by `ramet actor`"
	bySagas   = "what belongs to sagas is written by the node alone"
	bySender  = "the node itself moves messages there"
	byNode    = "database 0 is written by the node alone; see `ramet actor`, `ramet context` and `ramet duty`"
	keptLong  = "how long it is kept is the node's to decide: see retention in the config file"
)

// hashes is a row of hashes.
func hashes(r row, read, write, del right) row {
	r.rights = [classes]right{reads: read, writes: write, pushes: no(isHash), pops: no(isHash), prunes: no(isHash), deletes: del, expires: no(keptLong)}
	return r
}

// lists is a row of lists.
func lists(r row, read, push, pop, prune right) row {
	r.rights = [classes]right{reads: read, writes: no(isList), pushes: push, pops: pop, prunes: prune, deletes: prune, expires: prune}
	return r
}

// fixed is a row that may only be read.
func fixed(r row, read right, why string) row {
	r.rights = [classes]right{}
	for c := range r.rights {
		r.rights[c] = no(why)
	}
	r.rights[reads] = read
	return r
}

// contextRows are the keys of a context's database; the first that fits counts.
//
// Source: part 4 of the design; seed 000, "Permissions & security"; seed 001.
var contextRows = []row{
	hashes(row{prefix: "job:", group: "job", fields: &jobFields, put: putJob, drop: dropJob, secret: environment}, may(domain.VerbRead), right{},
		may(domain.VerbDelete)),
	hashes(row{prefix: "flow:", group: "flow", fields: &flowFields, put: putFlow, drop: dropFlow, secret: environment}, may(domain.VerbRead), right{},
		may(domain.VerbDelete)),
	hashes(row{prefix: "message:", group: "message", fields: &messageFields, put: putMessage, drop: dropMessage, secret: letter}, may(domain.VerbRead),
		right{}, may(domain.VerbDelete)),
	hashes(row{prefix: "runner:", group: "runner", fields: &runnerFields}, may(domain.VerbRead), right{}, may(domain.VerbDelete)),
	fixed(row{prefix: "context:", group: "context"}, may(domain.VerbRead), byGrant),
	fixed(row{prefix: "actor:", group: "actor"}, may(domain.VerbRead), byActor),
	lists(row{prefix: "queue:", group: "job", take: takeJob}, may(domain.VerbRead), may(domain.VerbCreate), may(domain.VerbPop), may(domain.VerbDelete)),
	lists(row{prefix: "msg_out", group: "message", exact: true}, may(domain.VerbRead), may(domain.VerbFinish), may(domain.VerbDelete), may(domain.VerbDelete)),
	lists(row{prefix: "msg_in", group: "message", exact: true}, may(domain.VerbRead), no(bySender), may(domain.VerbPop), may(domain.VerbDelete)),
	fixed(row{prefix: "msg_out_coordinator", group: "message", exact: true}, may(domain.VerbRead), bySender),
	lists(row{prefix: "rhai_tasks:", group: "circle", take: takeTask}, may(domain.VerbRead), may(domain.VerbCreate), may(domain.VerbPop), may(domain.VerbDelete)),
	hashes(row{prefix: "rhai_task_details:", group: "circle", fields: &taskFields, put: putTask, drop: dropTask}, may(domain.VerbRead), right{},
		may(domain.VerbDelete)),
	{prefix: "rhai_reply:", group: "circle", rights: [classes]right{reads: may(domain.VerbRead), writes: no(isList), pushes: may(domain.VerbFinish),
		pops:   may(domain.VerbPop),
		prunes: may(domain.VerbPop), deletes: may(domain.VerbPop), expires: may(domain.VerbFinish)}},
	fixed(row{prefix: "ramet:inbox:", group: "inbox", own: layout.Inbox, ownRead: may(domain.VerbRead)}, may(domain.VerbReadEnv), oursAlone),
	fixed(row{prefix: "ramet:", group: ofNoNoun}, may(domain.VerbReadEnv), oursAlone),
	fixed(row{prefix: "saga:", group: "saga"}, may(domain.VerbRead), bySagas),
	fixed(row{prefix: "checkpoint:", group: "saga"}, may(domain.VerbRead), bySagas),
	fixed(row{prefix: "outbox:", group: "saga"}, may(domain.VerbRead), bySagas),
	fixed(row{prefix: "outbox_index:", group: "saga"}, may(domain.VerbRead), bySagas),
	fixed(row{prefix: "schedule:", group: "saga"}, may(domain.VerbRead), bySagas),
	fixed(row{prefix: "dedupe:", group: "saga"}, may(domain.VerbRead), bySagas),
	fixed(row{prefix: "deadletter:", group: "deadletter"}, may(domain.VerbRead), bySagas),
	{prefix: "", group: "key", rights: [classes]right{reads: may(domain.VerbRead), writes: may(domain.VerbWrite), pushes: may(domain.VerbWrite),
		pops:   may(domain.VerbWrite),
		prunes: may(domain.VerbWrite), deletes: may(domain.VerbWrite), expires: may(domain.VerbWrite)}},
}

// nodeRows are those of database 0.
var nodeRows = []row{
	fixed(row{prefix: "actor:", group: "actor", own: layout.Actor, ownRead: may(domain.VerbKnow)}, may(domain.VerbInspect), byActor),
	fixed(row{prefix: "", group: "node"}, may(domain.VerbInspect), byNode),
}

// right is what a class needs on a key of the row, for an actor.
func (r *row) right(cl class, key string, who domain.ActorID) right {
	if cl == reads && r.own != nil && r.own(who) == key {
		return r.ownRead
	}
	return r.rights[cl]
}

func (r *row) fits(key string) bool {
	if r.exact {
		return key == r.prefix
	}
	return strings.HasPrefix(key, r.prefix)
}

// byFirst has the rows that keys with a first byte may fit, in order.
var byFirst = [2][256][]*row{byFirstOf(nodeRows), byFirstOf(contextRows)}

func byFirstOf(rows []row) (by [256][]*row) {
	for c := range by {
		for i := range rows {
			if p := rows[i].prefix; p == "" || p[0] == byte(c) {
				by[c] = append(by[c], &rows[i])
			}
		}
	}
	return by
}

// rowOf is the row of a key, which is not empty.
func rowOf(space board.Space, key string) *row {
	for _, r := range byFirst[min(space, 1)][key[0]] {
		if r.fits(key) {
			return r
		}
	}
	panic("BUG: the last row fits every key")
}

// boardFields are kept by the board itself on whatever is leased.
var boardFields = []string{board.FieldAttempt, board.FieldOwner, board.FieldQueue, stringField}

var jobFields = fields{
	maker: domain.VerbCreate,
	definition: []string{"id", "caller_id", "context_id", "script", "script_type", "timeout", "retries", "retry", "env_vars", "prerequisites", "dependends",
		"depends", "created_at", "priority", "not_before", "for_runner", "prerequisite_timeout", "trace_id", "affinity", "at", "params"},
	worker:   domain.VerbFinish,
	progress: []string{"status", "result", "error", "exit_code", "updated_at", "alive_until"},
	ours: []string{"reason", "attempt", "lease_owner", "lease_queue", "losses", "failures", "retried", "runner_id", "cancel", "waits", "unmet", "followers",
		"log_bytes", "queued_ms", "started_ms", "finished_ms", "next_retry_ms", "parked", "flow_id", "step", "shard", "pack", "needs", "stepped", "flow_env",
		"origin", "message", "routine", "taken_by", "ended_by"},
}

var flowFields = fields{
	maker:      domain.VerbCreate,
	definition: []string{"id", "caller_id", "context_id", "jobs", "env_vars", "result", "created_at", "updated_at", "status", "on_error"},
	ours: []string{"reason", "error", "blueprint", "version", "hash", "trigger", "priority", "params", "paused", "cancel", "schedule", "started_ms", "finished_ms",
		"after_ms", "duration", "retention", "stepped", "retried", "progress", "stale_ends", "message"},
}

// Its definition is everything that is signed, and the signature: who has its
// own key may sign before it writes.
var messageFields = fields{
	maker: domain.VerbFinish,
	definition: []string{"id", "caller_id", "context_id", "message", "message_type", "message_format_type", "timeout", "timeout_ack", "timeout_result", "job",
		"logs", "created_at", "updated_at", "status", "dst_context", "dst_actor", "dst_pubkey", "dst_node", "topic", "reply_to", "reply_digest", "flow",
		"src_context", "pubkey",
		"expires_at", "alg", "signature"},
	ours:   []string{"error", "stage", "node", "origin", "answer", "receipt", "pushes", "sent_ms", "acked_ms", "ended_ms"},
	closed: true, // what is noted on it on its way is the supervisor's
}

var runnerFields = fields{
	maker:      domain.VerbCreate,
	definition: []string{"id", "pubkey", "address", "topic", "local", "created_at", "updated_at"},
	ours:       []string{"node", "serves", "labels", "off", "circles", "locked", "seen_ms"},
}

var taskFields = fields{
	maker:      domain.VerbCreate,
	definition: []string{"script", "client_rpc_id", "created_at", "reply_to_queue", "reply_queue_name", "reply_to", "caller_id"},
	worker:     domain.VerbFinish,
	progress:   []string{"status", "output", "error", "error_msg", "result", "updated_at", "updatedAt", "started_at", "finished_at"},
	ours:       []string{"losses", "circle"},
}
