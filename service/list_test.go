package service_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// What every list of the board has: time, text, order, count, and cursors that know their list.
func TestListsAreNarrowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.api.As(admin)
		r.submit(0, map[string]string{"SECRET": "hidden"})
		time.Sleep(10 * time.Second)
		between := time.Now().UnixMilli()
		r.submit(0, nil)
		r.submit(0, nil)
		if _, err := c.CancelJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 3}); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name   string
			filter api.JobFilter
			sort   string
			want   string // ids, in order
		}{
			{"all", api.JobFilter{}, "", "3 2 1"},
			{"since", api.JobFilter{Narrowing: api.Narrowing{FromMs: between}}, "", "3 2"},
			{"a part of a second counts", api.JobFilter{Narrowing: api.Narrowing{FromMs: between + 1}}, "", "3 2"},
			{"the next second", api.JobFilter{Narrowing: api.Narrowing{FromMs: between + 1000}}, "", ""},
			{"until", api.JobFilter{Narrowing: api.Narrowing{ToMs: between}}, "", "1"},
			{"text", api.JobFilter{Narrowing: api.Narrowing{Text: "CANCEL"}}, "", "3"},
			{"no text of what a list does not show", api.JobFilter{Narrowing: api.Narrowing{Text: "hidden"}}, "", ""},
			{"no such flow", api.JobFilter{Flow: 4}, "", ""},
			{"by default the oldest first", api.JobFilter{Status: domain.JobDispatched}, "", "1 2"},
			{"oldest", api.JobFilter{Status: domain.JobDispatched}, api.SortOldest, "1 2"},
			{"newest", api.JobFilter{Status: domain.JobDispatched}, api.SortNewest, "2 1"},
			{"newest of errors", api.JobFilter{Status: domain.JobError}, api.SortNewest, "3"},
		} {
			page, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: tc.filter, Sort: tc.sort})
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			var ids []string
			for _, j := range page.Jobs {
				ids = append(ids, j.Key().String()[len("job:10:"):])
			}
			if got := strings.Join(ids, " "); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
			}
			page, err = c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: tc.filter, Sort: tc.sort, Count: true})
			if want := len(strings.Fields(tc.want)); err != nil || *page.Count != (api.Counted{Matching: want}) || len(page.Jobs) != 0 || page.Next != "" {
				t.Errorf("%s: counted %+v, %v", tc.name, page, err)
			}
		}
	})
}

// TestAJobIsFoundByWhatListsSayItIsAt, which no field of it has.
func TestAJobIsFoundByWhatListsSayItIsAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.submit(1, nil)
		r.submit(2, nil)
		b := board.Batch{Space: layout.SpaceOf(house)}
		b.Set(domain.JobKey{Caller: admin, ID: 2}.String(), board.Field{Name: layout.JobStatus, Value: string(domain.JobStarted)},
			layout.SuspendedField(&domain.Suspension{Kind: "sleep"}))
		if err := r.board.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		page, err := r.api.As(admin).ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: api.JobFilter{Narrowing: api.Narrowing{Text: "SUSPEND"}}})
		if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != 2 {
			t.Errorf("got %+v, %v", page.Jobs, err)
		}
	})
}

func TestListsRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		c := r.api.As(admin)
		r.submit(1, nil)
		r.submit(2, nil)
		page, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, Limit: 1})
		if err != nil || page.Next == "" {
			t.Fatal(page, err)
		}
		for text, p := range map[string]api.ListJobsParams{
			"did you mean newest?":        {Sort: "newset"},
			"what has not ended":          {Sort: api.SortOldest},
			"give status error":           {Sort: api.SortEnded, JobFilter: api.JobFilter{Status: domain.JobStarted}},
			"did you mean started?":       {JobFilter: api.JobFilter{Status: "startd"}},
			"from_ms before to_ms":        {JobFilter: api.JobFilter{Narrowing: api.Narrowing{FromMs: 5, ToMs: 5}}},
			"the limit is 1024":           {JobFilter: api.JobFilter{Narrowing: api.Narrowing{Text: strings.Repeat("x", 1025)}}},
			"begin that list anew":        {Cursor: page.Next, JobFilter: api.JobFilter{Type: "shell"}},
			"or in another order":         {Cursor: page.Next, Sort: api.SortNewest},
			"want the next of the page b": {Cursor: "x" + page.Next},
		} {
			p.Context = house
			if _, err := c.ListJobs(t.Context(), p); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), text) {
				t.Errorf("got %v, want %q", err, text)
			}
		}
		if rest, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, Limit: 5, Cursor: page.Next}); err != nil || len(rest.Jobs) != 1 {
			t.Errorf("with its own filters the cursor goes on: %+v, %v", rest, err)
		}
	})
}

// Whoever may not see a schedule's environment cannot guess at it by what a list has.
func TestSchedulesAreNarrowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScheduleRig(t)
		for _, name := range []string{"nightly", "hourly"} {
			p := nightly()
			p.Name, p.Env["SECRET"] = name, "secret"
			if _, err := r.api.As(admin).ApplySchedule(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		for _, tc := range []struct {
			p    api.ScheduleListParams
			want int
		}{
			{api.ScheduleListParams{}, 2},
			{api.ScheduleListParams{Blueprint: "b"}, 2},
			{api.ScheduleListParams{Blueprint: "c"}, 0},
			{api.ScheduleListParams{Where: `schedule.name == "nightly"`}, 1},
			{api.ScheduleListParams{Narrowing: api.Narrowing{Text: "Night"}}, 1},
			{api.ScheduleListParams{Narrowing: api.Narrowing{Text: "secret"}}, 0},
			{api.ScheduleListParams{Where: `schedule.env != ()`}, 0},
		} {
			tc.p.Context, tc.p.Count = house, true
			if page, err := r.api.As(reader).ListSchedules(t.Context(), tc.p); err != nil || page.Count.Matching != tc.want {
				t.Errorf("%+v: %+v, %v", tc.p, page, err)
			}
		}
		one, err := r.api.As(reader).ListSchedules(t.Context(), api.ScheduleListParams{Context: house, Limit: 1})
		if err != nil || len(one.Schedules) != 1 || one.Next == "" {
			t.Fatal(one, err)
		}
		two, err := r.api.As(reader).ListSchedules(t.Context(), api.ScheduleListParams{Context: house, Limit: 1, Cursor: one.Next})
		if err != nil || len(two.Schedules) != 1 || two.Schedules[0].Name == one.Schedules[0].Name {
			t.Error(two, err)
		}
	})
}
