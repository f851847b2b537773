package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// rightsTable says for each key and class of commands who may at the least: a
// reader, an executor, an admin, or nobody (-).
const rightsTable = `
key                      read write push pop prune delete expire
job:10:5                 R    A     -    -   -     A      -
flow:5                   R    A     -    -   -     A      -
message:10:5             R    E     -    -   -     A      -
message:20:5             R    E     -    -   -     A      -
runner:5                 R    A     -    -   -     A      -
context:7                R    -     -    -   -     -      -
context:8                R    -     -    -   -     -      -
actor:10                 R    -     -    -   -     -      -
queue:v                  R    -     A    E   A     A      A
queue:v:p3               R    -     A    E   A     A      A
msg_out                  R    -     E    A   A     A      A
msg_in                   R    -     -    E   A     A      A
msg_out_coordinator      R    -     -    -   -     -      -
rhai_tasks:friends       R    -     A    E   A     A      A
rhai_task_details:x      R    A     -    -   -     A      -
rhai_reply:x             R    -     E    E   E     E      E
ramet:finished           A    -     -    -   -     -      -
ramet:limits             A    -     -    -   -     -      -
ramet:flow:5             A    -     -    -   -     -      -
ramet:string             A    -     -    -   -     -      -
ramet:inbox:50           A    -     -    -   -     -      -
saga:7:order:1           R    -     -    -   -     -      -
checkpoint:7:order       R    -     -    -   -     -      -
outbox:7:effect:1        R    -     -    -   -     -      -
outbox_index:7           R    -     -    -   -     -      -
schedule:7:order:1:5     R    -     -    -   -     -      -
dedupe:7:order:1         R    -     -    -   -     -      -
deadletter:7:effect:1    R    -     -    -   -     -      -
anything                 R    E     E    E   E     E      E
jobs                     R    E     E    E   E     E      E
msg_in_my_own            R    E     E    E   E     E      E
`

// roles by letter, weakest first.
var roles = []struct {
	letter string
	actor  domain.ActorID
}{{"R", reader}, {"E", executor}, {"A", admin}}

// hashKeys hold hashes, the others lists.
var hashKeys = []string{"job:", "flow:", "message:", "runner:", "context:", "actor:", "rhai_task_details:", "ramet:limits", "ramet:flow:",
	"ramet:string", "saga:"}

func isHash(key string) bool {
	for _, p := range hashKeys {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return false
}

// samples are commands of a class on a key.
func samples(class, key string) [][]string {
	switch {
	case class == "read" && isHash(key):
		return [][]string{{"HGETALL", key}, {"HGET", key, "x"}, {"TYPE", key}, {"EXISTS", key}, {"TTL", key}, {"HKEYS", key}, {"HSCAN", key, "0"}, {"WATCH", key}}
	case class == "read":
		return [][]string{{"LRANGE", key, "0", "-1"}, {"LLEN", key}, {"LINDEX", key, "0"}, {"TYPE", key}}
	case class == "write" && strings.HasPrefix(key, "message:"):
		return [][]string{{"HSET", key, "message", "1"}, {"HSETNX", key, "message", "1"}, {"HINCRBY", key, "timeout", "1"}, {"HDEL", key, "message"}}
	case class == "write" && isHash(key):
		return [][]string{{"HSET", key, "note", "1"}, {"HSETNX", key, "note", "1"}, {"HINCRBY", key, "count", "1"}, {"HDEL", key, "note"}}
	case class == "write":
		return [][]string{{"SADD", key, "a"}, {"SREM", key, "a"}}
	case class == "push":
		return [][]string{{"LPUSH", key, "a"}, {"RPUSH", key, "a"}, {"LPUSHX", key, "a"}, {"LMOVE", "free", key, "LEFT", "LEFT"}, {"RPOPLPUSH", "free", key}}
	case class == "pop":
		return [][]string{{"LPOP", key}, {"RPOP", key, "1"}, {"BRPOP", key, "0.001"}, {"LMOVE", key, "free", "LEFT", "LEFT"}, {"RPOPLPUSH", key, "free"}}
	case class == "prune":
		return [][]string{{"LREM", key, "1", "a"}, {"LTRIM", key, "0", "0"}}
	case class == "delete":
		return [][]string{{"DEL", key}, {"UNLINK", key}}
	case class == "expire":
		return [][]string{{"EXPIRE", key, "10"}, {"PERSIST", key}, {"PEXPIREAT", key, "33333333333333"}}
	}
	panic("class " + class)
}

// place puts something on the board under a key, past the door.
func (r *rig) place(key string) {
	r.Helper()
	b := board.Batch{Space: 7}
	b.Delete(key).Delete("free").PushLeft("free", "a")
	switch {
	case strings.HasPrefix(key, "context:7"):
		return // the rights hang on it
	case isHash(key):
		b.Set(key, board.Field{Name: "note", Value: "1"})
	default:
		b.PushLeft(key, "a")
	}
	if err := r.board.Commit(r.Context(), b); err != nil {
		r.Fatal(err)
	}
}

func TestRights(t *testing.T) {
	r := newRig(t)
	lines := strings.Split(strings.TrimSpace(rightsTable), "\n")
	classes := strings.Fields(lines[0])[1:]
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		key := cells[0]
		for i, least := range cells[1:] {
			for n, role := range roles {
				may := least != "-" && strings.Contains("REA"[:n+1], least)
				if classes[i] == "write" && strings.HasPrefix(key, "message:") && may {
					may = key == fmt.Sprintf("message:%d:5", role.actor) // one's own name only
				}
				c := r.as(role.actor)
				for _, cmd := range samples(classes[i], key) {
					r.place(key)
					got := c.do(cmd...)
					e, is := got.(reply)
					denied := is && strings.HasPrefix(string(e), "NOPERM")
					wrongKind := is && strings.HasPrefix(string(e), "WRONGTYPE")
					if denied == may || is && !denied && !wrongKind {
						t.Errorf("actor %d, %s: got %s, want allowed: %v", role.actor, strings.Join(cmd, " "), show(got), may)
					}
				}
				c.c.Close()
			}
		}
	}
}

func TestAStrangerIsNotToldWhatThereIs(t *testing.T) {
	r := newRig(t)
	c := r.connect()
	c.want("OK", "AUTH", r.token(stranger))
	there, none := c.do("SELECT", "7"), c.do("SELECT", "8")
	a, b := string(there.(reply)), string(none.(reply))
	if !strings.HasPrefix(a, "NOPERM") || a != strings.ReplaceAll(b, "8", "7") {
		t.Errorf("got %q and %q, want the same of a context that is and one that is not", a, b)
	}
	for _, cmd := range []string{"GET x", "HGETALL context:7", "KEYS *", "LPUSH queue:v a", "SCAN 0", "DBSIZE", "PUBLISH a b", "SUBSCRIBE a",
		"HGETALL actor:1", "SMEMBERS contexts", "WATCH x"} {
		c.refused("NOPERM this is database 0, the node's own; SELECT the number of your context first", strings.Fields(cmd)...)
	}
	// One's own record is all.
	if got := show(c.do("HGET", "actor:40", "id")); got != "40" {
		t.Errorf("got %s, want its own id", got)
	}
	if r.access.Denials() == 0 {
		t.Error("no denial was counted")
	}
}

func TestTheOperatorReadsTheNodesOwnDatabase(t *testing.T) {
	r := newRig(t)
	c := r.connect()
	c.want("OK", "AUTH", "1", r.token(domain.Operator))
	c.want("[1 7]", "SMEMBERS", "contexts")
	c.want("10", "HGET", "actor:10", "id")
	for _, cmd := range []string{"HSET actor:10 pubkey x", "SADD contexts 9", "DEL actor:10", "SET x y", "LPUSH x y", "EXPIRE contexts 1", "DEL contexts"} {
		key := strings.Fields(cmd)[1]
		c.refused("NOPERM "+key+": ", strings.Fields(cmd)...)
	}
	// It is no admin of the context that others made.
	c.refused("NOPERM", "SELECT", "7")
	c.want("OK", "SELECT", "1")
	c.want("1", "LPUSH", "queue:v", "job:1:1")
}

func TestAnInboxIsReadByItsActor(t *testing.T) {
	r := newRig(t)
	r.place("ramet:inbox:30")
	r.as(reader).want("[a]", "LRANGE", "ramet:inbox:30", "0", "-1")
	r.as(reader).want("[ramet:inbox:30]", "KEYS", "ramet:*")
	r.as(executor).refused("NOPERM", "LRANGE", "ramet:inbox:30", "0", "-1")
	r.as(reader).refused("NOPERM", "LPOP", "ramet:inbox:30")
}

func TestListsOfKeysHideWhatMayNotBeRead(t *testing.T) {
	r := newRig(t)
	r.place("ramet:finished")
	r.place("anything")
	r.as(reader).want("[anything context:7 free]", "KEYS", "*")
	r.as(reader).want("[0 []]", "SCAN", "0", "MATCH", "ramet:*", "COUNT", "100")
	r.as(reader).want("3", "DBSIZE")
	r.as(admin).want("[ramet:finished]", "KEYS", "ramet:*")
}

// fieldsTable says who may write which fields of the layout's hashes: of a
// record that is there.
const fieldsTable = `
job:10:5 A id=5 caller_id=10 context_id=7 script=x script_type=v timeout=1 retries=1 env_vars={} prerequisites=[] dependends=[] depends=[]
job:10:5 A created_at=1 priority=1 not_before=1 for_runner=1 prerequisite_timeout=1 trace_id=x affinity={} params={} at=7 mine=1
job:10:5 E status=started result={} error=x exit_code=1 updated_at=1
job:10:5 - reason=x attempt=1 lease_owner=x lease_queue=x losses=1 failures=1 retried=1 runner_id=1 cancel=1 waits=1 unmet=[] followers=1
job:10:5 - log_bytes=1 queued_ms=1 started_ms=1 finished_ms=1 next_retry_ms=1 parked=x flow_id=1 step=x shard=x pack=x needs={} stepped=true
job:10:5 - flow_env=true origin=x message=x routine=x taken_by=1 ramet:string=x
flow:5 A id=5 caller_id=10 context_id=7 jobs=[] env_vars={} result={} created_at=1 updated_at=1 status=dispatched on_error=continue mine=1
flow:5 - reason=x error=x blueprint=x version=1 hash=x trigger=x priority=1 params={} paused=true cancel=1 schedule=x started_ms=1
flow:5 - finished_ms=1 after_ms=1 duration=1 retention=1 stepped=true retried=1 progress=1 stale_ends=1 message=x lease_owner=x
message:10:5 A id=5 caller_id=10 context_id=7 message=x message_type=chat message_format_type=md timeout=1 timeout_ack=1 timeout_result=1
message:10:5 A job=[] logs=[] created_at=1 updated_at=1 status=dispatched dst_context=1 dst_actor=1 dst_pubkey=x dst_node=x topic=x
message:10:5 A reply_to=x flow={} src_context=1 pubkey=x expires_at=1 alg=x signature=x
message:20:5 E message=x status=dispatched signature=x
message:10:5 - mine=1 made=x taken=1 open=1 for=1 told=1 error=x stage=x node=x origin=x answer=x receipt=x pushes=1 sent_ms=1 acked_ms=1
message:10:5 - ended_ms=1 lease_owner=x
runner:5 A id=5 pubkey=x address=x topic=x local=true created_at=1 updated_at=1
runner:5 - node=x serves=[] labels={} off=[] circles=[] locked=[] worker=x actor=1 host=x version=x seen_ms=1 attempt=1
rhai_task_details:x A script=x client_rpc_id=x reply_to_queue=x created_at=1
rhai_task_details:x E status=processing output=x error=x updated_at=1
rhai_task_details:x - lease_owner=x lease_queue=x attempt=1 losses=1 circle=x
anything E note=x status=x mine=1
anything - lease_owner=x lease_queue=x attempt=1 ramet:string=x
`

func TestFieldRights(t *testing.T) {
	r := newRig(t)
	for line := range strings.Lines(strings.TrimSpace(fieldsTable)) {
		cells := strings.Fields(line)
		key, least := cells[0], cells[1]
		for n, role := range roles {
			may := least != "-" && strings.Contains("REA"[:n+1], least)
			if strings.HasPrefix(key, "message:") {
				may = may && strings.HasPrefix(key, fmt.Sprintf("message:%d:", role.actor))
			}
			c := r.as(role.actor)
			for _, field := range cells[2:] {
				name, value, _ := strings.Cut(field, "=")
				for _, cmd := range [][]string{{"HSET", key, name, value}, {"HSETNX", key, name, value}, {"HDEL", key, name}} {
					r.placeHash(key)
					got := c.do(cmd...)
					if e, is := got.(reply); is && strings.HasPrefix(string(e), "NOPERM") == may || is && !strings.HasPrefix(string(e), "NOPERM") || !is && !may {
						t.Errorf("actor %d, %s: got %s, want allowed: %v", role.actor, strings.Join(cmd, " "), show(got), may)
					}
				}
			}
			c.c.Close()
		}
	}
}

// placeHash writes a record anew; a job is one that the executor has taken from its queue.
func (r *rig) placeHash(key string) {
	r.Helper()
	b := board.Batch{Space: 7}
	b.Delete(key).Set(key, board.Field{Name: "note", Value: "1"})
	if strings.HasPrefix(key, "job:") {
		b.Set(key, board.Field{Name: "taken_by", Value: "20"})
	}
	if err := r.board.Commit(r.Context(), b); err != nil {
		r.Fatal(err)
	}
}
