package console

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

const (
	// runsLook is how many of the flows that ended last the overview looks at.
	runsLook = 300
	// runBars is how many runs of a blueprint are drawn; runHeight and runWidth are those
	// of the drawing, in pixels.
	runBars   = 30
	runHeight = 22.0
	runWidth  = 7.0
)

// runs is how a blueprint's flows ended, of those that ended last.
type runs struct {
	Name, Link string
	Count      int
	Wrong      int
	Usual      string // how long the middle one took
	Last       moment
	Bars       []runBar // oldest first
	Width      float64
}

// runBar is one run: as high as it took long, in the colour of its end.
type runBar struct {
	X, Y, Height float64
	Link, Title  string
	State        state
}

// recentRuns reads how flows ended that only the archive may have, by blueprint, those
// with the most first. Without an archive there are none.
func (v *visit) recentRuns() (list []runs, err error) {
	found, ok, err := v.beside(api.ArchiveFilter{Kind: domain.ArchiveFlow, Limit: runsLook})
	if !ok || err != nil {
		return nil, err
	}
	byName := map[string][]*api.ArchiveRecord{}
	for i := range found.Records {
		r := &found.Records[i]
		byName[r.Blueprint] = append(byName[r.Blueprint], r)
	}
	for name, records := range byName {
		list = append(list, v.runsOf(name, records))
	}
	slices.SortFunc(list, func(a, b runs) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return list[:min(len(list), overviewMost)], nil
}

// runsOf sums up the runs of one blueprint, the newest first.
func (v *visit) runsOf(name string, records []*api.ArchiveRecord) runs {
	r := runs{Name: cmp.Or(name, "without a blueprint"), Link: v.path("flows") + query("blueprint", name), Count: len(records), Last: v.past(records[0].EndMs)}
	longest := int64(1)
	took := func(rec *api.ArchiveRecord) int64 { return rec.EndMs - rec.BeginMs }
	for _, rec := range records {
		if recordState(rec).Class != succeeded {
			r.Wrong++
		}
	}
	shown := slices.Clone(records[:min(len(records), runBars)])
	for i := range shown {
		longest = max(longest, took(shown[i]))
	}
	slices.Reverse(shown)
	for i, rec := range shown {
		height := max(3, runHeight*float64(max(0, took(rec)))/float64(longest))
		st := recordState(rec)
		id, _ := domain.ParseFlowKey(rec.Key) // an archive's own key
		r.Bars = append(r.Bars, runBar{X: runWidth * float64(i), Y: runHeight - height, Height: height, Link: v.path("flows/%d", id), State: st,
			Title: fmt.Sprintf("%s %s: %s, %s", cmp.Or(rec.Trigger, rec.Key), momentOf(rec.EndMs, v.now).Exact, st.Word, recordTook(rec))})
	}
	r.Width = runWidth * float64(len(shown))
	byTook := slices.SortedFunc(slices.Values(records), func(a, b *api.ArchiveRecord) int { return cmp.Compare(took(a), took(b)) })
	r.Usual = recordTook(byTook[len(byTook)/2])
	return r
}

// recordState is how a flow ended that the archive has.
func recordState(r *api.ArchiveRecord) state {
	return flowEnd(&domain.Flow{Status: domain.FlowStatus(r.Status), Reason: domain.FlowReason(r.Reason)})
}
