package sqleffect

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/ramet-run/ramet/effect"
)

// dedupe is the table in which transactions write down what they did. Its key
// is context, effect and command: else a context could ask for the answer of
// another by its command's id.
type dedupe struct {
	db *sql.DB
	// These are those of the database.
	marked   func(error) bool
	fault    func(error) *fault
	numbered bool

	createSQL, markSQL, answerSQL, doneSQL string
	made                                   atomic.Bool
	making                                 chan struct{} // has a place for who makes it
}

func newDedupe(d *database, table string, create bool) *dedupe {
	u := &dedupe{db: d.db, marked: d.marked, fault: d.fault, numbered: d.numbered, making: make(chan struct{}, 1)}
	u.createSQL, u.markSQL = fmt.Sprintf(d.create, table), fmt.Sprintf(d.mark, table)
	u.answerSQL, u.doneSQL = fmt.Sprintf(d.answer, table), fmt.Sprintf(d.done, table)
	u.made.Store(!create)
	return u
}

// make makes the table where it is not there.
func (u *dedupe) make(ctx context.Context) error {
	if u.made.Load() {
		return nil
	}
	select {
	case u.making <- struct{}{}:
		defer func() { <-u.making }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if u.made.Load() {
		return nil
	}
	_, err := u.db.ExecContext(ctx, u.createSQL)
	if f := u.fault(err); f != nil && !f.retry {
		// PostgreSQL fails one of two that make it at once.
		_, err = u.db.ExecContext(ctx, u.createSQL)
	}
	u.made.Store(err == nil)
	return err
}

// begin writes down a command, and waits for another attempt that does the
// same now. It returns the answer of one that was done before.
func (u *dedupe) begin(ctx context.Context, conn *sql.Conn, call effect.Call) (stored json.RawMessage, done bool, err error) {
	key := []any{int64(call.Tenant), call.Effect, call.CommandID}
	result, err := conn.ExecContext(ctx, u.markSQL, key...)
	switch {
	case err == nil && u.marked == nil:
		n, err := result.RowsAffected()
		if err != nil || n > 0 {
			return nil, false, err
		}
	case err == nil:
		return nil, false, nil
	case u.marked == nil || !u.marked(err):
		return nil, false, err
	}
	var text sql.NullString
	if err := conn.QueryRowContext(ctx, u.answerSQL, key...).Scan(&text); err != nil {
		return nil, false, err
	}
	if !json.Valid([]byte(text.String)) {
		return nil, false, errors.New("what stands there for this command is no answer of ours")
	}
	return json.RawMessage(text.String), true, nil
}

// end writes down the answer.
func (u *dedupe) end(ctx context.Context, conn *sql.Conn, call effect.Call, out json.RawMessage) error {
	args := []any{int64(call.Tenant), call.Effect, call.CommandID}
	if u.numbered {
		args = append(args, string(out))
	} else {
		args = append([]any{string(out)}, args...)
	}
	result, err := conn.ExecContext(ctx, u.doneSQL, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return effect.Refusedf("a statement took away what was written there")
	}
	return nil
}
