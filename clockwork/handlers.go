package clockwork

import (
	"context"

	"github.com/ramet-run/ramet/board"
)

// AlarmHandler handles an alarm that has come; ours is false for alarms of
// others.
type AlarmHandler func(ctx context.Context, a board.Alarm) (ours bool, err error)

// Handlers asks each handler in turn whose alarm it is.
func Handlers(list ...AlarmHandler) AlarmHandler {
	return func(ctx context.Context, a board.Alarm) (bool, error) {
		for _, handle := range list {
			if ours, err := handle(ctx, a); ours || err != nil {
				return ours, err
			}
		}
		return false, nil
	}
}
