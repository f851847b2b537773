package circle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

const (
	listPage = 1000
	// listMost bounds how many circles of one context are listed.
	listMost = 10_000
)

// List finds the circles of a context: those that Ramet has to do with, and
// those in which foreign programs have put tasks.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID) ([]domain.Circle, error) {
	space := layout.SpaceOf(tenant)
	names, err := e.names(ctx, space)
	if err != nil {
		return nil, err
	}
	faults, err := e.faults(ctx, space, names)
	if err != nil {
		return nil, err
	}
	list, sound, lists := make([]domain.Circle, len(names)), make([]int, 0, len(names)), make([]string, 0, len(names))
	for i, name := range names {
		if list[i] = (domain.Circle{Name: name, Fault: faults[name]}); list[i].Fault == "" {
			sound, lists = append(sound, i), append(lists, queue.Circle(name))
		}
	}
	lengths, err := e.board.Len(ctx, space, lists...)
	if err != nil {
		return nil, err
	}
	for i, n := range lengths {
		list[sound[i]].Queued = n
	}
	return list, nil
}

// faults says, by name, where something else lies than a list of tasks. Whoever reads
// several circles leaves those aside: one key of a stranger's is no fault of the others.
func (e *Engine) faults(ctx context.Context, space board.Space, names []string) (map[string]string, error) {
	lists := make([]string, len(names))
	for i, name := range names {
		lists[i] = queue.Circle(name)
	}
	stats, err := e.board.Stat(ctx, space, lists...)
	if err != nil {
		return nil, err
	}
	faults := map[string]string{}
	for i, s := range stats {
		if s.Kind != "" && s.Kind != board.KindList {
			what := map[board.Kind]string{board.KindRecord: "a hash", board.KindSet: "a set"}[s.Kind]
			faults[names[i]] = fmt.Sprintf("where the tasks of the circle %s would wait is no list, but %s: nobody can put a task in or take one out "+
				"until that key, %s, is deleted", names[i], cmp.Or(what, "a thing of another kind"), lists[i])
		}
	}
	return faults, nil
}

// names are those of the circles of a space, in order.
func (e *Engine) names(ctx context.Context, space board.Space) ([]string, error) {
	names, err := e.board.Members(ctx, space, layout.Circles, "", listMost)
	if err != nil {
		return nil, err
	}
	for cursor := ""; len(names) < listMost; {
		keys, next, err := e.board.Keys(ctx, space, queue.CirclePrefix, cursor, listPage)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			names = append(names, strings.TrimPrefix(key, queue.CirclePrefix))
		}
		if cursor = next; next == "" {
			break
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
