package keyspace_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/keyspace"
)

// The actors of the tests, in context 7.
const (
	admin    domain.ActorID = 10
	executor domain.ActorID = 20
	stranger domain.ActorID = 40
)

var now = time.Unix(1_700_000_000, 0)

func request(who domain.ActorID) *keyspace.Request {
	return &keyspace.Request{Who: who, Space: 7, Now: now, Tenant: func() (domain.Tenant, error) {
		return domain.Tenant{ID: 7, Admins: []domain.ActorID{admin}, Executors: []domain.ActorID{executor}}, nil
	}}
}

// record reads "a=1 b=2"; "-" is no record.
func record(text string) (rec board.Record, there bool) {
	if text == "-" {
		return nil, false
	}
	for f := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(f, "=")
		rec = append(rec, board.Field{Name: name, Value: value})
	}
	return rec, true
}

// kinds of error, by the word that the tables have for them.
var kinds = map[string]error{"conflict": domain.ErrConflict, "forbidden": domain.ErrForbidden, "invalid": domain.ErrInvalid}

// told is an outcome in one line: what the commit gets beside the command.
func told(o keyspace.Outcome) string {
	var b strings.Builder
	add := func(word, text string) {
		if text != "" {
			b.WriteString(" " + word + text)
		}
	}
	if o.Drop {
		add("drop", " ")
	}
	for _, f := range o.Set {
		add("", f.Name+"="+f.Value)
	}
	for _, name := range o.Unset {
		add("-", name)
	}
	if o.Live {
		add("live", " ")
	}
	if o.Alarm != "" && o.At.IsZero() {
		add("clear ", o.Alarm)
	} else if o.Alarm != "" {
		add("alarm ", o.Alarm+"+"+o.At.Sub(now).String())
	}
	add("absent ", o.Absent)
	if o.Reply != nil {
		add("reply ", o.Reply.List)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func TestPut(t *testing.T) {
	for _, c := range []struct {
		name, key, was, set string
		who                 domain.ActorID
		beside              bool
		want                string // an outcome, or a kind of error
	}{
		{"a job is made in one's own name", "job:10:1", "-", "script=x script_type=v", admin, false, ""},
		{"and in nobody else's", "job:20:1", "-", "script=x", admin, false, "forbidden"},
		{"but by the operator", "job:20:1", "-", "script=x", domain.Operator, false, ""},
		{"a key that no engine reads", "job:10:01", "-", "script=x", admin, false, "invalid"},
		{"fields that say something else than the key", "job:10:1", "-", "id=2", admin, false, "invalid"},
		{"what works on a job makes none", "job:10:1", "-", "status=started", executor, false, "conflict"},
		{"an end is looked at at once", "job:10:1", "status=started taken_by=20", "status=finished", executor, false, "ended_by=20 alarm foreign:job:10:1+0s"},
		{"also that of who made it", "job:10:1", "status=started", "status=finished", admin, false, "ended_by=10 alarm foreign:job:10:1+0s"},
		{"no end by who has not taken it", "job:10:1", "status=dispatched", "status=finished", executor, false, "conflict"},
		{"nor while another has it", "job:10:1", "status=started taken_by=21", "status=error", executor, false, "conflict"},
		{"a runner that is alive is let be", "job:10:1", "status=started taken_by=20", "alive_until=1700000060", executor, false, ""},
		{"one that gives back is looked at", "job:10:1", "status=started taken_by=20", "alive_until=0", executor, false, "alarm foreign:job:10:1+0s"},
		{"not for another", "job:10:1", "status=started taken_by=21", "alive_until=0", executor, false, "conflict"},
		{"nor may it be kept from its queue by who has not taken it", "job:10:1", "status=dispatched", "alive_until=1700000060", executor, false, "conflict"},
		{"a result is written by who works on it", "job:10:1", "status=started taken_by=21", "result={}", executor, false, "conflict"},
		{"no job under a lease", "job:10:1", "status=started lease_owner=n1", "status=finished", executor, false, "conflict"},
		{"a runner that waits for the record gets it", "job:10:1", "status=started lease_owner=n1", "script=x script_type=v", admin, false, ""},
		{"and what is still missing of it", "job:10:1", "status=started lease_owner=n1 script=x", "script_type=v", admin, false, ""},
		{"from who may submit alone", "job:10:1", "status=started lease_owner=n1", "result={}", executor, false, "conflict"},
		{"and not once it is whole", "job:10:1", "status=started lease_owner=n1 script=x script_type=v", "script=y", admin, false, "conflict"},
		{"no job that has ended", "job:10:1", "status=finished finished_ms=5", "status=error", executor, false, "conflict"},
		{"an end once", "job:10:1", "status=finished", "status=error", executor, false, "conflict"},
		{"the same end again", "job:10:1", "status=finished", "status=finished", executor, false, ""},
		{"what was submitted stays", "job:10:1", "script=x queued_ms=5", "script=y", admin, false, "conflict"},
		{"the same once more", "job:10:1", "script=x queued_ms=5", "script=x", admin, false, ""},
		{"a place that is none", "job:10:1", "-", "script=x script_type=v at=../8", admin, false, "invalid"},
		{"an exit code that is none", "job:10:1", "status=started taken_by=20", "exit_code=nine", executor, false, "invalid"},

		{"a flow is looked for", "flow:5", "-", "caller_id=10", admin, false, "alarm flows:scan+500ms absent ramet:flow:5"},
		{"in one's own name", "flow:5", "caller_id=20", "result={}", admin, false, "forbidden"},
		{"none that a keeper has", "flow:5", "caller_id=10", "result={}", admin, true, "conflict"},

		{"a message is its sender's", "message:20:5", "-", "message=hi message_type=chat", executor, false, ""},
		{"and nobody else's", "message:20:5", "-", "message=hi", admin, false, "forbidden"},
		{"work is asked for by who may", "message:20:5", "-", "message_type=job", executor, false, "forbidden"},
		{"it begins as dispatched", "message:20:5", "-", "status=processed", executor, false, "invalid"},
		{"none that is on its way", "message:20:5", "status=dispatched sent_ms=1", "message=hi", executor, false, "conflict"},

		{"a runner is said to be where it is", "runner:5", "address=x", "address=y", admin, false, ""},
		{"a worker's record is the node's to write", "runner:5", "worker=a actor=20", "address=y", admin, false, "conflict"},
		{"also of one that is not listed", "runner:2147483653", "-", "address=y", admin, false, "forbidden"},
		{"or was kept out", "runner:2147483653", "address=x", "address=y", admin, false, "forbidden"},

		{"a task is anybody's", "rhai_task_details:x", "-", "script=1", admin, false, ""},
		{"but nobody else's", "rhai_task_details:x", "-", "script=1 caller_id=20", admin, false, "forbidden"},
		{"a worker that waits for the script gets it", "rhai_task_details:x", "lease_owner=n1", "script=1", admin, false, ""},
		{"none that a worker has", "rhai_task_details:x", "lease_owner=n1 script=1", "script=2", admin, false, "conflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := keyspace.Of(7, c.key)
			set, _ := record(c.set)
			change := &keyspace.Change{Key: c.key, Set: set}
			if _, err := kind.FieldRight(change); err != nil {
				t.Fatal(err)
			}
			rec, there := record(c.was)
			got, err := kind.Put.Decide(request(c.who), change, keyspace.Seen{Fields: rec, There: there, Beside: c.beside})
			wants(t, got, err, c.want)
			if err == nil && len(got.Guards) == 0 && got.Absent == "" {
				t.Error("nothing is guarded: another may be quicker")
			}
		})
	}
}

// wants compares an outcome, or a kind of error.
func wants(t *testing.T, got keyspace.Outcome, err error, want string) {
	t.Helper()
	if kind, fails := kinds[want]; fails {
		if !errors.Is(err, kind) {
			t.Errorf("got %q, %v, want an error that is %v", told(got), err, kind)
		}
		return
	}
	if err != nil || told(got) != want {
		t.Errorf("got %q, %v, want %q", told(got), err, want)
	}
}

// The number of a message that is not there is its caller's to use, and that of a job.
func TestOffer(t *testing.T) {
	for _, c := range []struct {
		name, list, item, was string
		who                   domain.ActorID
		want                  string
	}{
		{"one's own message, ahead of its record", "msg_out", "message:20:5", "-", executor, ""},
		{"another's that is there", "msg_out", "message:10:5", "status=dispatched", executor, ""},
		{"another's that is not", "msg_out", "message:10:5", "-", executor, "forbidden"},
		{"whose number begins alike", "msg_out", "message:2:5", "-", executor, "forbidden"},
		{"the operator pushes what it likes", "msg_out", "message:10:5", "-", domain.Operator, ""},
		{"what is no key", "msg_out", "message:10:05", "-", executor, ""},
		{"another's job that is not there", "queue:v", "job:10:5", "-", executor, "forbidden"},
		{"one's own job", "queue:v", "job:20:5", "-", executor, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := keyspace.Of(7, c.list)
			rule := kind.Offer(c.list, c.item, c.who)
			if rule == nil || kind.ItemKey(c.list, c.item) == "" { // nothing is asked
				if c.want != "" {
					t.Error("nobody asks")
				}
				return
			}
			rec, there := record(c.was)
			got, err := rule.Decide(request(c.who), &keyspace.Change{Key: kind.ItemKey(c.list, c.item)}, keyspace.Seen{Fields: rec, There: there})
			wants(t, got, err, c.want)
		})
	}
}

func TestTake(t *testing.T) {
	const job, circle = "queue:v", "rhai_tasks:friends"
	const held = "drop status=waiting_for_prerequisites live alarm foreign:job:10:1+0s"
	for _, c := range []struct {
		name, list, item, was string
		want                  string
	}{
		{"a job is handed out, and looked after", job, "job:10:1", "status=dispatched script_type=v queued_ms=5",
			"started_ms=1700000000000 taken_by=20 alarm foreign:job:10:1+2s"},
		{"one that the engine has not seen is unfinished work from now on", job, "job:10:1", "status=dispatched script_type=v",
			"started_ms=1700000000000 taken_by=20 live alarm foreign:job:10:1+2s"},
		{"one that is not written yet is looked for again", job, "job:10:1", "-", "drop alarm foreign:job:10:1+3s"},
		{"a stranger's that is not written is nothing", job, "job:40:1", "-", "drop"},
		{"a stranger's is ended", job, "job:40:1", "status=dispatched script_type=v",
			"drop status=error reason=invalid error=its caller, actor 40, may not create work in context 7; see `ramet context grant` " +
				"updated_at=1700000000 alarm foreign:job:40:1+0s"},
		{"one under a lease", job, "job:10:1", "status=started lease_owner=n1", "drop"},
		{"one that has ended", job, "job:10:1", "status=finished", "drop"},
		{"one that somebody took", job, "job:10:1", "status=dispatched taken_by=20", "drop"},
		{"one that waits for another", job, "job:10:1", "status=waiting_for_prerequisites waits=1", "drop"},
		{"one that needs another, and that no node has seen", job, "job:10:1", "script_type=v dependends=[2]", held},
		{"so says its writer", job, "job:10:1", "status=waiting_for_prerequisites script_type=v", held},
		{"the other spelling", job, "job:10:1", "status=started script_type=v depends=[2]", held},
		{"a prerequisite", job, "job:10:1", `script_type=v prerequisites=["lab"]`, held},
		{"a time to come", job, "job:10:1", "script_type=v not_before=1700000000001", held},
		{"one that is to run elsewhere", job, "job:10:1", "script_type=v at=8", held},
		{"one whose needs cannot be read", job, "job:10:1", "script_type=v dependends=2", held},
		{"one that needs nothing, and a time that has come", job, "job:10:1", "script_type=v dependends=[] prerequisites=[] not_before=1700000000000 at=",
			"started_ms=1700000000000 taken_by=20 live alarm foreign:job:10:1+2s"},
		{"one whose needs have come true", job, "job:10:1", "status=waiting_for_prerequisites script_type=v dependends=[2] queued_ms=5",
			"started_ms=1700000000000 taken_by=20 alarm foreign:job:10:1+2s"},
		{"a task that nobody has written yet", circle, "x", "-", ""},
		{"a task that has ended", circle, "x", "script=1 status=completed", "drop"},
		{"a task that a worker has", circle, "x", "script=1 lease_owner=n1", "drop"},
		{"a stranger's task is ended, and its client told", circle, "x", "script=1 caller_id=40 reply_to_queue=rhai_reply:r",
			"drop status=error error=its caller, actor 40, may not create work in context 7; see `ramet context grant` " +
				"updated_at=1700000000 reply rhai_reply:r"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := keyspace.Of(7, c.list)
			rec, there := record(c.was)
			got, err := kind.Take.Decide(request(executor), &keyspace.Change{Key: kind.ItemKey(c.list, c.item)}, keyspace.Seen{Fields: rec, There: there})
			wants(t, got, err, c.want)
		})
	}
}

func TestWhatWasTakenIsGivenBack(t *testing.T) {
	kind := keyspace.Of(7, "queue:v")
	for was, want := range map[string]string{
		"status=dispatched taken_by=20": "-taken_by -started_ms clear foreign:job:10:1",
		"status=dispatched":             "",
	} {
		rec, there := record(was)
		got, err := kind.Untake.Decide(request(executor), &keyspace.Change{Key: "job:10:1"}, keyspace.Seen{Fields: rec, There: there})
		wants(t, got, err, want)
	}
}

func TestDrop(t *testing.T) {
	for _, c := range []struct {
		name, key, was string
		beside         bool
		want           string
	}{
		{"a job that nobody waits for", "job:10:1", "status=dispatched", false, ""},
		{"one that has ended", "job:10:1", "status=finished queued_ms=1 finished_ms=2", false, ""},
		{"one that has not", "job:10:1", "status=dispatched queued_ms=1", false, "conflict"},
		{"one that a program of others runs", "job:10:1", "status=started taken_by=20", false, "conflict"},
		{"one of another that nobody has seen", "job:20:1", "status=dispatched", false, "conflict"},
		{"one under a lease", "job:10:1", "status=finished finished_ms=2 lease_owner=n1", false, "conflict"},
		{"a flow", "flow:5", "-", false, "absent ramet:flow:5"},
		{"a flow that a keeper has", "flow:5", "-", true, "conflict"},
		{"what is no flow", "flow:x", "-", false, ""},
		{"a message that was not sent", "message:10:1", "status=dispatched", false, ""},
		{"one on its way", "message:10:1", "status=dispatched sent_ms=1", false, "conflict"},
		{"one that has arrived", "message:10:1", "status=processed sent_ms=1", false, ""},
		{"a task", "rhai_task_details:x", "script=1", false, ""},
		{"a task that a worker has", "rhai_task_details:x", "script=1 lease_owner=n1", false, "conflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, there := record(c.was)
			got, err := keyspace.Of(7, c.key).Drop.Decide(request(admin), &keyspace.Change{Key: c.key}, keyspace.Seen{Fields: rec, There: there, Beside: c.beside})
			wants(t, got, err, c.want)
		})
	}
}

func TestItemsThatStandForNothing(t *testing.T) {
	for list, item := range map[string]string{"queue:v": "my own", "queue:w": "job:10:01", "msg_in": "message:10:1", "anything": "job:10:1"} {
		if got := keyspace.Of(7, list).ItemKey(list, item); got != "" {
			t.Errorf("%s of %s stands for %q, want nothing", item, list, got)
		}
	}
}

func TestWhoHoldsAJobSeesIt(t *testing.T) {
	kind := keyspace.Of(7, "job:10:1")
	for was, want := range map[string]bool{"taken_by=20": true, "taken_by=30": false, "taken_by=20 lease_owner=n1": false, "taken_by=20 finished_ms=1": false} {
		rec, _ := record(was)
		if got := kind.Holds(executor, keyspace.Seen{Fields: rec}); got != want {
			t.Errorf("%s: got %v, want %v", was, got, want)
		}
	}
	if rec, _ := record("taken_by=20"); keyspace.Of(7, "flow:5").Holds(executor, keyspace.Seen{Fields: rec}) {
		t.Error("a flow is held")
	}
}

func TestSecretsAreHidden(t *testing.T) {
	for _, c := range []struct{ key, field, text, want string }{
		{"job:10:1", "env_vars", `{"A":"secret"}`, `{"A":"***"}`},
		{"job:10:1", "env_vars", `no JSON`, `***`},
		{"flow:5", "env_vars", `{}`, `{}`},
		{"message:10:1", "job", `[{"Env_Vars":{"A":"secret"},"id":1}]`, `[{"Env_Vars":{"A":"***"},"id":1}]`},
		{"message:10:1", "flow", `{"a":1}`, `***`},
	} {
		if got := keyspace.Of(7, c.key).Secret(c.field)(c.text); got != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.field, c.key, got, c.want)
		}
	}
	if keyspace.Of(7, "job:10:1").Secret("script") != nil {
		t.Error("a script is hidden")
	}
}

func TestHeldBack(t *testing.T) {
	if diff := cmp.Diff([]string{"max", "max:queue:v"}, keyspace.HeldBack("queue:v:p3")); diff != "" {
		t.Error(diff)
	}
}
