package service_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// TestANearlyFullDiskRefusesWhatIsNew, and nothing else.
func TestANearlyFullDiskRefusesWhatIsNew(t *testing.T) {
	r := newRig(t)
	r.submit(1, nil)
	var full error
	parts := servicetest.Parts(r.board, r.registry, r.engine)
	parts.Intake = func() error { return full }
	a := service.New(parts)
	full = domain.Exhaustedf("the disk is nearly full")
	var p api.SubmitParams
	p.Context, p.Job = house, domain.Job{Script: "x", ScriptType: "shell"}
	if _, err := a.As(admin).SubmitJobs(t.Context(), p); !errors.Is(err, full) {
		t.Errorf("submit: got %v", err)
	}
	var ref api.JobParams
	ref.Context, ref.Caller, ref.ID = house, admin, 1
	if _, err := a.As(admin).CancelJob(t.Context(), ref); err != nil {
		t.Errorf("cancel: got %v", err)
	}
	if h := a.Health(t.Context()); h.Disk != full.Error() || h.Away() {
		t.Errorf("health: got %+v", h)
	}
	full = nil
	if _, err := a.As(admin).SubmitJobs(t.Context(), p); err != nil {
		t.Errorf("submit, with room again: got %v", err)
	}
}

// TestTheOperatorIsToldOfWhatTakesNothing: of a board and of streams, also where they do
// not even say so.
func TestTheOperatorIsToldOfWhatTakesNothing(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		name          string
		answer        func(ctx context.Context) error
		board, stream string
	}{
		{"nobody looks", nil, "", ""},
		{"well", func(context.Context) error { return nil }, "", ""},
		{"dead", func(context.Context) error { return domain.Unavailablef("X takes nothing") }, "X takes nothing", "X takes nothing"},
		{"silent", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "the board gives no answer",
			"the server of the event streams gives no answer"},
	} {
		a := service.New(service.Parts{Jobs: r.engine, Directory: r.registry, Access: r, Records: r.board, Board: tt.answer, Streams: tt.answer,
			Info: func() api.Info { return api.Info{} }})
		info, err := a.As(domain.Operator).NodeInfo(t.Context(), api.NodeInfoParams{})
		onBoard, _, _ := strings.Cut(info.BoardError, " since 2")
		streams, _, _ := strings.Cut(info.StreamError, " since 2")
		if err != nil || onBoard != tt.board || streams != tt.stream {
			t.Errorf("%s: got %q, %q, %v, want %q, %q", tt.name, info.BoardError, info.StreamError, err, tt.board, tt.stream)
		}
	}
}

// silentArchive does not answer until nobody waits any more.
type silentArchive struct{ service.Archive }

func (silentArchive) Ping(ctx context.Context) error {
	<-ctx.Done()
	return domain.Unavailablef("the archive gives no answer")
}
func (silentArchive) Durability() board.Durability { return board.DurableDisk }

// TestASilentArchiveHidesNothingOfTheBoard: what has not been done in time is told, too.
func TestASilentArchiveHidesNothingOfTheBoard(t *testing.T) {
	r := newRig(t)
	if err := r.board.Commit(t.Context(), *(&board.Batch{Space: 1}).SetAlarm("late", time.Now().Add(-time.Minute))); err != nil {
		t.Fatal(err)
	}
	a := service.New(service.Parts{Jobs: r.engine, Directory: r.registry, Access: r, Records: r.board, Archive: silentArchive{},
		Info: func() api.Info { return api.Info{} }})
	info, err := a.As(domain.Operator).NodeInfo(t.Context(), api.NodeInfoParams{})
	if err != nil || info.ArchiveError == "" || info.LateAlarm == nil || info.LateAlarm.Name != "late" {
		t.Errorf("got %q, %+v, %v", info.ArchiveError, info.LateAlarm, err)
	}
}
