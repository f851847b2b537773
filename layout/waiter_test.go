package layout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

func TestWaiters(t *testing.T) {
	message := []layout.Waiter{{Key: "message:12:5", Field: "open", Queue: "ramet:queue:result"}}
	for _, c := range []struct {
		name string
		job  domain.Job
		want []layout.Waiter
	}{
		{"nobody", domain.Job{CallerID: 12}, nil},
		{"the message that it came with", domain.Job{CallerID: 12, Message: "message:12:5"}, message},
		{"not the one that it was sent by", domain.Job{CallerID: 12, Message: "message:12:5", At: "8"}, nil},
		{"not another's", domain.Job{CallerID: 13, Message: "message:12:5"}, nil},
		{"not in another spelling", domain.Job{CallerID: 12, Message: "message:12:05"}, nil},
		{"not what is no message", domain.Job{CallerID: 12, Message: "job:12:5"}, nil},
		{"the routine", domain.Job{CallerID: 12, Routine: "sync:1.0"}, []layout.Waiter{{Alarm: "routine:sync:1.0"}}},
		{"not what is no routine", domain.Job{CallerID: 12, Routine: "no routine"}, nil},
		{"both", domain.Job{CallerID: 12, Message: "message:12:5", Routine: "sync:1.0"}, append(message[:1:1], layout.Waiter{Alarm: "routine:sync:1.0"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, layout.Waiters(&c.job)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
