package layout

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/queue"
)

// tabled are the records that are written by a table, as docs/redis-layout.md names
// them in its first column: all fields of each, and its payload.
var tabled = map[string]struct {
	key             string
	fields, payload []string
}{
	"actor":     {"actor:", namesOf(actorTable), actorTable.payload()},
	"context":   {"context:", namesOf(tenantTable), tenantTable.payload()},
	"runner":    {"runner:", namesOf(runnerTable), runnerTable.payload()},
	"node":      {"ramet:node:", namesOf(nodeTable), nodeTable.payload()},
	"object":    {"ramet:object:", namesOf(objectTable), objectTable.payload()},
	"ban":       {"ramet:ban:", namesOf(banTable), banTable.payload()},
	"flow":      {"flow:", namesOf(flowTable), flowTable.payload()},
	"job":       {"job:", namesOf(jobTable), jobTable.payload()},
	"task":      {queue.TaskPrefix, namesOf(taskTable), taskTable.payload()},
	"saga":      {"saga:", namesOf(sagaTable), sagaTable.payload()},
	"schedule":  {"ramet:schedule:", namesOf(scheduleTable), scheduleTable.payload()},
	"listener":  {"ramet:listener:", namesOf(listenerTable), listenerTable.payload()},
	"webhook":   {"ramet:webhook:", namesOf(webhookTable), webhookTable.payload()},
	"blueprint": {"ramet:blueprint:", namesOf(versionTable), versionTable.payload()},
	"message":   {"message:", namesOf(messageTable), messageTable.payload()},
}

func namesOf[T any](t *table[T]) []string { return t.names(func(*field[T]) bool { return true }) }

// TestEveryFieldStandsInTheDocs wants each field of a table in the rows that
// docs/redis-layout.md has for its record, and each with somebody's payload in
// docs/encryption.md.
func TestEveryFieldStandsInTheDocs(t *testing.T) {
	page, encryption := lines(t, "../docs/redis-layout.md"), lines(t, "../docs/encryption.md")
	for noun, r := range tabled {
		rows := rowsOf(page, "| `"+r.key, "| "+noun+" |", "| "+noun+",")
		for _, name := range r.fields {
			if !strings.Contains(rows, "`"+name+"`") {
				t.Errorf("field %s of a %s is in no row of docs/redis-layout.md", name, noun)
			}
		}
		rows = rowsOf(encryption, "| a "+noun, "| "+noun, "| an "+noun)
		for _, name := range r.payload {
			if !strings.Contains(rows, "`"+name+"`") {
				t.Errorf("field %s of a %s is payload, and in no row of docs/encryption.md", name, noun)
			}
		}
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// rowsOf are the lines of a page that begin so.
func rowsOf(page []string, beginnings ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(page), func(line string) bool {
		return !slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(line, b) })
	}), "\n")
}

// TestListsOfFieldsAreThoseThatWere holds what is taken from the tables to what other
// programs and nodes of earlier versions know.
func TestListsOfFieldsAreThoseThatWere(t *testing.T) {
	for name, c := range map[string]struct {
		got  []string
		want string
	}{
		"flow line": {FlowLine, "id caller_id context_id created_at updated_at status reason error blueprint version hash trigger on_error " +
			"hook_failed hook_errored hook_succeeded hook_cancelled hook_late priority paused parent " +
			"cancel schedule backfill called_by message sender trace_id started_ms finished_ms after_ms duration retention stepped retried rerun_of rerun_by " +
			"progress awaits"},
		"flow payload": {flowTable.payload(), "env_vars result error params"},
		"job line": {JobLine, "context_id script_type timeout retries prerequisites dependends depends created_at updated_at status priority not_before " +
			"for_runner prerequisite_timeout trace_id reason error exit_code attempt losses lost_attempt failures runner_id lease_owner cancel waits unmet followers " +
			"queued_ms started_ms finished_ms next_retry_ms flow_id step shard pack origin stepped flow_env parked routine affinity retry round at message " +
			"taken_by ended_by alive_until remembered signals suspended calls called_by"},
		"job payload": {jobTable.payload(), "script env_vars result error params needs item hook"},
		"message line": {MessageLine, "context_id message_type message_format_type timeout timeout_ack timeout_result created_at updated_at status " +
			"dst_context dst_actor dst_pubkey dst_node topic reply_to src_context pubkey expires_at error stage node origin answer pushes sent_ms acked_ms " +
			"ended_ms ending"},
		"task line":        {TaskLine, "status lease_owner caller_id client_rpc_id reply_to_queue reply_queue_name reply_to"},
		"version head":     {VersionHead, "version hash summary updated_ms by"},
		"task payload":     {taskTable.payload(), "script output error error_msg"},
		"version payload":  {versionTable.payload(), "text summary"},
		"schedule payload": {scheduleTable.payload(), "definition before last_error backfill"},
		"saga payload":     {sagaTable.payload(), "state steps timers deferred"},
		"message payload":  {messageTable.payload(), "message job logs flow error receipt"},
		"object payload":   {objectTable.payload(), "data"},
		"optional of a context": {tenantOptional,
			"executors_may_submit weight max_running max_running_by_type isolation archives on"},
	} {
		want := strings.Fields(c.want)
		if slices.Sort(want); !slices.Equal(slices.Sorted(slices.Values(c.got)), want) {
			t.Errorf("%s: got %v", name, c.got)
		}
	}
}
