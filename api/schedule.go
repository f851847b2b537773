package api

import (
	"time"

	"github.com/ramet-run/ramet/domain"
)

// The operations on schedules.
var (
	ScheduleApply = op[Schedule](Operation{
		Name: "schedule.apply", Method: "POST", Path: "/v1/contexts/{context}/schedules", Right: domain.VerbCreate, Holds: "schedule.show",
		Summary: "Make a schedule, or change the one of that name.",
	}, ScheduleApplyParams{Context: 7, Schedule: Schedule{Schedule: domain.Schedule{Name: "nightly", Blueprint: "nightly", Cron: "0 2 * * *"}}})
	ScheduleList = op[SchedulePage](Operation{
		Name: "schedule.list", Method: "GET", Path: "/v1/contexts/{context}/schedules", Right: domain.VerbRead, Much: true,
		Summary: "List schedules page by page, without params, environment and variables.",
	}, ScheduleListParams{Context: 7})
	ScheduleShow = op[Schedule](Operation{
		Name: "schedule.show", Method: "GET", Path: "/v1/contexts/{context}/schedules/{schedule}", Right: domain.VerbRead,
		Summary: "Show a schedule with its next times.",
	}, ScheduleShowParams{ScheduleParams: ScheduleParams{Context: 7, Name: "nightly"}})
	SchedulePreview = op[ScheduleTimes](Operation{
		Name: "schedule.preview", Method: "POST", Path: "/v1/contexts/{context}/schedules/preview", Right: domain.VerbRead,
		Summary: "Say when a schedule would come, without storing it.",
	}, SchedulePreviewParams{Context: 7, N: 3,
		Schedule: Schedule{Schedule: domain.Schedule{Name: "nightly", Blueprint: "nightly", Cron: "0 2 * * *", Zone: "Europe/Brussels"}}})
	ScheduleDelete = op[Schedule](Operation{
		Name: "schedule.delete", Method: "DELETE", Path: "/v1/contexts/{context}/schedules/{schedule}", Right: domain.VerbDelete, ByHand: true,
		Holds:   "schedule.show",
		Summary: "Remove a schedule; its flows stay.",
	}, ScheduleParams{Context: 7, Name: "nightly"})
	SchedulePause = op[Schedule](Operation{
		Name: "schedule.pause", Method: "POST", Path: "/v1/contexts/{context}/schedules/{schedule}/pause", Right: domain.VerbStart, ByHand: true,
		Holds:   "schedule.show",
		Summary: "Keep a schedule from making flows.",
	}, ScheduleParams{Context: 7, Name: "nightly"})
	ScheduleResume = op[Schedule](Operation{
		Name: "schedule.resume", Method: "POST", Path: "/v1/contexts/{context}/schedules/{schedule}/resume", Right: domain.VerbStart, ByHand: true,
		Holds:   "schedule.show",
		Summary: "Let a paused schedule go on with its next time.",
	}, ScheduleParams{Context: 7, Name: "nightly"})
	ScheduleTrigger = op[ScheduleTriggered](Operation{
		Name: "schedule.trigger", Method: "POST", Path: "/v1/contexts/{context}/schedules/{schedule}/trigger", Right: domain.VerbStart, ByHand: true,
		Keyed:   true,
		Summary: "Make a flow of a schedule now.",
	}, ScheduleParams{Context: 7, Name: "nightly"})
	ScheduleBackfill = op[ScheduleBackfilled](Operation{
		Name: "schedule.backfill", Method: "POST", Path: "/v1/contexts/{context}/schedules/{schedule}/backfill", Right: domain.VerbStart, ByHand: true,
		Errors:  []error{domain.ErrLimit},
		Summary: "Begin to make the flows of a schedule's past times, a few at once; with dry_run, say which these are.",
	}, ScheduleBackfillParams{ScheduleParams: ScheduleParams{Context: 7, Name: "nightly"}, From: 1_767_225_600_000, To: 1_769_904_000_000, Max: 2, DryRun: true})
	ScheduleBackfillCancel = op[Schedule](Operation{
		Name: "schedule.backfill_cancel", Method: "POST", Path: "/v1/contexts/{context}/schedules/{schedule}/backfill/cancel", Right: domain.VerbCancel,
		ByHand: true, Holds: "schedule.show",
		Summary: "End the backfill of a schedule; the flows that it made go on.",
	}, ScheduleParams{Context: 7, Name: "nightly"})
)

// Schedule is a schedule as callers hand it in and get it. What callers hand
// in of caller_id, created_at, updated_at, state, upcoming and lacks is not looked
// at, so that what was shown can be changed and handed in again.
type Schedule struct {
	domain.Schedule
	// Upcoming are its next times, in UTC; none while it is paused.
	Upcoming []time.Time `json:"upcoming,omitzero"`
	// Lacks says why no flow of it is made now; only where schedules are listed and shown.
	Lacks string `json:"lacks,omitzero"`
}

// SchedulePage is a page of schedules, without params, env and variables.
type SchedulePage struct {
	Schedules []Schedule `json:"schedules"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
	// Count is there where it was asked for.
	Count *Counted `json:"count,omitzero"`
}

// ScheduleTimes are when a schedule comes, in UTC.
type ScheduleTimes struct {
	Upcoming []time.Time `json:"upcoming"`
}

// ScheduleTriggered is the flow that a schedule made by hand.
type ScheduleTriggered struct {
	Flow string `json:"flow"` // flow:<id>
	// Existing is true where there was a flow of that very second already.
	Existing bool `json:"existing,omitzero"`
}

// ScheduleBackfilled is a backfill as it begins, or would.
type ScheduleBackfilled struct {
	domain.Backfill
	// Times are, of a dry run, the first 1,000 times that it would be about.
	Times []BackfillTime `json:"times,omitzero"`
}

// BackfillTime is a past time of a schedule.
type BackfillTime struct {
	At      time.Time `json:"at"` // in UTC
	Trigger string    `json:"trigger"`
	// Flow is the one that it has, flow:<id>; "" is that one would be made.
	Flow string `json:"flow,omitzero"`
}

// ScheduleBackfillParams are the parameters of schedule.backfill.
type ScheduleBackfillParams struct {
	ScheduleParams
	// From and To bound the times; To is no part of them, and not after now.
	From domain.Instant `json:"from"`
	To   domain.Instant `json:"to"`
	// Max is how many of its flows are under way at once, up to 100. 0: 1.
	Max int `json:"max,omitzero"`
	// DryRun says which times there are, and makes nothing.
	DryRun bool `json:"-" query:"dry_run"`
}

// LooksOnly reports that nothing is made, of which the audit log would have to tell.
func (p *ScheduleBackfillParams) LooksOnly() bool { return p.DryRun }

// ScheduleApplyParams are the parameters of schedule.apply.
type ScheduleApplyParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Schedule
}

// ScheduleParams name a schedule.
type ScheduleParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"schedule"`
}

// ScheduleShowParams are the parameters of schedule.show.
type ScheduleShowParams struct {
	ScheduleParams
	// N is how many of its next times to show, up to 1,000. 0: 10.
	N int `json:"-" query:"n"`
}

// SchedulePreviewParams are the parameters of schedule.preview.
type SchedulePreviewParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// N is how many times to show, up to 1,000. 0: 10.
	N int `json:"-" query:"n"`
	Schedule
}

// ScheduleListParams are the parameters of schedule.list.
type ScheduleListParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Blueprint is that of which they make flows.
	Blueprint string `json:"-" query:"blueprint"`
	// Where is a Rhai expression over `schedule`, such as schedule.paused == true.
	Where string `json:"-" query:"where"`
	Narrowing
	// Count counts what the filter fits, and lists nothing.
	Count bool `json:"-" query:"count"`
	// Limit is how many a page has at the most. 0: as many as the board gives at once.
	Limit int `json:"-" query:"limit"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
}
