package saga

import (
	"fmt"
	"strings"
	"testing"
)

func workers(n int) (list []member) {
	for i := range n {
		list = append(list, member{owner: fmt.Sprintf("node%d/%d", i, i*7)})
	}
	return list
}

// holders says who holds what.
func holders(members []member) (by map[shardOf]string, counts map[string]int) {
	by, counts = map[shardOf]string{}, map[string]int{}
	for i := range 3000 {
		s := shardOf{tenant: 7, saga: fmt.Sprint("saga", i/3), partition: i % 3, of: 3}
		by[s] = best(s, "acme", members)
		counts[by[s]]++
	}
	return by, counts
}

func TestPartitionsAreSpreadEvenly(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10} {
		_, counts := holders(workers(n))
		for owner, got := range counts {
			if want := 3000 / n; got < want*8/10 || got > want*12/10 {
				t.Errorf("of %d workers %s has %d of 3000 partitions", n, owner, got)
			}
		}
	}
}

func TestFewPartitionsMoveWhenAWorkerGoes(t *testing.T) {
	all := workers(5)
	before, _ := holders(all)
	after, _ := holders(all[:4])
	for s, owner := range before {
		if owner != all[4].owner && after[s] != owner {
			t.Fatalf("%s moved from %s to %s", s, owner, after[s])
		}
	}
}

func TestPlacementsAreKept(t *testing.T) {
	s := shardOf{tenant: 7, saga: "order", partition: 2, of: 3}
	for _, c := range []struct {
		name   string
		serves Placement
		want   bool
	}{
		{"no wishes", Placement{}, true},
		{"its context's alias", Placement{Tenants: []string{"acme"}}, true},
		{"its context's number", Placement{Tenants: []string{"7"}}, true},
		{"another context", Placement{Tenants: []string{"8"}}, false},
		{"its saga and partition", Placement{Sagas: []string{"order"}, Partitions: []int{1, 2}}, true},
		{"another partition", Placement{Partitions: []int{0}}, false},
		{"another saga", Placement{Sagas: []string{"ship"}}, false},
	} {
		if got := best(s, "acme", []member{{owner: "me", serves: c.serves}}) == "me"; got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

func TestWhoIsNotThereToServeASaga(t *testing.T) {
	for _, c := range []struct {
		name  string
		there []member
		want  string // begins it; "": nobody is lacking
	}{
		{"somebody who serves all", []member{{owner: "a"}}, ""},
		{"two who share the partitions", []member{{"a", Placement{Partitions: []int{0}}}, {"b", Placement{Partitions: []int{1, 2}}}}, ""},
		{"nobody", nil, "no node that is alive and on duty serves sagas"},
		{"somebody for other sagas", []member{{"a", Placement{Sagas: []string{"ship"}}}}, "no node that is alive and on duty serves this saga"},
		{"somebody for a part", []member{{"a", Placement{Partitions: []int{1}}}},
			"no node that is alive and on duty serves its partitions 0, 2 (it has 0 to 2), so"},
		{"somebody for the rest", []member{{"a", Placement{Partitions: []int{0, 2}}}},
			"no node that is alive and on duty serves its partition 1 (it has 0 to 2), so"},
	} {
		if got := lacks(shardOf{tenant: 7, saga: "order", of: 3}, "acme", c.there); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func BenchmarkBest(b *testing.B) {
	all := workers(10)
	for b.Loop() {
		holders(all)
	}
}
