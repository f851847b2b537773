package blueprint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestWhatDiffersBetweenTwoBlueprints(t *testing.T) {
	was := &domain.Blueprint{Name: "n", Version: 1, Params: map[string]string{"a": "1", "b": "2"}, Steps: []domain.Step{
		{Name: "x", Script: "one\ntwo\nthree\n", ScriptType: "shell", Timeout: 60},
		{Name: "y", Script: "y", ScriptType: "shell", Needs: []string{"x"}},
		{Name: "z", Script: "<z>", ScriptType: "shell"},
	}}
	is := &domain.Blueprint{Name: "n", Version: 2, Summary: "new", Params: map[string]string{"a": "1", "b": "3"}, Steps: []domain.Step{
		{Name: "w", Kind: domain.StepApproval},
		{Name: "y", Script: "y", ScriptType: "shell", Shard: &domain.Shard{Count: 2}},
		{Name: "x", Script: "one\n2\nand more\nthree\n", ScriptType: "shell", Timeout: 90},
	}}
	changes := blueprint.Diff(was, is)
	var text strings.Builder
	for _, c := range changes {
		text.WriteString(c.Text() + "\n")
	}
	want := `params.b: "2" -> "3"
steps[x].script: at line 2
  - two
  + 2
  + and more
steps[x].timeout: 60 -> 90
- steps[y].needs: ["x"]
+ steps[y].shard: {"count":2}
- steps[z]: {"name":"z","script":"<z>","script_type":"shell"}
+ steps[w]: {"kind":"approval","name":"w"}
order of steps: ["x","y"] -> ["y","x"]
+ summary: "new"
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := json.Marshal(changes[0])
	if want := `{"path":"params.b","from":"2","to":"3"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	other := *was
	other.Version = 9
	if same := blueprint.Diff(was, &other); len(same) != 0 {
		t.Errorf("the version differs: got %v", same)
	}
}
