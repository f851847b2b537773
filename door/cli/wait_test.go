package cli

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAWaitSaysWhatFor(t *testing.T) {
	for _, tt := range []struct {
		name, why string
		ends      time.Duration
		want      string
	}{
		{"it ends soon", "nobody serves mail", time.Second, ""},
		{"it goes on", "", time.Minute, ""},
		{"nobody runs it", "nobody serves mail", time.Minute, "job:1:7 has not ended: nobody serves mail\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				a := &app{std: Streams{Err: &out}}
				stop := a.tellLater(t.Context(), "job:1:7", func(context.Context) string { return tt.why })
				time.Sleep(tt.ends) // virtual
				stop()
				if got := out.String(); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}
