package layout_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The values are chosen so that every field differs from its zero value and
// from every other field.
var (
	exit    = 3
	goldJob = domain.Job{
		ID: 2001, CallerID: 12, ContextID: 7, Script: "print('hi')", ScriptType: domain.ScriptPython,
		Timeout: 60, Retries: 2,
		Retry:   &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}, FinalExitCodes: []int{64}},
		EnvVars: map[string]string{"B": "2", "A": "1"}, Result: map[string]string{"sum": "3"},
		Prerequisites: []string{"file:in.csv", "lab open"}, Dependends: []domain.JobID{1999, 2000},
		CreatedAt: 1700000000, UpdatedAt: 1700000005, Status: domain.JobError,
		Priority: 5, NotBefore: 1700000001000, ForRunner: 21, PrerequisiteTimeout: 90, TraceID: "t-1",
		Reason: domain.ReasonScriptFailed, Error: "exit code 3", ExitCode: &exit, Losses: 1, Failures: 3, RunnerID: 20,
		Cancel: "9", Waits: 4, Followers: 6, QueuedMs: 1700000002000, StartedMs: 1700000003000,
		FinishedMs: 1700000005000, NextRetryMs: 1700000006000, Remembered: 8, Signals: 7,
		Suspended: &domain.Suspension{Kind: "wait", Name: "click", N: 2, UntilMs: 1700000007000, Signals: []string{"click"}}, TakenBy: 15, EndedBy: 16,
		AliveUntil: 1700000004,
		FlowID:     33, Step: "build", Shard: "1/4", Pack: "0-9", Origin: "job:3:4@org", At: "7@acme", Message: "message:3:5",
		Stepped: true, FlowEnv: true, Params: map[string]string{"day": "1"}, Needs: map[string]domain.Need{"fetch": {State: "succeeded", Job: 1999}},
	}
	goldActor  = domain.Actor{ID: 12, Pubkey: strings.Repeat("ab", 32), Address: []domain.Address{"mycelium:ff"}, CreatedAt: 1, UpdatedAt: 2}
	goldTenant = domain.Tenant{ID: 7, Admins: []domain.ActorID{12, 13}, Readers: []domain.ActorID{14}, Executors: []domain.ActorID{15},
		CreatedAt: 1, UpdatedAt: 2, ExecutorsMaySubmit: true, Alias: "acme", Weight: 3, MaxRunning: 40,
		MaxRunningByType: map[domain.ScriptType]int{"v": 2}, Isolation: domain.Sealed}
	goldFlow = domain.Flow{ID: 33, CallerID: 12, ContextID: 7, Jobs: []domain.JobID{1, 2}, EnvVars: map[string]string{"K": "v"},
		Result: map[string]string{"r": "1"}, CreatedAt: 1, UpdatedAt: 2, Status: domain.FlowError,
		Reason: domain.FlowErrored, Error: "step build: exit code 3", Blueprint: "nightly", Version: 4, Hash: "ab", Trigger: "2026-11-21",
		OnError:  domain.OnErrorContinue,
		Priority: 3, Params: map[string]string{"p": "1"}, Paused: true, Cancel: "9", Schedule: "s", Message: "message:1:2", StartedMs: 1000,
		FinishedMs: 2000, AfterMs: 900,
		Duration: 60, Retention: 3600, Stepped: true, Progress: "50.00", Awaits: domain.AwaitsDecision, Retried: 1}
	goldRunner = domain.Runner{ID: 20, Pubkey: "cd", Address: "mycelium://x", Topic: "runner20", Local: true, CreatedAt: 1, UpdatedAt: 2,
		Node: "n1", Serves: []domain.Service{{ScriptType: "shell", Served: true, SlotUse: domain.SlotUse{Slots: 4}}}, SeenMs: 3000,
		Locked: []domain.Locked{{Context: 7, Key: "disk", Why: "no such file"}}}
	goldTask = domain.Task{ID: "7b-1", Script: "40 + 2", Status: domain.TaskError, ClientRPCID: "rpc-9", Output: "o", Error: "e",
		CreatedAt: 1, UpdatedAt: 2, ReplyToQueue: "rhai_reply:7b-1", Circle: "friends", CallerID: 12, Losses: 1}
	goldNode = domain.Node{Name: "n1", Unkept: []domain.Unkept{{Context: 3, Job: "1:2", Full: true, Why: "no room"}},
		Version: "v1.2.3", Host: "h1", RunnerID: 20, Durability: "disk", Labels: domain.Labels{"zone": "eu"},
		Off: []domain.Off{{Role: domain.RoleRunner, Rule: 1, Why: "too old"}}, StartedMs: 1000}
	goldObject    = domain.Object{ID: 5, Data: `{"name":"Ann"}`, Version: 3, CreatedBy: 12, UpdatedBy: 13, CreatedAt: 1, UpdatedAt: 2}
	goldBlueprint = layout.StoredVersion{Version: 3, Hash: "ab", Text: `{"name":"n"}`, Summary: "for people", UpdatedMs: 1700000000000, By: 12}
	goldMessage   = domain.Message{ID: 101, CallerID: 12, ContextID: 7, Message: "please", MessageType: domain.MessageJob,
		MessageFormatType: domain.FormatMD, Timeout: 10, TimeoutAck: 20, TimeoutResult: 30,
		Job:  []domain.Job{{ID: 1, CallerID: 12, ContextID: 7, Script: "x", ScriptType: "v", Status: domain.JobDispatched}},
		Logs: []domain.Log{{AtMs: 5, Stream: "stdout", Line: "hi"}}, CreatedAt: 1, UpdatedAt: 2, Status: domain.MessageAcknowledged,
		DstContext: 9, DstActor: 4, DstPubkey: "aa", DstNode: "bb", Topic: "runner20", ReplyTo: "message:1:2", ReplyDigest: "d1", Flow: "{}",
		SrcContext: 7, Pubkey: "cc",
		ExpiresAt: 99, Alg: domain.AlgEd25519, Signature: "dd", Error: "late", Stage: domain.StageAck, Node: "ee", Origin: "message:3:4",
		Answer: "message:5:6", Receipt: "ff", Pushes: 2, SentMs: 3, AckedMs: 4, EndedMs: 5}
)

var goldSaga = domain.SagaInstance{Saga: "order", Correlation: "o-1", Tenant: "acme", Definition: 3, Hash: "ab", Life: "e-1", Version: 7, State: "paying",
	Data: []byte(`{"total":12,"note":"<&>"}`), Status: domain.SagaEnded, Outcome: domain.OutcomeSucceeded,
	Steps:    []domain.SagaStep{{Name: "pay", Effect: "charge", CommandID: "c-1", State: domain.StepCompleted, Payload: []byte(`{"a":"<"}`), Order: 1}},
	Asked:    []domain.SagaAsked{{CommandID: "c-2"}},
	Timers:   []domain.SagaTimer{{Event: "late", DueMs: 5}},
	Deferred: []domain.Event{{ID: "e-9", Type: "Shipped"}},
	Work:     8, Held: "d-1", Paused: true, CreatedMs: 9, UpdatedMs: 10, EndedMs: 11}

// TestGolden holds every record byte for byte: other programs read them.
func TestGolden(t *testing.T) {
	records := []struct {
		name   string
		key    string
		fields []board.Field
	}{
		{"actor", goldActor.Key(), layout.EncodeActor(goldActor)},
		{"context", goldTenant.Key(), layout.EncodeTenant(goldTenant)},
		{"limits", layout.Limits, layout.EncodeLimits(goldTenant)},
		{"flow", goldFlow.Key(), layout.EncodeFlow(goldFlow)},
		{"message", goldMessage.Key().String(), layout.EncodeMessage(&goldMessage)},
		{"runner", goldRunner.Key(), layout.EncodeRunner(goldRunner)},
		{"node", layout.Node("n1"), layout.EncodeNode(goldNode)},
		{"object", layout.Object("person", goldObject.ID), layout.EncodeObject(goldObject)},
		{"blueprint", layout.BlueprintKeys.At("nightly", goldBlueprint.Version), layout.EncodeVersion(goldBlueprint)},
		{"saga", layout.SagaKeys{Tenant: "acme"}.Instance("order", "o-1"), layout.EncodeSaga(&goldSaga)},
		{"saga-least", layout.SagaKeys{}.Instance("order", "o-1"), layout.EncodeSaga(&domain.SagaInstance{Saga: "order", Correlation: "o-1"})},
		{"schedule-least", layout.Schedule("s"), layout.EncodeSchedule(&domain.Schedule{Name: "s"})},
		{"version-newest", layout.BlueprintKeys.Newest("n"), layout.EncodeVersion(layout.StoredVersion{Version: 1, Hash: "ab"})},
		{"task", layout.Task(goldTask.ID), layout.EncodeTask(&goldTask)},
		{"task-least", layout.Task("1"), layout.EncodeTask(&domain.Task{ID: "1", Status: domain.TaskPending})},
		{"job", goldJob.Key().String(), layout.EncodeJob(&goldJob)},
		{"job-least", "job:1:1", layout.EncodeJob(&domain.Job{ID: 1, CallerID: 1, ContextID: 1, Script: "x", ScriptType: "v", Status: domain.JobDispatched})},
	}
	for _, r := range records {
		t.Run(r.name, func(t *testing.T) {
			var b strings.Builder
			fmt.Fprintln(&b, r.key)
			for _, f := range r.fields {
				fmt.Fprintf(&b, "%s=%s\n", f.Name, f.Value)
			}
			golden(t, r.name, b.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name + ".golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestSeedFields holds the fields of the seeds' tables, by name and order.
func TestSeedFields(t *testing.T) {
	seeds := map[string]struct{ want, got string }{
		"actor":   {"id pubkey address created_at updated_at", names(layout.EncodeActor(domain.Actor{}))},
		"context": {"id admins readers executors created_at updated_at", names(layout.EncodeTenant(domain.Tenant{}))},
		"flow":    {"id caller_id context_id jobs env_vars result created_at updated_at status", names(layout.EncodeFlow(domain.Flow{}))},
		"message": {"id caller_id context_id message message_type message_format_type timeout timeout_ack timeout_result job logs created_at updated_at status",
			names(layout.EncodeMessage(&domain.Message{}))},
		"runner": {"id pubkey address topic local created_at updated_at", names(layout.EncodeRunner(domain.Runner{}))},
		"job": {"id caller_id context_id script script_type timeout retries env_vars result prerequisites dependends created_at updated_at status",
			names(layout.EncodeJob(&domain.Job{}))},
	}
	for noun, s := range seeds {
		if s.got != s.want {
			t.Errorf("%s: got %s, want %s", noun, s.got, s.want)
		}
	}
}

func names(fields []board.Field) string {
	var list []string
	for _, f := range fields {
		list = append(list, f.Name)
	}
	return strings.Join(list, " ")
}

func TestDecodeIsTheInverse(t *testing.T) {
	check := func(noun string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", noun, err, diff)
		}
	}
	j, err := layout.DecodeJob(goldJob.Key(), layout.EncodeJob(&goldJob))
	check("job", &goldJob, j, err)
	a, err := layout.DecodeActor("actor:12", layout.EncodeActor(goldActor))
	check("actor", goldActor, a, err)
	c, err := layout.DecodeTenant("context:7", layout.EncodeTenant(goldTenant))
	check("context", goldTenant, c, err)
	f, err := layout.DecodeFlow("flow:33", layout.EncodeFlow(goldFlow))
	check("flow", goldFlow, f, err)
	r, err := layout.DecodeRunner("runner:20", layout.EncodeRunner(goldRunner))
	check("runner", goldRunner, r, err)
	// Embedded jobs come back with their empty lists and maps spelled out.
	m, err := layout.DecodeMessage(goldMessage.Key(), layout.EncodeMessage(&goldMessage))
	want := goldMessage
	want.Job = []domain.Job{m.Job[0]}
	check("message", want, *m, err)
	if m.Job[0].Key() != goldMessage.Job[0].Key() || m.Job[0].Script != "x" {
		t.Errorf("embedded job: got %+v", m.Job[0])
	}
}

func TestDecodeForeignJob(t *testing.T) {
	k := domain.JobKey{Caller: 1, ID: 2}
	f := func(name, value string) board.Field { return board.Field{Name: name, Value: value} }
	j, err := layout.DecodeJob(k, board.Record{f("script", "x"), f("depends", "[3]"), f("unheard_of", "1"), f("timeout", "")})
	if err != nil || j.ID != 2 || j.CallerID != 1 || len(j.Dependends) != 1 {
		t.Errorf("a sparse record: got %+v, %v", j, err)
	}
	for _, bad := range []board.Field{f("timeout", "soon"), f("retries", "256"), f("env_vars", "A=1"), f("dependends", "3"), f("status", "done")} {
		if _, err := layout.DecodeJob(k, board.Record{bad}); err == nil || !strings.Contains(err.Error(), bad.Name) {
			t.Errorf("%s=%s: got error %v, want one that names the field", bad.Name, bad.Value, err)
		}
	}
}

func TestAlarmNames(t *testing.T) {
	k := domain.JobKey{Caller: 12, ID: 7}
	kind, got, ok := layout.ParseAlarm(layout.Alarm(layout.AlarmRetry, k))
	if !ok || kind != layout.AlarmRetry || got != k {
		t.Errorf("got %s %v %v", kind, got, ok)
	}
	for _, bad := range []string{"", "retry", "retry:flow:1", "retry:job:1:x", "retry:job:01:2"} {
		if _, _, ok := layout.ParseAlarm(bad); ok {
			t.Errorf("%q was taken for a job's alarm", bad)
		}
	}
}

// What is not known might mean more than a node holds in: nobody has a right in
// such a context.
func TestAnUnknownIsolationIsNoContext(t *testing.T) {
	for value, good := range map[string]bool{"": true, "walled": true, "sealed": true, "open": false, "Sealed": false, "vm": false} {
		_, err := layout.DecodeTenant("context:7", board.Record{{Name: "isolation", Value: value}})
		if (err == nil) != good || !good && !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got %v", value, err)
		}
	}
}
