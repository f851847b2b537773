package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/service"
)

func TestUnlistedErrorsShowARequestID(t *testing.T) {
	var log bytes.Buffer
	a := service.New(service.Parts{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p := a.ProblemOf(service.WithRequestID(t.Context(), "r-1"), errors.New("open /secret/path: disk on fire"))
	if strings.Contains(p.Detail, "secret") || !strings.Contains(p.Detail, "r-1") || p.RequestID != "r-1" {
		t.Errorf("got %+v", p)
	}
	if !strings.Contains(log.String(), "request_id=r-1") || !strings.Contains(log.String(), "/secret/path") {
		t.Errorf("log: got %s", log.String())
	}
}

// TestAnAnswerThatDidNotComeNamesWhatIsSilent, where it is known.
func TestAnAnswerThatDidNotComeNamesWhatIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		well := func(context.Context) error { return nil }
		for _, tt := range []struct {
			board, streams func(context.Context) error
			want           string
		}{
			{silent, well, "the board gives no answer since 2"},
			{well, silent, "the server of the event streams gives no answer since 2"},
			{well, well, "what the node asked gave no answer in time; what was asked for may have been done: "},
		} {
			a := service.New(service.Parts{Info: func() api.Info { return api.Info{} }, Board: tt.board, Streams: tt.streams})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			<-ctx.Done()
			cancel()
			p := a.ProblemOf(ctx, fmt.Errorf("%w", ctx.Err()))
			if p.Code != "unavailable" || !strings.HasPrefix(p.Detail, tt.want) || strings.Contains(p.Detail, "context") {
				t.Errorf("got %q, %q, want %q", p.Code, p.Detail, tt.want)
			}
			synctest.Wait()
			time.Sleep(10 * time.Second) // the look ends
		}
	})
}
