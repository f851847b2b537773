package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) scheduleCommand() *cobra.Command {
	c := noun("schedule", "Make flows at times", a.scheduleApply(), a.scheduleCreate(), a.scheduleList(), a.scheduleShow(), a.scheduleNext(),
		a.schedulePreview(), a.schedulePause(), a.scheduleResume(), a.scheduleTrigger(), a.scheduleBackfill(), a.scheduleDelete())
	c.Long = "Make flows of a blueprint at single times, every so often, or by a cron expression on the clocks of a zone."
	return c
}

// withScheduleFile is a verb about a schedule's file.
func (a *app) withScheduleFile(use, short string, do func(ctx context.Context, c *client.Client, s domain.Schedule) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " FILE|-", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := a.readInput(args[0], maxScheduleFile)
			if err != nil {
				return err
			}
			s, err := parseSchedule(args[0], text)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error { return do(c.Context(), n, s) })
		},
	}
}

// onSchedule is a verb about one schedule.
func (a *app) onSchedule(use, short string, do func(ctx context.Context, c *client.Client, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error { return do(c.Context(), n, args[0]) })
		},
	}
}

// showing is a verb that answers with the schedule.
func (a *app) showing(use, short string,
	ask func(c *client.Client, ctx context.Context, t domain.TenantID, name string) (api.Schedule, error)) *cobra.Command {
	return a.onSchedule(use, short, func(ctx context.Context, c *client.Client, name string) error {
		s, err := ask(c, ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.printSchedule(s)
	})
}

func (a *app) printSchedule(s api.Schedule) error {
	return a.print(s, func(t *table) { scheduleTable(t, s, a.boardNow()) })
}

func (a *app) scheduleApply() *cobra.Command {
	return a.withScheduleFile("apply", "Make the schedule of a file, or change the one of that name",
		func(ctx context.Context, c *client.Client, s domain.Schedule) error {
			return a.applySchedule(ctx, c, s)
		})
}

func (a *app) applySchedule(ctx context.Context, c *client.Client, s domain.Schedule) error {
	out, err := c.ApplySchedule(ctx, a.tenant(), s)
	if err != nil {
		return err
	}
	return a.printSchedule(out)
}

// scheduleFlags are those by which a schedule is made without a file.
type scheduleFlags struct {
	s                         domain.Schedule
	at, params, env           []string
	every, start, from, until string
	overlap, catchUp          string
}

func (a *app) scheduleCreate() *cobra.Command {
	var f scheduleFlags
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a schedule by flags", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Example: `  ramet schedule create nightly --blueprint nightly --cron "0 2 * * *" --zone Europe/Berlin --param region=eu`,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := f.schedule(args[0])
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.createSchedule(c.Context(), n, s) })
		},
	}
	c.Flags().StringVar(&f.s.Blueprint, "blueprint", "", "the `name` of the blueprint to make flows of")
	c.Flags().IntVar(&f.s.Version, "version", 0, "its `version`; 0 is the newest at the time")
	c.Flags().StringVar(&f.s.Cron, "cron", "", "five fields: minute, hour, day of the month, month, day of the week; or six with seconds first")
	c.Flags().StringVar(&f.s.Zone, "zone", "", "by whose clocks, as Europe/Berlin (default UTC)")
	c.Flags().StringVar(&f.every, "every", "", "how often, as 90s or 1h30m")
	c.Flags().StringVar(&f.start, "start", "", "the first `time` of --every, as 2026-01-31T02:00:00Z")
	c.Flags().StringArrayVar(&f.at, "at", nil, "a single `time`, as 2026-01-31T02:00:00Z; may be repeated")
	c.Flags().StringVar(&f.from, "from", "", "nothing before that `time`")
	c.Flags().StringVar(&f.until, "until", "", "nothing from that `time` on")
	c.Flags().StringVar(&f.overlap, "overlap", "", "while the flow before lives: skip, queue or allow (default skip)")
	c.Flags().StringVar(&f.catchUp, "catch-up", "", "for how `long` missed times are made up (default 1h)")
	c.Flags().StringVar(&f.s.Trigger, "trigger", "", "what the flows' triggers begin with (default the schedule's name)")
	c.Flags().StringArrayVar(&f.params, "param", nil, "a parameter, `NAME=VALUE`; may be repeated")
	c.Flags().StringArrayVar(&f.env, "env", nil, "an environment variable, `NAME=VALUE`; may be repeated")
	c.Flags().IntVar(&f.s.Priority, "priority", 0, "1 to 9; 0 is the blueprint's")
	c.Flags().StringVar(&f.s.Summary, "summary", "", "what it is for")
	c.Flags().BoolVar(&f.s.Paused, "paused", false, "begin paused")
	return c
}

// createSchedule makes a schedule where there is none of that name.
func (a *app) createSchedule(ctx context.Context, c *client.Client, s domain.Schedule) error {
	switch _, err := c.Schedule(ctx, a.tenant(), s.Name, 1); {
	case err == nil:
		return domain.Conflictf("schedule %q is there already; change it with `ramet schedule apply`", s.Name)
	case !errors.Is(err, domain.ErrNotFound):
		return err
	}
	return a.applySchedule(ctx, c, s)
}

// schedule is the schedule that the flags say.
//
// Errors: [domain.ErrInvalid].
func (f *scheduleFlags) schedule(name string) (domain.Schedule, error) {
	s := f.s
	s.Name, s.Overlap = name, domain.Overlap(f.overlap)
	if s.Blueprint == "" {
		return s, domain.Invalidf("want --blueprint, the name of the blueprint to make flows of")
	}
	for _, text := range f.at {
		at, err := domain.ParseInstant(text)
		if err != nil {
			return s, fmt.Errorf("--at: %w", err)
		}
		s.At = append(s.At, at)
	}
	for flag, set := range map[string]struct {
		text string
		to   *domain.Instant
	}{"start": {f.start, &s.Start}, "from": {f.from, &s.From}, "until": {f.until, &s.Until}} {
		if set.text == "" {
			continue
		}
		var err error
		if *set.to, err = domain.ParseInstant(set.text); err != nil {
			return s, fmt.Errorf("--%s: %w", flag, err)
		}
	}
	var err error
	if f.every != "" {
		if s.Every, err = domain.ParseSpan(f.every); err != nil {
			return s, fmt.Errorf("--every: %w", err)
		}
	}
	if f.catchUp != "" {
		window, err := domain.ParseSpan(f.catchUp)
		if err != nil {
			return s, fmt.Errorf("--catch-up: %w", err)
		}
		s.CatchUp = &window
	}
	if s.Params, err = pairs("param", f.params); err != nil {
		return s, err
	}
	if s.Env, err = pairs("env", f.env); err != nil {
		return s, err
	}
	return s, timetable.Check(&s)
}

// pairs reads flags of the form NAME=VALUE.
func pairs(flag string, list []string) (map[string]string, error) {
	m := make(map[string]string, len(list))
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, domain.Invalidf("--%s %q: want NAME=VALUE", flag, text)
		}
		m[name] = value
	}
	return m, nil
}

func (a *app) scheduleList() *cobra.Command {
	return listing[api.ScheduleListParams, api.SchedulePage, api.Schedule]{
		op: api.ScheduleList, of: schedules, limit: 10_000,
		page: func(p *api.SchedulePage) paged[api.Schedule] {
			return paged[api.Schedule]{&p.Schedules, &p.Next, nil, p.Count}
		},
		rows: func(t *table, list []api.Schedule) {
			t.row("SCHEDULE", "BLUEPRINT", "TIMES", "NEXT", "LAST", "FLOW", "STANDS")
			for _, s := range list {
				t.row(s.Name, s.Blueprint, timesOf(s.Schedule), nextOf(s.Schedule), clock(s.State.LastMs), flowOf(s.State),
					startStands(doctor.ScheduleStands(&s, a.boardNow())))
			}
		},
	}.into(a, &cobra.Command{Use: "list", Short: "List the schedules of a context", Args: cobra.NoArgs})
}

// timesOf says in a few words when a schedule comes.
func timesOf(s domain.Schedule) string {
	switch {
	case s.Cron != "":
		return s.Cron + " " + cmp.Or(s.Zone, "UTC")
	case s.Every != 0:
		return "every " + s.Every.Time().String()
	case len(s.At) == 1:
		return "at " + s.At[0].String()
	}
	return fmt.Sprintf("at %d times", len(s.At))
}

func nextOf(s domain.Schedule) string {
	switch {
	case s.Paused:
		return "paused"
	case s.State.NextMs == 0:
		return "never"
	}
	return clock(s.State.NextMs)
}

func flowOf(s domain.ScheduleState) string { return flowNamed(s.LastFlow) }

func (a *app) scheduleShow() *cobra.Command {
	return a.showing("show", "Show a schedule, what has become of it, and its next times",
		func(c *client.Client, ctx context.Context, t domain.TenantID, name string) (api.Schedule, error) {
			return c.Schedule(ctx, t, name, 0)
		})
}

func (a *app) schedulePause() *cobra.Command {
	return a.showing("pause", "Keep a schedule from making flows", (*client.Client).PauseSchedule)
}

func (a *app) scheduleResume() *cobra.Command {
	return a.showing("resume", "Let a paused schedule go on with its next time", (*client.Client).ResumeSchedule)
}

func (a *app) scheduleDelete() *cobra.Command {
	return a.onSchedule("delete", "Remove a schedule; its flows stay", func(ctx context.Context, c *client.Client, name string) error {
		s, err := c.DeleteSchedule(ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.print(s, func(t *table) { t.row("schedule " + name + " is deleted") })
	})
}

func (a *app) scheduleTrigger() *cobra.Command {
	return a.onSchedule("trigger", "Make a flow of a schedule now", func(ctx context.Context, c *client.Client, name string) error {
		out, err := c.TriggerSchedule(ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.print(out, func(t *table) { t.row(out.Flow) })
	})
}

func (a *app) scheduleBackfill() *cobra.Command {
	var from, to string
	var cancel bool
	var p api.ScheduleBackfillParams
	c := a.onSchedule("backfill", "Make the flows of a schedule's past times, a few at once", func(ctx context.Context, c *client.Client, name string) error {
		p.Context, p.Name = a.tenant(), name
		if cancel {
			s, err := c.CancelBackfill(ctx, p.Context, name)
			if err != nil {
				return err
			}
			return a.printSchedule(s)
		}
		for flag, set := range map[string]struct {
			text string
			to   *domain.Instant
		}{"from": {from, &p.From}, "to": {to, &p.To}} {
			if set.text == "" {
				continue // the node says that it wants both
			}
			var err error
			if *set.to, err = a.instantOrDay(ctx, c, name, set.text); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
		b, err := c.BackfillSchedule(ctx, p)
		if err != nil {
			return err
		}
		return a.print(b, func(t *table) { backfillTable(t, b, p.DryRun) })
	})
	c.Flags().StringVar(&from, "from", "", "the first `time`, as 2026-01-01T00:00:00Z, or a day: 2026-01-01")
	c.Flags().StringVar(&to, "to", "", "before which `time` or day; not after now")
	c.Flags().IntVar(&p.Max, "max", 1, "how many of its flows are under way at once, up to 100")
	c.Flags().BoolVar(&p.DryRun, "dry-run", false, "say which times these are and which have a flow, and make nothing")
	c.Flags().BoolVar(&cancel, "cancel", false, "end the backfill that is under way; the flows that it made go on")
	c.MarkFlagsMutuallyExclusive("cancel", "from")
	c.MarkFlagsMutuallyExclusive("cancel", "to")
	c.MarkFlagsMutuallyExclusive("cancel", "dry-run")
	c.Long = c.Short + ": oldest first, each with the name that the schedule would have given it, so that a time makes one flow, ever.\n" +
		"A day begins as the clocks of the schedule's zone say, UTC where it has none; that of --to is not among them.\n" +
		"It goes on by itself; `ramet schedule show NAME` says how far it has come."
	c.Example = "  ramet schedule backfill nightly --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z --max 2\n" +
		"  ramet schedule backfill nightly --from 2026-01-01 --to 2026-02-01 --dry-run"
	return c
}

// instantOrDay reads a time, or a day, which begins when it does in the schedule's zone.
func (a *app) instantOrDay(ctx context.Context, c *client.Client, name, text string) (domain.Instant, error) {
	if at, err := domain.ParseInstant(text); err == nil {
		return at, nil // the schedule is not asked for
	}
	s, err := c.Schedule(ctx, a.tenant(), name, 0)
	if err != nil {
		return 0, err
	}
	return timetable.InstantOrDay(&s.Schedule, text)
}

// backfillTable shows a backfill as it begins, or of a dry run the times that it would be about.
func backfillTable(t *table, b api.ScheduleBackfilled, dry bool) {
	if !dry {
		t.field("backfill", b.String())
		return
	}
	t.row("TIME", "TRIGGER", "FLOW")
	for _, at := range b.Times {
		t.row(clock(at.At.UnixMilli()), at.Trigger, cmp.Or(at.Flow, "to be made"))
	}
	if more := b.Total - len(b.Times); more > 0 {
		t.row(fmt.Sprintf("and %d more", more))
	}
}

func (a *app) scheduleNext() *cobra.Command {
	var n int
	c := a.onSchedule("next", "Show when a schedule comes next", func(ctx context.Context, c *client.Client, name string) error {
		if err := checkCount(n); err != nil {
			return err
		}
		s, err := c.Schedule(ctx, a.tenant(), name, n)
		if err != nil {
			return err
		}
		return a.printTimes(s.Schedule, s.Upcoming)
	})
	c.Flags().IntVarP(&n, "count", "n", 10, "how many times, up to 1000")
	c.Example = "  ramet schedule next nightly --count 30"
	return c
}

func (a *app) schedulePreview() *cobra.Command {
	var n int
	c := a.withScheduleFile("preview", "Show when the schedule of a file would come, without storing it",
		func(ctx context.Context, c *client.Client, s domain.Schedule) error {
			if err := checkCount(n); err != nil {
				return err
			}
			out, err := c.PreviewSchedule(ctx, a.tenant(), s, n)
			if err != nil {
				return err
			}
			return a.printTimes(s, out.Upcoming)
		})
	c.Flags().IntVarP(&n, "count", "n", 10, "how many times, up to 1000")
	show := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		a.checks = true
		return show(c, args)
	}
	return c
}

// maxCount bounds -n.
const maxCount = 1000

func checkCount(n int) error {
	if n < 1 || n > maxCount {
		return domain.Invalidf("-n %d: want 1 to %d", n, maxCount)
	}
	return nil
}

func (a *app) printTimes(s domain.Schedule, times []time.Time) error {
	return a.print(api.ScheduleTimes{Upcoming: times}, func(t *table) {
		for _, at := range times {
			t.row(onClocks(s, at))
		}
		switch {
		case s.Paused:
			t.row("paused")
		case len(times) == 0:
			t.row("never")
		}
	})
}

// onClocks shows a time by the clocks that a schedule goes by; without a cron
// expression, by this machine's.
func onClocks(s domain.Schedule, at time.Time) string {
	zone := time.Local
	if s.Cron != "" {
		zone = time.UTC
		if named, err := time.LoadLocation(s.Zone); err == nil {
			zone = named
		}
	}
	return at.In(zone).Format("Mon 2006-01-02 15:04:05 MST")
}

func scheduleTable(t *table, s api.Schedule, now time.Time) {
	t.field("schedule", s.Name)
	t.field("stands", startStands(doctor.ScheduleStands(&s, now)))
	t.field("summary", s.Summary)
	t.field("blueprint", s.Blueprint)
	t.field("version", s.Version)
	t.field("times", timesOf(s.Schedule))
	t.field("from", clock(int64(s.From)))
	t.field("until", clock(int64(s.Until)))
	t.field("overlap", s.OverlapOr())
	t.field("catch up", s.Window())
	t.field("trigger", s.Trigger)
	t.field("in the name of", s.CallerID)
	for _, name := range slices.Sorted(maps.Keys(s.Params)) {
		t.field("param "+visible(name), s.Params[name])
	}
	t.field("next", nextOf(s.Schedule))
	t.field("last", clock(s.State.LastMs))
	t.field("last flow", flowOf(s.State))
	t.field("last error", s.State.LastError)
	t.field("fired", s.State.Fired)
	t.field("skipped", s.State.Skipped)
	t.field("missed", s.State.Missed)
	t.field("refused", s.State.Refused)
	if b := s.State.Backfill; b != nil {
		t.field("backfill", b.String())
		t.field("backfill from", clock(int64(b.From)))
		t.field("backfill to", clock(int64(b.To)))
	}
	for _, at := range s.Upcoming {
		t.field("comes", onClocks(s.Schedule, at))
	}
}
