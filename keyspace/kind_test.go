package keyspace_test

import (
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/keyspace"
)

// TestRights has the kinds of key with their group and the rights of some classes:
// all of them, with commands, stand in rights_test.go of door/resp.
func TestRights(t *testing.T) {
	const no = domain.Verb("")
	for _, c := range []struct {
		space                  board.Space
		key, group             string
		read, write, push, pop domain.Verb
	}{
		{7, "job:10:5", "job", domain.VerbRead, no, no, no}, // written by field
		{7, "queue:v", "job", domain.VerbRead, no, domain.VerbCreate, domain.VerbPop},
		{7, "msg_out", "message", domain.VerbRead, no, domain.VerbFinish, domain.VerbDelete},
		{7, "msg_out_coordinator", "message", domain.VerbRead, no, no, no},
		{7, "msg_outside", "key", domain.VerbRead, domain.VerbWrite, domain.VerbWrite, domain.VerbWrite},
		{7, "rhai_reply:x", "circle", domain.VerbRead, no, domain.VerbFinish, domain.VerbPop},
		{7, "ramet:finished", "", domain.VerbReadEnv, no, no, no},
		{7, "ramet:inbox:20", "inbox", domain.VerbRead, no, no, no}, // one's own
		{7, "ramet:inbox:30", "inbox", domain.VerbReadEnv, no, no, no},
		{7, "deadletter:7:effect:1", "deadletter", domain.VerbRead, no, no, no},
		{7, "anything", "key", domain.VerbRead, domain.VerbWrite, domain.VerbWrite, domain.VerbWrite},
		{0, "actor:20", "actor", domain.VerbKnow, no, no, no},
		{0, "actor:30", "actor", domain.VerbInspect, no, no, no},
		{0, "anything", "node", domain.VerbInspect, no, no, no},
	} {
		kind := keyspace.Of(c.space, c.key)
		if kind.Group != c.group {
			t.Errorf("%s: group %q, want %q", c.key, kind.Group, c.group)
		}
		for class, want := range map[keyspace.Class]domain.Verb{keyspace.Read: c.read, keyspace.Write: c.write, keyspace.Push: c.push, keyspace.Pop: c.pop} {
			got := kind.Right(class, c.key, executor)
			if got.Verb != want {
				t.Errorf("%s, class %d: %q, want %q", c.key, class, got.Verb, want)
			}
			if byField := class == keyspace.Write && kind.ByField(); got.Verb == no && got.Not == "" && !byField {
				t.Errorf("%s, class %d: refused without a reason", c.key, class)
			}
		}
	}
}

func TestFieldRight(t *testing.T) {
	for _, c := range []struct {
		key, field string
		want       domain.Verb
		refused    bool
	}{
		{"job:10:5", "script", domain.VerbCreate, false},
		{"job:10:5", "mine", domain.VerbCreate, false},
		{"job:10:5", "status", domain.VerbFinish, false},
		{"job:10:5", "reason", "", true},
		{"job:10:5", "lease_owner", "", true},
		{"message:10:5", "mine", "", true}, // what is signed is all there is
		{"message:10:5", "message", domain.VerbFinish, false},
		{"anything", "status", "", false}, // the right of the class is enough
		{"anything", "lease_owner", "", true},
		{"anything", keyspace.StringField, "", true},
	} {
		kind := keyspace.Of(7, c.key)
		for _, change := range []*keyspace.Change{{Key: c.key, Set: []board.Field{{Name: c.field}}}, {Key: c.key, Unset: []string{c.field}}} {
			if got, err := kind.FieldRight(change); got != c.want || (err != nil) != c.refused {
				t.Errorf("%s of %s: got %q, %v, want %q, refused %v", c.field, c.key, got, err, c.want, c.refused)
			}
		}
	}
}
