package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// leavesNothing looks whether work waits on the data folder's own board, where the
// node is to stand on another: nobody would do it.
//
// Errors: [domain.ErrConflict].
func (o options) leavesNothing(ctx context.Context) error {
	own := filepath.Join(o.dataDir, boardFolder)
	if _, err := os.Stat(own); boardKind(o.boardURL) == "embedded" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	b, err := openBoard(ctx, options{dataDir: o.dataDir, log: o.log})
	if err != nil {
		return fmt.Errorf("look what waits on the data folder's own board, %s (move it away to start without it): %w", own, err)
	}
	defer b.Close()
	such := ""
	err = clockwork.EachTenant(ctx, b, func(t domain.TenantID) error {
		items, err := b.Live(ctx, layout.SpaceOf(t), board.LiveItem{}, 1)
		if len(items) > 0 {
			such = fmt.Sprintf("%s of context %d", items[0].Item, t)
		}
		return err
	})
	if err == nil && such != "" {
		return domain.Conflictf("work waits on the data folder's own board, such as %s, and would be left behind: let a node without --board end it, "+
			"choose another folder with --data, or move %s away", such, own)
	}
	return err
}
