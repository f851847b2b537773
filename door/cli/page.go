package cli

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// lookMost is how many records a list looks through unless it is told otherwise.
const lookMost = 20_000

// pageMost is how many things are asked for at once.
const pageMost = 500

// listing is a command that lists what an operation lists. Its flags are the operation's
// parameters; it asks for pages until there are enough things.
type listing[P, R, T any] struct {
	op api.Op[P, R]
	of things
	// limit is how many are listed where --limit does not say. Default: 100; an operation
	// that takes no limit lists all.
	limit int
	// without names parameters that are no flags.
	without []string
	// prepare sets parameters that are none of the flags. May be nil.
	prepare func(params *P, args []string)
	// page says where an answer has what lists share.
	page func(answer *R) paged[T]
	// key names a thing, so that one that comes twice is shown once. Default: none does.
	key func(T) string
	// arrange puts all that was found in order. Default: as it came.
	arrange func([]T)
	// note is something to be said of the list, "" is nothing. May be nil.
	note func(all *R) string
	rows func(t *table, list []T)
}

// paged is what the answers of lists share.
type paged[T any] struct {
	list *[]T
	next *string
	// looked is nil where an answer does not say how many were looked at.
	looked *int
	count  *api.Counted
}

// into makes of c, which has a name and words about itself, a command that lists.
func (l listing[P, R, T]) into(a *app, c *cobra.Command) *cobra.Command {
	var none R
	filters := flagsOf(c, l.op.Operation, l.of, l.without...)
	var p paging
	if has(l.op.Operation, "limit") {
		p.flags(c, cmp.Or(l.limit, 100), l.page(&none).looked != nil)
	} else {
		p.limit = math.MaxInt
	}
	count := false
	if has(l.op.Operation, "count") {
		c.Flags().BoolVar(&count, "count", false, "say how many there are, and list none")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		var params P
		if err := filters.read(&params); err != nil {
			return err
		}
		if err := p.check(); err != nil {
			return err
		}
		if l.prepare != nil {
			l.prepare(&params, args)
		}
		return a.with(c.Context(), func(n *client.Client) error {
			set(l.op.Operation, &params, "context", a.tenant())
			ask := func() (R, error) { return client.Call(c.Context(), n, l.op, params) }
			if count {
				set(l.op.Operation, &params, "count", true)
				answer, err := ask()
				if err != nil {
					return err
				}
				return a.counted(answer, l.page(&answer).count, l.of.many)
			}
			all, err := l.collect(&p, &params, ask)
			if err != nil {
				return err
			}
			return l.show(a, &p, &all)
		})
	}
	filters.named(a, c)
	return c
}

// collect asks for pages until there are enough things, no more, or enough was looked at.
func (l listing[P, R, T]) collect(p *paging, params *P, ask func() (R, error)) (all R, err error) {
	list, looked, at, seen := []T{}, 0, p.cursor, map[string]bool{}
	for {
		set(l.op.Operation, params, "cursor", at)
		set(l.op.Operation, params, "limit", min(p.limit-len(list), pageMost))
		if all, err = ask(); err != nil {
			return all, err
		}
		page := l.page(&all)
		for _, t := range *page.list {
			if l.key != nil && seen[l.key(t)] {
				continue
			} else if l.key != nil {
				seen[l.key(t)] = true
			}
			list = append(list, t)
		}
		if page.looked != nil {
			looked += *page.looked
			*page.looked = looked
		}
		if *page.next == "" || *page.next == at || len(list) >= p.limit || p.look > 0 && looked >= p.look {
			*page.list = list
			return all, nil
		}
		at = *page.next
	}
}

func (l listing[P, R, T]) show(a *app, p *paging, all *R) error {
	page := l.page(all)
	if l.arrange != nil {
		l.arrange(*page.list)
	}
	if l.note != nil && a.output == outTable {
		if text := l.note(all); text != "" {
			defer a.complain(text)
		}
	}
	if *page.next != "" && a.output == outTable {
		defer a.complain(p.more(len(*page.list), page.looked, *page.next))
	}
	return a.print(*all, func(t *table) { l.rows(t, *page.list) })
}

// set sets a parameter of an operation by its name in the address, where there is such.
func set(o *api.Operation, params any, name string, value any) {
	if i := indexOf(o, name); i != nil {
		if err := api.SetParam(reflect.ValueOf(params).Elem().FieldByIndex(i), name, fmt.Sprint(value)); err != nil {
			panic(fmt.Sprintf("BUG: %s: %v", o.Name, err))
		}
	}
}

// has reports whether an operation has a parameter of that name in its address.
func has(o *api.Operation, name string) bool { return indexOf(o, name) != nil }

func indexOf(o *api.Operation, name string) []int {
	for _, f := range api.FieldsOf(reflect.TypeOf(o.NewParams()).Elem()) {
		if f.Tag.Get("path") == name || f.Tag.Get("query") == name {
			return f.Index
		}
	}
	return nil
}

// paging are the flags of a list that comes in pages.
type paging struct {
	limit  int
	look   int
	cursor string
}

// flags adds those of every such list, and with looks that of one whose call may
// look at many things to find few.
func (p *paging) flags(c *cobra.Command, limit int, looks bool) {
	c.Flags().IntVar(&p.limit, "limit", limit, "how many at the most")
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

// more says that there may be more, and how to get at it.
func (p *paging) more(have int, looked *int, next string) string {
	on := fmt.Sprintf(" To go on: --cursor '%s'", strings.ReplaceAll(next, "'", `'\''`))
	if have >= p.limit || looked == nil {
		return fmt.Sprintf("there may be more; --limit is %d.", p.limit) + on
	}
	return fmt.Sprintf("looked at %d, of which %d are listed; there may be more. To look at all: --look 0.", *looked, have) + on
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
