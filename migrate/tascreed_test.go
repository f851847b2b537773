package migrate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestAJobDefineBecomesABlueprint(t *testing.T) {
	got, notes, err := tasCreed("define.json", []byte(`{
  "jobName": "sample", "version": 2, "priority": 30, "uniqueAliveInstance": true, "params": {"k": "v"}, "traits": ["X"], "duration": 1500,
  "steps": [
    {"stepName": "prep", "exeClass": "org.x.Prep", "maxPickTimes": 3, "traits": ["CAN_IGNORE", "ARCHIVE"], "effort": 5},
    {"name": "shards", "stepType": "SHARD", "shardConf": {"shard": 10, "startShardId": 2, "maxTaskCount": 5}, "maxErrorTimes": 0,
     "dependency": {"doneSteps": ["prep"], "phase": 1}, "affinityRule": "dc", "params": null},
    {"name": "packs", "type": "PACK", "packConf": {"size": 100, "start": 1, "end": 500, "startPackId": 7}, "maxPickTimes": 1,
     "dependency": {"steps": ["shards"], "phase": 2}, "dependentStep": "prep", "traits": ["can-fail"]},
    {"name": "stream", "type": "PACK", "packConf": {"size": 1, "infinite": true, "end": 4}, "ignorable": true}
  ]}`))
	if err != nil {
		t.Fatal(err)
	}
	end := int64(500)
	errored := &domain.Retry{On: []domain.RetryOn{domain.RetryErrored}}
	script := func(step, class string) string {
		return "echo 'step " + step + ": put here what " + class + " did' >&2\nexit 1\n"
	}
	want := &domain.Blueprint{Name: "sample", Version: 2, Priority: 9, UniqueAlive: true, Params: map[string]string{"k": "v"}, OnError: domain.OnErrorContinue,
		Duration: 2, Steps: []domain.Step{
			{Name: "prep", Script: script("prep", "org.x.Prep"), ScriptType: "shell", Retries: 3, Retry: errored, MaySkip: true, Weight: 5},
			{Name: "shards", Script: script("shards", "the executor of (job, step)"), ScriptType: "shell", Retry: errored,
				Needs: []string{"prep"}, Phase: 1,
				Shard: &domain.Shard{Count: 10, Start: 2, Window: 5}},
			{Name: "packs", Script: script("packs", "the executor of (job, step)"), ScriptType: "shell", Retries: 1, Retry: errored, Needs: []string{"shards", "prep"},
				Phase: 2, MayFail: true,
				Pack: &domain.Pack{Size: 100, Start: 1, End: &end, FirstID: 7}},
			{Name: "stream", Script: script("stream", "the executor of (job, step)"), ScriptType: "shell", Retries: 255, Retry: errored, MaySkip: true,
				Pack: &domain.Pack{Size: 1, Endless: true}},
		}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantNotes := []string{
		"priority: 30 is more than the 9 there are here; it became that",
		"steps: as there, only what errored is tried again: retry.on is [errored], and a script that exits with 1 to 124 has failed for good",
		"steps[0].exeClass: org.x.Prep: write what it does as the step's script",
		"steps[1].exeClass: the executor of (job, step): write what it does as the step's script",
		`steps[1].affinityRule: no counterpart, left out: "dc"`,
		"steps[2].exeClass: the executor of (job, step): write what it does as the step's script",
		"steps[3].maxPickTimes: no limit, or one over 255: retries became 255",
		"steps[3].exeClass: the executor of (job, step): write what it does as the step's script",
		`traits: no counterpart, left out: ["X"]`,
	}
	if diff := cmp.Diff(wantNotes, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if again, err := blueprint.Parse("", blueprint.YAML(got)); err != nil || blueprint.Hash(again) != blueprint.Hash(got) {
		t.Errorf("printed and read again: %v", err)
	}
}

func TestWhatIsNoJobDefine(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                             "f: it is no job define: json: cannot unmarshal array into Go value of type map[string]json.RawMessage; want a JSON object",
		`{"name": "n", "steps": []}`:     "f: steps: there are none: want at least one",
		`{"name": "n", "steps": [1]}`:    "f: steps[0]: want a JSON object",
		`{"name": "n", "steps": [null]}`: "f: steps[0].name: name \"\": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all",
		`{"name": "n", "steps": [{"name": "a", "dependentStep": "gone"}]}`: `f: steps[0].needs[0]: there is no step "gone"`,
	} {
		_, _, err := tasCreed("f", []byte(text))
		if !errors.Is(err, domain.ErrInvalid) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestWhatLooksLikeTimesOfADefineIsTold by its line, with what to write for it: nothing that is known of defines says when
// jobs are made.
func TestWhatLooksLikeTimesOfADefineIsTold(t *testing.T) {
	in, err := Import("tascreed", "define.json", []byte(`{
  "jobName": "sample",
  "cronExpression": "0 2 * * 1-5",
  "schedule": {"every": 60},
  "steps": [{"stepName": "prep", "exeClass": "org.x.Prep",
    "repeatInterval": 5,
    "interesting": 1}],
  "stats": 2
}`))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int][]string{}
	for _, n := range in.Notes {
		lines[n.Line] = append(lines[n.Line], n.Text)
	}
	for line, want := range map[int]string{3: "--cron '0 2 * * 1-5'`", 4: "--cron '0 3 * * *'` or `--every 1h`", 6: "ramet schedule create"} {
		if got := strings.Join(lines[line], "\n"); !strings.Contains(got, want) {
			t.Errorf("line %d: got %q, want %q", line, got, want)
		}
	}
	for _, line := range []int{7, 8} {
		if got := strings.Join(lines[line], "\n"); !strings.Contains(got, "no counterpart") || strings.Contains(got, "schedule") {
			t.Errorf("line %d, which says nothing of times: got %q", line, got)
		}
	}
}
