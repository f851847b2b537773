package archivetest

import (
	order "cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// pages collects all pages of a query and how many there were.
func (r rig) pages(q archive.Query, between func()) (all []archive.Record, n int) {
	r.Helper()
	for n = 1; ; n++ {
		page, err := r.Search(r.Context(), q)
		if err != nil {
			r.Fatal(err)
		}
		if q.Limit > 0 && len(page.Records) > q.Limit {
			r.Fatalf("got a page of %d, want %d at the most", len(page.Records), q.Limit)
		}
		all = append(all, page.Records...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all, n
		}
		between()
	}
}

var pageTests = []test{
	{"pages hold each record once, newest end first, then by key downwards", func(t *testing.T, f Factory) {
		r := open(t, f)
		var records []archive.Record
		for id := range domain.JobID(23) {
			records = append(records, job(1, id+1, 1000+int64(id)/4)) // several at one instant
		}
		r.put(records...)
		// Of one instant "job:1:9" comes before "job:1:12".
		slices.SortFunc(records, func(a, b archive.Record) int {
			return order.Or(order.Compare(b.EndMs, a.EndMs), strings.Compare(b.Key, a.Key))
		})
		want := keysOf(records)
		for _, limit := range []int{1, 4, 5, 22, 23, 24, 0} {
			got, n := r.pages(archive.Query{Context: 1, Limit: limit}, func() {})
			if diff := cmp.Diff(want, keysOf(got)); diff != "" {
				t.Errorf("limit %d (-want +got):\n%s", limit, diff)
			}
			if limit > 0 && n != (23+limit-1)/limit {
				t.Errorf("limit %d: got %d pages", limit, n)
			}
		}
	}},
	{"what is put while somebody pages disturbs no page", func(t *testing.T, f Factory) {
		r := open(t, f)
		for id := range domain.JobID(10) {
			r.put(job(1, id+1, 1000+int64(id)))
		}
		newer := domain.JobID(100)
		got, _ := r.pages(archive.Query{Context: 1, Limit: 3}, func() {
			newer++
			r.put(job(1, newer, 9000))
		})
		want := []string{"job:1:10", "job:1:9", "job:1:8", "job:1:7", "job:1:6", "job:1:5", "job:1:4", "job:1:3", "job:1:2", "job:1:1"}
		if diff := cmp.Diff(want, keysOf(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}},
	{"a list has heads only, unless whole records are asked for", func(t *testing.T, f Factory) {
		r := open(t, f)
		want := job(1, 1, 1000)
		want.Logs = []domain.Log{{Stream: "stdout", Line: "x"}}
		r.put(want)
		want.Texts = nil // they are not kept
		heads, _ := r.pages(archive.Query{Context: 1}, func() {})
		if heads[0].Body != nil || heads[0].Logs != nil || heads[0].Status != "finished" {
			t.Errorf("got %+v, want a head", heads[0])
		}
		whole, _ := r.pages(archive.Query{Context: 1, Whole: true}, func() {})
		if diff := cmp.Diff([]archive.Record{want}, whole); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}},
	{"a page of large whole records ends early and loses none", func(t *testing.T, f Factory) {
		r := open(t, f)
		const n = 5
		for id := range domain.JobID(n) {
			r.put(job(1, id+1, 1000, func(j *domain.Job) { j.Script = strings.Repeat("s", archive.MaxPageBytes*2/5) }))
		}
		got, pages := r.pages(archive.Query{Context: 1, Whole: true}, func() {})
		if len(got) != n || pages != 3 {
			t.Errorf("got %d records on %d pages, want %d on 3", len(got), pages, n)
		}
		for i, rec := range got {
			if want := fmt.Sprintf("job:1:%d", n-i); rec.Key != want {
				t.Errorf("got %s, want %s", rec.Key, want)
			}
		}
	}},
}
