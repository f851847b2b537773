package script

import (
	"context"
	"errors"
	"time"
)

// AnswerTime bounds the question whether a command works here. It is asked when a node
// starts, and then everything else of the machine may be starting, too; what gives no
// answer is asked again later.
const AnswerTime = 30 * time.Second

// AnswerError is why a command that was asked under ctx gave no answer: err, or that it was
// too slow, where the signal that ended it then would say that it is broken.
func AnswerError(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("it gave no answer in time; if this machine was only busy, it is asked again by and by")
	}
	return err
}
