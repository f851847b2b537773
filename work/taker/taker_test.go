package taker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work/taker"
)

func TestTakers(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	runner := func(change ...func(*domain.Runner)) domain.Runner {
		r := domain.Runner{ID: 1, Node: "n", SeenMs: now.UnixMilli(), Serves: []domain.Service{{ScriptType: "go", Served: true, Level: domain.Walled,
			Levels: []domain.Isolation{domain.Walled}, Offers: map[string][]string{"effect": {"mail"}}}}, Labels: domain.Labels{"zone": "eu"}}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	silent := func(r *domain.Runner) { r.SeenMs -= domain.NodeSilence.Milliseconds() }
	unserved := func(r *domain.Runner) { r.Serves[0].Served = false }
	off := func(r *domain.Runner) { r.Off = []domain.Off{{Role: domain.RoleKeeper}, {Role: domain.RoleRunner}} }
	keeper := func(r *domain.Runner) { r.Off = []domain.Off{{Role: domain.RoleKeeper}} }
	locked := func(r *domain.Runner) { r.Locked = []domain.Locked{{Context: 7, Key: "disk"}} }
	labels := func(text string) domain.Labels {
		name, value, _ := strings.Cut(text, "=")
		return domain.Labels{name: value}
	}
	for _, tt := range []struct {
		name    string
		runners []domain.Runner
		want    taker.Want
		takers  int
		lack    string
	}{
		{"there is nobody", nil, taker.Want{Type: "go"}, 0, "no node that is alive serves go: see `ramet runner list`"},
		{"one serves it", []domain.Runner{runner()}, taker.Want{Type: "go"}, 1, ""},
		{"two serve it", []domain.Runner{runner(), runner()}, taker.Want{Type: "go"}, 2, ""},
		{"one serves another type", []domain.Runner{runner()}, taker.Want{Type: "rust"}, 0, "no node that is alive serves rust"},
		{"it cannot work there", []domain.Runner{runner(unserved)}, taker.Want{Type: "go"}, 0, "no node that is alive serves go"},
		{"it is silent", []domain.Runner{runner(silent)}, taker.Want{Type: "go"}, 0, "no node that is alive serves go"},
		{"it has the label", []domain.Runner{runner()}, taker.Want{Type: "go", Labels: labels("zone=eu")}, 1, ""},
		{"its type offers the label", []domain.Runner{runner()}, taker.Want{Type: "go", Labels: labels("effect=mail")}, 1, ""},
		{"it has another label", []domain.Runner{runner()}, taker.Want{Type: "go", Labels: labels("zone=us")}, 0, "serves go with the labels zone=us"},
		{"another runner is asked for", []domain.Runner{runner()}, taker.Want{Type: "go", Runner: 2}, 0,
			"runner 2, which alone may take it, is not alive or does not serve go"},
		{"it has lost its duty", []domain.Runner{runner(off)}, taker.Want{Type: "go"}, 0, "rules have taken the duty of a runner from every node"},
		{"it has lost another duty", []domain.Runner{runner(keeper)}, taker.Want{Type: "go"}, 1, ""},
		{"the context is locked", []domain.Runner{runner(locked)}, taker.Want{Type: "go", Context: 7}, 0, `encrypted with the key "disk"`},
		{"another context is locked", []domain.Runner{runner(locked)}, taker.Want{Type: "go", Context: 8}, 1, ""},
		{"it cannot hold it in", []domain.Runner{runner()}, taker.Want{Type: "go", Isolation: domain.Sealed}, 0, "its context wants its scripts sealed"},
		{"what is nearest counts", []domain.Runner{runner(silent), runner(locked), runner(off)}, taker.Want{Type: "go", Context: 7}, 0, "the key"},
		{"one is enough", []domain.Runner{runner(silent), runner(off), runner(), runner(locked)}, taker.Want{Type: "go", Context: 7}, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			takers, lack := taker.Of(tt.runners, tt.want, now)
			if len(takers) != tt.takers || (lack == "") != (tt.lack == "") || !strings.Contains(lack, tt.lack) {
				t.Errorf("got %d, %q, want %d, %q", len(takers), lack, tt.takers, tt.lack)
			}
		})
	}
}

func TestAbsent(t *testing.T) {
	now := time.UnixMilli(1_000_000_000)
	there := domain.Runner{ID: 1, Node: "n", SeenMs: now.UnixMilli()}
	silent, off, foreign := there, there, there
	silent.SeenMs -= domain.NodeSilence.Milliseconds()
	off.Off = []domain.Off{{Role: domain.RoleKeeper}}
	foreign.Node = ""
	for _, tt := range []struct {
		name    string
		runners []domain.Runner
		lack    string
	}{
		{"there is nobody", nil, "no node is alive that is on duty as keeper: start one with `ramet serve`"},
		{"one is there", []domain.Runner{there}, ""},
		{"it is silent", []domain.Runner{silent}, "no node is alive"},
		{"it is foreign", []domain.Runner{foreign}, "no node is alive"},
		{"it has lost the duty", []domain.Runner{off, silent}, "rules have taken the duty of a keeper from every node that is alive"},
		{"one is enough", []domain.Runner{off, there}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lack := taker.Absent(tt.runners, domain.RoleKeeper, now)
			if (lack == "") != (tt.lack == "") || !strings.Contains(lack, tt.lack) {
				t.Errorf("got %q, want %q", lack, tt.lack)
			}
		})
	}
}
