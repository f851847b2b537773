package pebbleboard

// common are field names that take one byte on disk. Their places are on
// people's disks: new names go to the end, at most 255 in all.
var common = [...]string{
	"attempt", "lease_owner", "lease_queue", "cancel", "status", "reason",
	"id", "caller_id", "context_id", "script", "script_type", "timeout", "retries", "env", "result", "prerequisites", "dependends",
	"created_at", "updated_at", "priority", "not_before", "runner_id", "error", "exit_code", "flow_id", "step", "shard", "pack",
	"queued_ms", "started_ms", "finished_ms", "next_retry_ms", "losses", "trace_id", "origin",
	"name", "type", "format", "kind", "version", "params", "waits", "state", "data", "params_json", "logs", "message", "jobs", "job_ids",
	"timeout_ack", "timeout_result", "dst_context", "dst_actor", "dst_node", "topic", "reply_to", "src_context", "signature", "alg", "expires_at",
	"input", "output", "stdout", "stderr", "value", "count", "done", "total", "failed", "weight", "max", "hash", "owner", "pubkey", "address",
	"reply_to_queue", "client_rpc_id", "started_at", "finished_at", "completed_at", "node", "labels", "interval", "checkpoint", "blueprint", "trigger",
	"env_vars", "prerequisite_timeout", "for_runner", "failures", "followers", "depends", "met_ms", "unmet", "log_bytes", "serves", "seen_ms",
	"admins", "readers", "executors", "executors_may_submit", "strings", "local", "message_type", "message_format_type", "max_running",
}

var (
	names [256]string // by code
	codes [1024]uint8 // by slot
)

// slot hashes a name by its length and three of its bytes: names of records
// are looked up for every field written, and a map would take longer than all
// the rest of the encoding.
func slot(name string) uint {
	n := uint(len(name))
	if n == 0 {
		return 0
	}
	return (n*97 + uint(name[0])*31 + uint(name[n/2])*7 + uint(name[n-1])*151) % uint(len(codes))
}

func init() {
	for i, name := range common {
		code := uint8(i + 1)
		names[code] = name
		if s := slot(name); codes[s] == 0 {
			codes[s] = code // a name whose slot is taken is only longer on disk
		}
	}
}

// nameCode returns the code of a common name, or 0.
func nameCode(name string) byte {
	if code := codes[slot(name)]; code != 0 && names[code] == name {
		return code
	}
	return 0
}
