package console_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

const towns = `name: towns
on:
  failed: {script: say told, script_type: words}
steps:
  - name: measure
    summary: Measures <b>each</b> town
    each: '["ulm", "bonn", "kiel"]'
    key: item
    script: |
      say measured
    script_type: words
  - {name: fails, needs: measure, each: '["a", "b"]', script: fail, script_type: words}
`

func TestItemsOfAStepAreShownAndSaid(t *testing.T) {
	r := newRig(t)
	id := r.flow(towns)
	r.ended(id)
	b := r.as(admin)
	a := b.get(200, path("flows/%d?step=measure", id))
	b.has(a, "Measures &lt;b&gt;each", "<b>3</b> succeeded", ">ulm</a>", ">bonn</a>", ">kiel</a>", "all of them")
	b.has(b.get(200, path("flows/%d?step=fails", id)), "<b>2</b> went wrong", "exit code 3")
	a = b.get(200, path("flows/%d?tab=logs", id)) // of those that ended well, too
	if n := strings.Count(a.text, "measured"); n != 3 {
		t.Errorf("the logs of %d items are there, want 3: %s", n, mainOf(a.text))
	}
}

// shards of which the first fails: the others, one at a time, never begin.
const shards = `name: shards
steps:
  - {name: count, shard: {count: 8, window: 1}, script: fail, script_type: words}
`

// TestShardsThatNeverBeganAreCounted: a shard is counted from 0, so that its "0/8" would read
// as progress; and what adds up to fewer than there are leaves the reader to guess.
func TestShardsThatNeverBeganAreCounted(t *testing.T) {
	r := newRig(t)
	id := r.flow(shards)
	r.ended(id)
	b := r.as(admin)
	a := b.get(200, path("flows/%d?step=count", id))
	b.has(a, "<b>1</b> went wrong", "<b>7</b> never began", ">shard 0</a>")
	b.hasNot(a, ">0/8<")
	b.has(b.get(200, path("flows/%d?tab=gantt", id)), "shard 0", "7 never began")
	b.has(b.get(200, path("flows/%d?tab=logs", id)), "shard 0")
}

func TestHooksThatWereCalledAreShown(t *testing.T) {
	r := newRig(t)
	id := r.flow(towns)
	for v := r.ended(id); len(v.Hooks) == 0 || v.Hooks[0].Status != domain.JobFinished; v = r.ended(id) {
	}
	b := r.as(admin)
	b.has(b.get(200, path("flows/%d", id)), "Hooks that were called:", ">failed</a>", "succeeded")
}
