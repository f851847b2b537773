package circle

import (
	"context"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Circle is one circle of a context.
type Circle struct {
	Name string `json:"name"`
	// Queued is how many tasks wait in it.
	Queued int `json:"queued"`
}

const (
	listPage = 1000
	// listMost bounds how many circles of one context are listed.
	listMost = 10_000
)

// List finds the circles of a context: those that Ramet has to do with, and
// those in which foreign programs have put tasks.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID) ([]Circle, error) {
	space := layout.SpaceOf(tenant)
	names, err := e.names(ctx, space)
	if err != nil {
		return nil, err
	}
	list, lists := make([]Circle, len(names)), make([]string, len(names))
	for i, name := range names {
		list[i].Name, lists[i] = name, layout.Circle(name)
	}
	lengths, err := e.board.Len(ctx, space, lists...)
	if err != nil {
		return nil, err
	}
	for i, n := range lengths {
		list[i].Queued = n
	}
	return list, nil
}

// names are those of the circles of a space, in order.
func (e *Engine) names(ctx context.Context, space board.Space) ([]string, error) {
	names, err := e.board.Members(ctx, space, layout.Circles, "", listMost)
	if err != nil {
		return nil, err
	}
	for cursor := ""; len(names) < listMost; {
		keys, next, err := e.board.Keys(ctx, space, layout.CirclePrefix, cursor, listPage)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			names = append(names, strings.TrimPrefix(key, layout.CirclePrefix))
		}
		if cursor = next; next == "" {
			break
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
