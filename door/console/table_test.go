package console

// Inside the package: pages have what these make within much else.

import (
	"bytes"
	"strings"
	"testing"
)

// shown is what a component writes.
func (t *table) shown(test *testing.T) string {
	test.Helper()
	var b bytes.Buffer
	if err := t.show().Render(test.Context(), &b); err != nil {
		test.Fatal(err)
	}
	return b.String()
}

// TestTheEndOfATriggerIsSeen: those of a schedule's flows differ there alone.
func TestTheEndOfATriggerIsSeen(t *testing.T) {
	for text, want := range map[string]string{"monday": ">monday<", "2026-11-27": ">2026-11-27<", "each-minute-20261128101900": `<span class="tailed"><span>` +
		"each-minute</span><span>-20261128101900</span></span>", "a\u202eb": ">a?b<"} {
		list := &table{Name: "Flows", Head: []column{{"Trigger", "trigger"}}, Rows: []row{{Cells: []entry{words(text)}}}}
		if got := list.shown(t); !strings.Contains(got, want) || !strings.Contains(got, `title="`+plain(text)) {
			t.Errorf("%q: got %s", text, got)
		}
	}
}

// TestWhatACellMayCutIsSaidByPointing at it.
func TestWhatACellMayCutIsSaidByPointing(t *testing.T) {
	why := "the next call finds out whether its target answers again"
	list := &table{Name: "Effects", Head: []column{{"Effect", "name"}, {"Why", "why"}}, Rows: []row{{Cells: []entry{words("weigh"), words(why)}}}}
	if got := list.shown(t); !strings.Contains(got, `title="`+why+`"`) || strings.Contains(got, `title="weigh"`) {
		t.Errorf("got %s", got)
	}
}

// TestTheSecondTableOfAListHasATitle: on a phone its head is not seen, and its rows would be taken for those above.
func TestTheSecondTableOfAListHasATitle(t *testing.T) {
	one := []row{{Cells: []entry{words("x")}}}
	b := &listBody{Title: "Routines", Tables: []table{{Name: "Routines", Head: []column{{"Routine", "name"}}, Rows: one},
		{Name: "What the nodes do", Head: []column{{"Service", "name"}}, Rows: one}}}
	var text bytes.Buffer
	if err := b.content().Render(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.Contains(got, "<h2>What the nodes do</h2>") || strings.Contains(got, "<h2>Routines</h2>") {
		t.Errorf("got %s", got)
	}
}
