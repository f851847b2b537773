package layout_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// TestObjectKeys holds the keys of the object store byte for byte.
func TestObjectKeys(t *testing.T) {
	long := strings.Repeat("x", 65)
	for _, tt := range []struct{ got, want string }{
		{layout.Object("person", 5), "ramet:object:person:5"},
		{layout.Model("person"), "ramet:model:person"},
		{layout.ModelPages("person"), "ramet:model:person:pages"},
		{layout.ModelPage("person", layout.PageOf(999)), "ramet:model:person:page:0"},
		{layout.ModelPage("person", layout.PageOf(1000)), "ramet:model:person:page:1"},
		{layout.ObjectSeq("person"), "ramet:seq:object:person"},
		{layout.ModelIndex("person", "age", "41"), "ramet:model:person:index:age:41"},
		{layout.ModelIndex("person", "name", `"a:b"`), `ramet:model:person:index:name:"a:b"`},
		{layout.ModelIndex("person", "name", `"`+long+`"`), "ramet:model:person:index:name:#cfa70e8e4988336248c29a351788205c"},
		{layout.ObjectMember(5), "0000000005"},
		{layout.ObjectMember(math.MaxUint32), "4294967295"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
	name := strings.Repeat("m", 64)
	if key := layout.ModelIndex(name, name, long); len(key) > board.MaxKey {
		t.Errorf("the longest key has %d bytes, a board takes %d", len(key), board.MaxKey)
	}
}

func TestObjectMembers(t *testing.T) {
	for _, id := range []domain.ObjectID{0, 1, 999, math.MaxUint32} {
		if got, err := layout.ParseObjectMember(layout.ObjectMember(id)); err != nil || got != id {
			t.Errorf("%d: got %d, %v", id, got, err)
		}
	}
	if _, err := layout.ParseObjectMember("person"); err == nil {
		t.Error("a word was taken for an id")
	}
}

func TestObjectRecords(t *testing.T) {
	got, err := layout.DecodeObject("person", goldObject.ID, layout.EncodeObject(goldObject))
	if diff := cmp.Diff(goldObject, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := layout.DecodeObject("person", 5, board.Record{{Name: "version", Value: "new"}}); err == nil ||
		!strings.Contains(err.Error(), "ramet:object:person:5") {
		t.Errorf("a damaged record: got %v", err)
	}
	indexes := map[string]string{"age": layout.IndexReady, "name": layout.IndexBuilding}
	text := layout.EncodeIndexes(indexes)
	if want := `{"age":"ready","name":"building"}`; text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	back, err := layout.DecodeIndexes("person", text)
	if diff := cmp.Diff(indexes, back); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
