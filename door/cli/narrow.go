package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// narrowing are the flags by which all lists of what the board has are narrowed down.
type narrowing struct {
	since, until, text string
	count              bool
}

func (n *narrowing) flags(c *cobra.Command) {
	n.filters(c)
	c.Flags().BoolVar(&n.count, "count", false, "say how many there are, and list none")
}

// filters are the flags without that of a count.
func (n *narrowing) filters(c *cobra.Command) {
	c.Flags().StringVar(&n.since, "since", "", "only what was made since a `time`: 90m or 7d ago, 2026-11-30, or 2026-11-30T08:00:00Z")
	c.Flags().StringVar(&n.until, "until", "", "only what was made before a `time`")
	c.Flags().StringVar(&n.text, "text", "", "only what has that `text` somewhere in what the list shows of it; capitals do not count")
}

// read is what the flags ask for.
//
// Errors: [domain.ErrInvalid].
func (n *narrowing) read() (out api.Narrowing, err error) {
	now := time.Now()
	if out.FromMs, err = instant("--since", n.since, now); err != nil {
		return out, err
	}
	out.Text = n.text
	out.ToMs, err = instant("--until", n.until, now)
	return out, err
}

// sorted adds the flag for the order of a list that has several.
func sorted(c *cobra.Command, sort *string) {
	c.Flags().StringVar(sort, "sort", "", "the `order`: newest; oldest, of what has not ended; or ended, of what ended in error")
	completes(c, "sort", api.SortNewest, api.SortOldest, api.SortEnded)
}

// counted says how many a filter fits.
func (a *app) counted(page any, n *api.Counted, what string) error {
	if n == nil {
		return domain.Unavailablef("the node does not count; is it of an older version?")
	}
	return a.print(page, func(t *table) { t.wide(countText(n, what)) })
}

func countText(n *api.Counted, what string) string {
	if n.More {
		return fmt.Sprintf("more than %d %s fit: as many were found before there was too much to look through", n.Matching, what)
	}
	return fmt.Sprintf("%d %s fit", n.Matching, what)
}

// printFields writes of v the fields that --fields names.
func (a *app) printFields(v any) error {
	selectable := api.SelectableOf(reflect.TypeOf(v))
	if len(selectable.Names) == 0 {
		return domain.Invalidf("--fields: this command shows nothing that has fields to choose from")
	}
	names, err := selectable.Choose(a.fields)
	if err != nil {
		return err
	}
	selected, err := selectable.Select(v, names)
	if err != nil {
		return err
	}
	switch a.output {
	case outJSON:
		return writeJSON(bare(a.std.Out), selected)
	case outYAML:
		return writeYAML(bare(a.std.Out), selected)
	}
	t := newTable(a.std.Out)
	if selectable.List == "" {
		fieldsOf(selected, names, func(i int, text string) { t.field(names[i], text) })
		return t.flush()
	}
	var page map[string]json.RawMessage
	var things []json.RawMessage
	if err := json.Unmarshal(selected, &page); err != nil {
		return err
	}
	if err := json.Unmarshal(page[selectable.List], &things); err != nil {
		return err
	}
	heads := make([]any, len(names))
	for i, name := range names {
		heads[i] = strings.ToUpper(name)
	}
	t.row(heads...)
	for _, thing := range things {
		row := make([]any, len(names))
		fieldsOf(thing, names, func(i int, text string) { row[i] = text })
		t.row(row...)
	}
	return t.flush()
}

// fieldsOf calls each with the fields of an object as texts, "" for what is left out.
func fieldsOf(object json.RawMessage, names []string, each func(i int, text string)) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(object, &fields) // null has none
	for i, name := range names {
		text := string(fields[name])
		if s := ""; json.Unmarshal(fields[name], &s) == nil {
			text = s
		}
		each(i, text)
	}
}
