package timetable

import (
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Check checks the definition of a schedule, but for what only a calendar knows: the cron
// expression and the zones, which [New] reads.
//
// Errors: [domain.ErrInvalid].
func Check(s *domain.Schedule) error {
	if err := domain.ValidateName("schedule", s.Name); err != nil {
		return err
	}
	if err := check(s); err != nil {
		return fmt.Errorf("schedule %q: %w", s.Name, err)
	}
	return nil
}

func check(s *domain.Schedule) error {
	if err := domain.ValidateName("blueprint", s.Blueprint); err != nil {
		return err
	}
	if err := domain.ValidateTrigger(s.TriggerPrefix()); err != nil {
		return err
	}
	if most := domain.MaxNameBytes - len(domain.TriggerStamp); len(s.TriggerPrefix()) > most {
		return domain.Invalidf("trigger %q: want up to %d characters, because the time follows; give a short `trigger`", s.TriggerPrefix(), most)
	}
	if s.Version < 0 {
		return domain.Invalidf("version %d: want 1 or more, or 0 for the newest", s.Version)
	}
	if s.Priority < 0 || s.Priority > domain.MaxPriority {
		return domain.Invalidf("priority %d: want 0 to %d", s.Priority, domain.MaxPriority)
	}
	if err := domain.ValidateParams(s.Params); err != nil {
		return err
	}
	if err := domain.ValidateEnv(s.Env); err != nil {
		return err
	}
	if err := checkTimes(s); err != nil {
		return err
	}
	if o := s.OverlapOr(); o != domain.OverlapSkip && o != domain.OverlapQueue && o != domain.OverlapAllow {
		return domain.Invalidf("overlap %q: want skip, queue or allow", o)
	}
	if s.CatchUp != nil && *s.CatchUp > domain.MaxCatchUp {
		return domain.Invalidf("catch_up %d s: the limit is %d (30 days)", *s.CatchUp, domain.MaxCatchUp)
	}
	if s.CatchUp != nil && *s.CatchUp > 0 && s.CatchUp.Time() < domain.LateNotMissed {
		return domain.Invalidf("catch_up %d s: want 0, or %v and more: what is less late than that is never missed", *s.CatchUp, domain.LateNotMissed)
	}
	return checkVariables(s)
}

func checkTimes(s *domain.Schedule) error {
	kinds := 0
	for _, given := range []bool{len(s.At) > 0, s.Every != 0, s.Cron != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return domain.Invalidf("it has %d of at, every and cron: want one of them", kinds)
	case len(s.At) > domain.MaxScheduleTimes:
		return domain.Invalidf("at: %d times, the limit is %d", len(s.At), domain.MaxScheduleTimes)
	case s.Start != 0 && s.Every == 0:
		return domain.Invalidf("start belongs to every; want from for the others")
	case s.Zone != "" && s.Cron == "":
		return domain.Invalidf("zone belongs to cron; the others are instants and lengths of real time")
	case len(s.Cron) > domain.MaxCronBytes:
		return domain.Invalidf("cron: %d bytes, the limit is %d", len(s.Cron), domain.MaxCronBytes)
	case len(s.Zone) > domain.MaxZoneBytes:
		return domain.Invalidf("zone: %d bytes, the limit is %d", len(s.Zone), domain.MaxZoneBytes)
	case s.Until != 0 && s.Until <= s.From:
		return domain.Invalidf("until %s is not after from %s", s.Until, s.From)
	}
	// The trigger has seconds only.
	for _, at := range s.At {
		if at%1000 != 0 {
			return domain.Invalidf("at %s: want whole seconds", at)
		}
	}
	if s.Start%1000 != 0 {
		return domain.Invalidf("start %s: want whole seconds", s.Start)
	}
	sorted := slices.Clone(s.At)
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return domain.Invalidf("at: %s stands twice", sorted[i])
		}
	}
	return nil
}

func checkVariables(s *domain.Schedule) error {
	if len(s.Variables) > domain.MaxVariables {
		return domain.Invalidf("%d variables, the limit is %d", len(s.Variables), domain.MaxVariables)
	}
	for name, v := range s.Variables {
		if err := domain.ValidateName("variable", name); err != nil {
			return err
		}
		if err := checkVariable(v); err != nil {
			return fmt.Errorf("variable %s: %w", name, err)
		}
	}
	return nil
}

func checkVariable(v domain.Variable) error {
	kinds := 0
	for _, given := range []bool{v.Const != nil, v.Count != nil, v.Time != nil} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return domain.Invalidf("it has %d of const, count and time: want one of them", kinds)
	case v.Const != nil && len(*v.Const) > domain.MaxVariableBytes:
		return domain.Invalidf("const: %d bytes, the limit is %d", len(*v.Const), domain.MaxVariableBytes)
	case v.Time == nil:
		return nil
	case len(v.Time.Zone) > domain.MaxZoneBytes:
		return domain.Invalidf("zone: %d bytes, the limit is %d", len(v.Time.Zone), domain.MaxZoneBytes)
	}
	_, err := formatTime(v.Time.Pattern, time.Time{})
	return err
}
