package definition_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
)

func TestTheCanonicalFormIsOne(t *testing.T) {
	d := parsed(t, right+"nodes: {next: '1'}\ndata: {}\neffects: []\n")
	d.Version = 7
	const want = `{"name":"n","triggers":[{"of":"Order","types":["Go"]}],"initial":"one","states":[{"name":"one","on":{"*":"handle"}},{"name":"end",` +
		`"final":true}],"nodes":[{"name":"next","expr":"1"}]}`
	if got := string(definition.Canonical(d)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for name, change := range map[string]func(*domain.SagaDefinition){
		"the version": func(d *domain.SagaDefinition) { d.Version = 8 },
		"what is empty": func(d *domain.SagaDefinition) {
			d.Timers, d.Events, d.Data = []string{}, []domain.SagaEvent{}, []byte(" { } ")
		},
		"reactions that are no": func(d *domain.SagaDefinition) { d.States[1].On = map[string]domain.Reaction{} },
	} {
		other := parsed(t, want)
		change(other)
		if definition.Hash(other) != definition.Hash(d) {
			t.Errorf("%s makes another one: %s", name, definition.Canonical(other))
		}
	}
	other := parsed(t, right+"nodes: {next: '1'}\ndata: {b: 1, a: 2.0}\n")
	one := definition.Hash(other)
	other.Data = []byte("{ \"a\": 2.0,\n\"b\": 1 }")
	if definition.Hash(other) != one {
		t.Error("the order of names in data makes another one")
	}
	other.Data = []byte(`{"a":2,"b":1}`)
	if definition.Hash(other) == one {
		t.Error("2 and 2.0 are the same")
	}
}

func TestDifferences(t *testing.T) {
	was, is := wholeWant(), wholeWant()
	if list := definition.Diff(was, is); len(list) != 0 {
		t.Errorf("%v", list)
	}
	is.Version = 5
	is.States[0].On["Poke"] = domain.Ignore
	is.States[1].Timeout.After = 60
	is.States = append(is.States[:2:2], is.States[3], domain.SagaState{Name: "new2", Final: true}, is.States[2])
	is.Events[1].MaxVersion = 9
	is.Script = strings.Replace(is.Script, "(state, event) { () }", "(state, event) { #{} }", 1)
	is.Compensation.Attempts = 1
	is.Data = []byte(`{"n":2}`)
	var got []string
	for _, c := range definition.Diff(was, is) {
		got = append(got, c.Text())
	}
	want := []string{
		"compensation.attempts: 5 -> 1",
		"- data.big: 9007199254740993", "- data.f: 2.0", "- data.list: [1,{\"a\":null}]", "data.n: 1 -> 2", "- data.no: false", "- data.text: \"5\"",
		"events[Low].max_version: 2 -> 9",
		"script: at line 1\n  - fn on_event(state, event) { () }\n  + fn on_event(state, event) { #{} }",
		"+ states[new].on.Poke: \"ignore\"", "states[paying].timeout.after: 5400 -> 60", "- states[stuck]: {\"name\":\"stuck\",\"on\":{\"*\":\"ignore\"}}",
		"+ states[new2]: {\"final\":true,\"name\":\"new2\"}", `order of states: ["new","paying","done","broken"] -> ["new","paying","broken","done"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheStore(t *testing.T) {
	ctx := context.Background()
	b := memboard.Open()
	defer b.Close()
	s := definition.NewStore(b)
	d := wholeWant()
	d.Version = 0
	first, existing, err := s.Apply(ctx, 1, 7, d, nil)
	if err != nil || existing || first.Version != 1 || first.Definition.Version != 1 || first.Hash != definition.Hash(d) {
		t.Fatalf("%+v %v %v", first, existing, err)
	}
	if again, existing, err := s.Apply(ctx, 1, 7, d, nil); err != nil || !existing || again.Version != 1 {
		t.Errorf("%+v %v %v", again, existing, err)
	}
	d.Partitions = 3
	second, _, err := s.Apply(ctx, 1, 7, d, nil)
	if err != nil || second.Version != 2 {
		t.Fatalf("%+v %v", second, err)
	}
	for version, want := range map[int]domain.StoredSaga{0: second, 1: first, 2: second} {
		got, err := s.Get(ctx, 1, "order", version)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d: (-want +got):\n%s", version, diff)
		}
	}
	if _, err := s.Get(ctx, 2, "order", 0); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another context: %v", err)
	}
	d.Initial = "nowhere"
	var wrong *definition.Error
	if _, _, err := s.Apply(ctx, 1, 7, d, nil); !errors.As(err, &wrong) || wrong.Faults[0].Path != "initial" {
		t.Errorf("%v", err)
	}
}
