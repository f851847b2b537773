package console

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

// This file has how a context is set up: its bounds, how its scripts are held in, what of it is
// archived, and the hooks for flows that have none of their own.

func (v *visit) settingsPage() error {
	shown, err := call(v, api.ContextShow, api.ContextParams{Context: v.tenant.ID})
	if err != nil {
		return err
	}
	settings := settingsOf(&shown)
	if v.may(api.ContextArtifacts.Operation) { // whoever runs the node may look at the rest without a role here
		room, err := call(v, api.ContextArtifacts, api.ContextParams{Context: v.tenant.ID})
		if err != nil {
			return err
		}
		settings = append(settings, roomPairs(room)...)
	}
	t := table{Name: "Settings", Head: []column{{"Setting", "name"}, {"Is", "full"}}}
	for _, p := range settings {
		t.Rows = append(t.Rows, row{Cells: []entry{words(p.Name), words(p.Value)}})
	}
	hooks := hookTable(shown.On)
	b := &listBody{Tables: []table{t, *hooks}, Intro: "How context " + contextName(v.tenant) + " is set up. The command changes it."}
	if len(hooks.Rows) == 0 {
		b.Intro += " It has no hooks of its own: a flow that has none tells nobody of its end."
	}
	return v.rightsPage("Settings", nil, "ramet context update "+contextName(v.tenant)+" --help", b)
}

// roomPairs say how much the files take that jobs have left.
func roomPairs(room domain.ArtifactRoom) []pair {
	text := doctor.SizeText(room.Bytes)
	if room.Limit > 0 {
		text += " of " + doctor.SizeText(room.Limit) + ", " + strconv.FormatFloat(100*float64(room.Bytes)/float64(room.Limit), 'f', 1, 64) + " %"
	}
	return []pair{{"files of its jobs", text}}
}

// settingsOf are a context's settings in words.
func settingsOf(c *api.ShownContext) []pair {
	bound := func(n int) string {
		if n == 0 {
			return "as many as there are slots"
		}
		return strconv.Itoa(n)
	}
	list := []pair{{"jobs that run at once", bound(c.MaxRunning)}}
	for _, typ := range slices.Sorted(maps.Keys(c.MaxRunningByType)) {
		list = append(list, pair{"of type " + string(typ), strconv.Itoa(c.MaxRunningByType[typ])})
	}
	submit := "no"
	if c.ExecutorsMaySubmit {
		submit = yes
	}
	list = append(list, pair{"weight", strconv.Itoa(cmp.Or(c.Weight, 1))}, pair{"executors submit", submit},
		pair{"scripts are", cmp.Or(string(c.Isolation), "held in as each node does")},
		pair{"archived is", strings.ReplaceAll(string(cmp.Or(c.Archives, domain.ArchivesAll)), "all", "all that ends")})
	if e := c.Encryption; e != nil && e.On {
		list = append(list, pair{"on disk", "encrypted, with key " + e.Key})
	}
	return list
}
