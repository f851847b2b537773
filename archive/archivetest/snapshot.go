package archivetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/archive"
)

var snapshotTests = []test{
	{"a snapshot has every record whole, and every name, as they were", func(t *testing.T, f Factory) {
		r := open(t, f)
		name := archive.Name{Context: 1, Blueprint: "b", Trigger: "claimed"}
		r.put(job(1, 1, 1000), flow(1, 2, 2000, "b", "x"), job(2, 1, 3000))
		if _, err := r.Claim(r.Context(), name, "flow:9", time.UnixMilli(5)); err != nil {
			t.Fatal(err)
		}
		was, err := r.Snapshot(r.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer was.Close()
		r.put(job(1, 3, 4000))
		if err := r.Release(r.Context(), name, "flow:9"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Delete(r.Context(), time.UnixMilli(1500), 10); err != nil {
			t.Fatal(err)
		}
		var keys []string
		err = was.Records(r.Context(), func(rec archive.Record) error {
			keys = append(keys, rec.Key)
			if len(rec.Body) == 0 {
				t.Errorf("record %s has no body", rec.Key)
			}
			if rec.Context == 2 {
				want, err := r.Get(r.Context(), 2, rec.Key, 0)
				if diff := cmp.Diff(want, rec); err != nil || diff != "" {
					t.Errorf("%v, -want +got:\n%s", err, diff)
				}
			}
			return nil
		})
		if slices.Sort(keys); err != nil || len(keys) != 3 {
			t.Errorf("got records %v, %v", keys, err)
		}
		var names []archive.Claimed
		err = was.Names(r.Context(), func(c archive.Claimed) error { names = append(names, c); return nil })
		slices.SortFunc(names, func(a, b archive.Claimed) int { return int(a.ClaimedMs - b.ClaimedMs) })
		want := []archive.Claimed{{Name: name, Key: "flow:9", ClaimedMs: 5},
			{Name: archive.Name{Context: 1, Blueprint: "b", Trigger: "x"}, Key: flow(1, 2, 1, "b", "x").Key, ClaimedMs: 2000}}
		if diff := cmp.Diff(want, names); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}},
}
