package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
)

// lookMost is how many records a list looks through unless it is told otherwise.
const lookMost = 20_000

// paging are the flags of a list that comes in pages.
type paging struct {
	limit  int
	look   int
	cursor string
}

// flags adds those of every such list, and with looks that of one whose call may
// look at many things to find few.
func (p *paging) flags(c *cobra.Command, looks bool) {
	c.Flags().IntVar(&p.limit, "limit", 100, "how many at the most")
	c.Flags().StringVar(&p.cursor, "cursor", "", "go on from where a list said it stopped")
	if looks {
		c.Flags().IntVar(&p.look, "look", lookMost, "how many to look at at the most until there are enough; 0: all")
	}
}

// check refuses flags that make no sense, before anything is asked.
func (p *paging) check() error {
	if p.limit < 1 {
		return domain.Invalidf("--limit %d: want 1 or more", p.limit)
	}
	if p.look < 0 {
		return domain.Invalidf("--look %d: want 1 or more, or 0 for all", p.look)
	}
	return nil
}

// collect asks for pages until there are enough things, no more, or enough was looked
// at. page gets a cursor and how many are still wanted, and returns how many came.
func (p *paging) collect(page func(cursor string, most int) (came, looked int, next string, err error)) (looked int, next string, err error) {
	next = p.cursor
	for have := 0; ; {
		at := next
		came, more, to, err := page(at, min(p.limit-have, 500))
		if err != nil {
			return looked, next, err
		}
		have, looked, next = have+came, looked+more, to
		if next == "" || next == at || have >= p.limit || p.look > 0 && looked >= p.look {
			return looked, next, nil
		}
	}
}

// tellMore says below a table that there may be more, and how to get at it.
func (a *app) tellMore(p *paging, have, looked int, next string) {
	if next == "" || a.output != outTable {
		return
	}
	if have >= p.limit {
		a.complain(fmt.Sprintf("there may be more; --limit is %d. To go on: --cursor '%s'", p.limit, next))
		return
	}
	a.complain(fmt.Sprintf("looked at %d, of which %d are listed; there may be more. To look at all: --look 0. To go on: --cursor '%s'", looked, have, next))
}
