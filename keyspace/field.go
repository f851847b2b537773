package keyspace

import (
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/hide"
)

// This file is the table of who may write which field of the layout's hashes.

// StringField is the one field of a record that stands for a Redis string. The
// board has no strings; no record of the layout has a field of this name.
const StringField = "ramet:string"

// fields are a record's fields by who may write them.
type fields struct {
	// definition is what its maker writes, with the right maker.
	maker      domain.Verb
	definition []string
	// progress is what who works on it writes, with the right worker.
	worker   domain.Verb
	progress []string
	// ours nobody writes but the node; closed says that neither does anybody any
	// other: a definition is all there is.
	ours   []string
	closed bool
}

// FieldRight is the right that a change of fields needs; "" is none beside that of
// [Write]. It notes on the change whether a definition is among them.
//
// Errors: [domain.ErrForbidden] for fields that the node alone writes, [domain.ErrInvalid] for an environment
// with what stands for values that are not shown.
func (k *Kind) FieldRight(c *Change) (domain.Verb, error) {
	worker := false
	for _, f := range c.Set {
		if err := k.count(c, f.Name, &worker); err != nil {
			return "", err
		}
		if k.Secret(f.Name) != nil && hide.In(f.Value, f.Name == envVars) {
			return "", domain.Invalidf("%s: field %.64s: %s", c.Key, f.Name, hide.WhyNot)
		}
	}
	for _, name := range c.Unset {
		if err := k.count(c, name, &worker); err != nil {
			return "", err
		}
	}
	switch {
	case k.fields == nil:
		return "", nil
	case c.maker: // who may make one may also work on it
		return k.fields.maker, nil
	case worker:
		return k.fields.worker, nil
	}
	return "", nil
}

// count takes one field of a change into account.
func (k *Kind) count(c *Change, name string, worker *bool) error {
	f := k.fields
	switch {
	case slices.Contains(boardFields, name), f != nil && slices.Contains(f.ours, name),
		f != nil && f.closed && !slices.Contains(f.definition, name) && !slices.Contains(f.progress, name):
		return domain.Forbiddenf("%s: field %.64s is written by the node alone", c.Key, name)
	case f != nil && slices.Contains(f.progress, name):
		*worker = true
	default:
		c.maker = f != nil
	}
	return nil
}

// boardFields are kept by the board itself on whatever is leased.
var boardFields = []string{board.FieldAttempt, board.FieldOwner, board.FieldQueue, StringField}

var jobFields = fields{
	maker: domain.VerbCreate,
	definition: []string{"id", "caller_id", "context_id", "script", "script_type", "timeout", "retries", "retry", "env_vars", "secrets",
		"prerequisites", "dependends",
		"depends", "created_at", "priority", "not_before", "for_runner", "prerequisite_timeout", "trace_id", "affinity", "at", "artifacts", "params"},
	worker:   domain.VerbFinish,
	progress: []string{"status", "result", "error", "exit_code", "updated_at", "alive_until"},
	ours: []string{"reason", "attempt", "lease_owner", "lease_queue", "losses", "lost_attempt", "failures", "retried", "runner_id", "cancel", "waits", "unmet",
		"followers", "log_bytes", "log_most", "log_seen", "queued_ms", "started_ms", "finished_ms", "next_retry_ms", "remembered", "signals", "signal_sent",
		"signal_bytes", "signal_turns", "suspended", "parked", "flow_id", "step", "shard", "pack", "needs", "stepped", "flow_env",
		"origin", "message", "routine", "taken_by", "ended_by"},
}

var flowFields = fields{
	maker:      domain.VerbCreate,
	definition: []string{"id", "caller_id", "context_id", "jobs", "env_vars", "result", "created_at", "updated_at", "status", "on_error"},
	ours: []string{"reason", "error", "blueprint", "version", "hash", "trigger", "priority", "params", "paused", "cancel", "schedule", "backfill", "started_ms",
		"finished_ms",
		"after_ms", "duration", "retention", "stepped", "retried", "progress", "awaits", "stale_ends", "message"},
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
	maker:      domain.VerbPlace,
	definition: []string{"id", "pubkey", "address", "topic", "local", "created_at", "updated_at"},
	ours:       []string{"node", "serves", "labels", "off", "circles", "locked", "worker", "actor", "host", "version", "seen_ms"},
}

var taskFields = fields{
	maker:      domain.VerbCreate,
	definition: []string{"script", "client_rpc_id", "created_at", "reply_to_queue", "reply_queue_name", "reply_to", "caller_id"},
	worker:     domain.VerbFinish,
	progress:   []string{"status", "output", "error", "error_msg", "result", "updated_at", "updatedAt", "started_at", "finished_at"},
	ours:       []string{"losses", "circle"},
}
