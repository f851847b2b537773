package archivetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

func (r rig) removes(beforeMs int64, limit, want int) {
	r.Helper()
	if got, err := r.Delete(r.Context(), at(beforeMs), limit); err != nil || got != want {
		r.Errorf("delete before %d: got %d, %v, want %d", beforeMs, got, err, want)
	}
}

func (r rig) holder(name archive.Name, want string) {
	r.Helper()
	got, err := r.Holder(r.Context(), name)
	if want == "" {
		r.refused(err, domain.ErrNotFound, "holder of "+name.Trigger)
	} else if err != nil || got != want {
		r.Errorf("holder of %s: got %q, %v, want %q", name.Trigger, got, err, want)
	}
}

var deleteTests = []test{
	{"retention removes what is old, oldest first, in bounded batches", func(t *testing.T, f Factory) {
		r := open(t, f)
		word := func(j *domain.Job) { j.Script = "wort" }
		r.put(job(1, 1, 1000, word), job(2, 2, 2000, word), job(1, 3, 3000, word), job(1, 4, 4000, word))
		r.removes(4000, 2, 2)
		r.finds(archive.Query{Context: 1}, "job:1:4", "job:1:3")
		r.finds(archive.Query{Context: 2})
		r.removes(4000, 2, 1)
		r.removes(4000, 2, 0)
		r.finds(archive.Query{Context: 1, Text: "wort"}, "job:1:4")
		r.put(job(1, 1, 1000, word)) // nothing of it is left behind
		r.finds(archive.Query{Context: 1, Text: "wort"}, "job:1:4", "job:1:1")
	}},
	{"what is removed leaves no words behind", func(t *testing.T, f Factory) {
		r := open(t, f)
		for id := range domain.JobID(3) {
			r.put(job(1, id+1, 1000, func(j *domain.Job) { j.Script = "wort" }))
		}
		r.removes(2000, 100, 3) // all: a store may give their places anew
		for id := range domain.JobID(3) {
			r.put(job(1, id+10, 3000))
		}
		r.finds(archive.Query{Context: 1, Text: "wort"})
		r.finds(archive.Query{Context: 1, Text: "exit"}, "job:1:12", "job:1:11", "job:1:10")
	}},
	{"a name goes with its record, and one without a record when it is old", func(t *testing.T, f Factory) {
		r := open(t, f)
		name := func(trigger string) archive.Name { return archive.Name{Context: 1, Blueprint: "b", Trigger: trigger} }
		r.put(flow(1, 1, 1000, "b", "old"), flow(1, 2, 5000, "b", "new"))
		for trigger, ms := range map[string]int64{"old claim": 1000, "new claim": 5000} {
			if _, err := r.Claim(t.Context(), name(trigger), "flow:9", at(ms)); err != nil {
				t.Fatal(err)
			}
		}
		// Claimed long ago, ended lately: the record keeps it.
		if _, err := r.Claim(t.Context(), name("long"), "flow:3", at(1000)); err != nil {
			t.Fatal(err)
		}
		r.put(flow(1, 3, 5000, "b", "long"))
		r.removes(3000, 100, 1)
		r.holder(name("old"), "")
		r.holder(name("old claim"), "")
		r.holder(name("new"), "flow:2")
		r.holder(name("new claim"), "flow:9")
		r.holder(name("long"), "flow:3")
	}},
	{"a limit out of range is refused", func(t *testing.T, f Factory) {
		r := open(t, f)
		for _, limit := range []int{0, -1, archive.MaxDelete + 1} {
			_, err := r.Delete(t.Context(), at(1), limit)
			r.refused(err, domain.ErrInvalid, fmt.Sprint(limit))
		}
	}},
}

var nameTests = []test{
	{"one of many who ask at once gets a name", func(t *testing.T, f Factory) {
		r := open(t, f)
		name := archive.Name{Context: 1, Blueprint: "b", Trigger: "t"}
		var wg sync.WaitGroup
		holders := make([]string, 16)
		for i := range holders {
			wg.Go(func() {
				var err error
				if holders[i], err = r.Claim(t.Context(), name, fmt.Sprintf("flow:%d", i), at(1000)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, h := range holders {
			if h != holders[0] || h == "" {
				t.Errorf("caller %d was told that %q has the name, the first was told %q", i, h, holders[0])
			}
		}
		r.holder(name, holders[0])
	}},
	{"a key may claim its own name again, and others get to know it", func(t *testing.T, f Factory) {
		r := open(t, f)
		name := archive.Name{Context: 1, Blueprint: "b", Trigger: "t"}
		r.holder(name, "")
		for key, want := range map[string]string{"flow:1": "flow:1"} {
			for range 2 {
				if got, err := r.Claim(t.Context(), name, key, at(1000)); err != nil || got != want {
					t.Errorf("claim by %s: got %q, %v", key, got, err)
				}
			}
		}
		if got, err := r.Claim(t.Context(), name, "flow:2", at(1000)); err != nil || got != "flow:1" {
			t.Errorf("claim by another: got %q, %v, want flow:1", got, err)
		}
		other := name
		other.Context = 2
		if got, err := r.Claim(t.Context(), other, "flow:2", at(1000)); err != nil || got != "flow:2" {
			t.Errorf("the same name in another context: got %q, %v", got, err)
		}
	}},
	{"a flow that is put takes its name, unless another has it", func(t *testing.T, f Factory) {
		r := open(t, f)
		name := archive.Name{Context: 1, Blueprint: "b", Trigger: "t"}
		r.put(flow(1, 1, 1000, "b", "t"))
		r.holder(name, "flow:1")
		r.put(flow(1, 2, 2000, "b", "t")) // nothing is lost, and the name stays
		r.holder(name, "flow:1")
		r.finds(archive.Query{Context: 1, Blueprint: "b", Trigger: "t"}, "flow:2", "flow:1")
	}},
	{"who has a name can let go of it", func(t *testing.T, f Factory) {
		r := open(t, f)
		name, other := archive.Name{Context: 1, Blueprint: "b", Trigger: "t"}, archive.Name{Context: 2, Blueprint: "b", Trigger: "t"}
		r.put(flow(1, 1, 1000, "b", "t"), flow(2, 1, 1000, "b", "t"))
		if err := r.Release(t.Context(), name, "flow:2"); err != nil {
			t.Fatal(err)
		}
		r.holder(name, "flow:1")
		for range 2 { // the second finds nothing
			if err := r.Release(t.Context(), name, "flow:1"); err != nil {
				t.Fatal(err)
			}
		}
		r.holder(name, "")
		r.holder(other, "flow:1")
		r.finds(archive.Query{Context: 1, Blueprint: "b", Trigger: "t"}, "flow:1")
		if got, err := r.Claim(t.Context(), name, "flow:3", at(2000)); err != nil || got != "flow:3" {
			t.Errorf("claim of the free name: got %q, %v", got, err)
		}
	}},
	{"a cut takes the oldest with their own names, and no name that has no record yet", func(t *testing.T, f Factory) {
		r := open(t, f)
		name := func(trigger string) archive.Name { return archive.Name{Context: 1, Blueprint: "b", Trigger: trigger} }
		word := func(j *domain.Job) { j.Script = "wort" }
		r.put(flow(1, 1, 1000, "b", "old"), job(1, 2, 2000, word), flow(1, 3, 3000, "b", "mid"), flow(1, 3, 6000, "b", "mid"), flow(1, 4, 7000, "b", "new"))
		if _, err := r.Claim(t.Context(), name("runs"), "flow:9", at(500)); err != nil {
			t.Fatal(err)
		}
		cut := func(beforeMs int64, limit, want int) {
			t.Helper()
			if got, err := r.Cut(t.Context(), at(beforeMs), limit); err != nil || got != want {
				t.Errorf("cut before %d: got %d, %v, want %d", beforeMs, got, err, want)
			}
		}
		cut(1000, 10, 0)
		cut(7000, 1, 1)
		r.holder(name("old"), "")
		r.holder(name("mid"), "flow:3")
		cut(5000, 10, 2)
		r.holder(name("mid"), "flow:3") // it has another record
		r.holder(name("runs"), "flow:9")
		r.finds(archive.Query{Context: 1}, "flow:4", "flow:3")
		r.finds(archive.Query{Context: 1, Text: "wort"})
		cut(7001, 10, 2)
		r.holder(name("mid"), "")
		r.holder(name("new"), "")
		r.holder(name("runs"), "flow:9")
		_, err := r.Cut(t.Context(), at(1), 0)
		r.refused(err, domain.ErrInvalid, "cut")
	}},
	{"a size grows with what there is, and gets smaller with what is gone", func(t *testing.T, f Factory) {
		r := open(t, f)
		size := func() archive.Size {
			t.Helper()
			s, err := r.Size(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		empty := size()
		if empty.Records != 0 {
			t.Errorf("an empty one: got %+v", empty)
		}
		large := make([]byte, 8<<10)
		for i := range large {
			large[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[(i*i*31+i*7)%36]
		}
		for n := range 10 {
			var list []archive.Record
			for i := range 20 {
				list = append(list, job(1, domain.JobID(n*20+i+1), 1000+int64(n), func(j *domain.Job) { j.Script = string(large[i*100:]) }))
			}
			r.put(list...)
		}
		full := size()
		if full.Records != 200 || full.Bytes < empty.Bytes+200<<9 {
			t.Errorf("got %+v, it was %+v", full, empty)
		}
		if _, err := r.Cut(t.Context(), at(5000), 150); err != nil {
			t.Fatal(err)
		}
		if s := size(); s.Records != 50 {
			t.Errorf("after a cut: got %+v", s)
		}
	}},
	{"a bad name is refused", func(t *testing.T, f Factory) {
		r := open(t, f)
		for _, name := range []archive.Name{{}, {Context: 1, Blueprint: "b"}, {Context: 1, Trigger: "t"}, {Blueprint: "b", Trigger: "t"}} {
			_, err := r.Claim(t.Context(), name, "flow:1", at(1))
			r.refused(err, domain.ErrInvalid, "claim")
			_, err = r.Holder(t.Context(), name)
			r.refused(err, domain.ErrInvalid, "holder")
		}
	}},
}

var closeTests = []test{
	{"a closed archive is unavailable", func(t *testing.T, f Factory) {
		r := open(t, f)
		r.put(job(1, 1, 1000))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r.refused(r.Put(t.Context(), []archive.Record{job(1, 2, 1000)}), domain.ErrUnavailable, "put")
		_, err := r.Get(t.Context(), 1, "job:1:1", 0)
		r.refused(err, domain.ErrUnavailable, "get")
		_, err = r.Search(t.Context(), archive.Query{Context: 1})
		r.refused(err, domain.ErrUnavailable, "search")
		r.refused(r.Ping(t.Context()), domain.ErrUnavailable, "ping")
	}},
	{"a caller that has gone is told so", func(t *testing.T, f Factory) {
		r := open(t, f)
		r.put(job(1, 1, 1000))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r.refused(r.Put(ctx, []archive.Record{job(1, 2, 1000)}), context.Canceled, "put")
		_, err := r.Search(ctx, archive.Query{Context: 1})
		r.refused(err, context.Canceled, "search")
	}},
}
