package clockwork_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
)

func TestCompareVersions(t *testing.T) {
	// Each is below the next.
	order := []string{"dev", "0.9", "v1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11",
		"1.0.0-rc.1", "v1.0.0", "1.0.1", "1.2", "1.10.0", "2"}
	for i, a := range order {
		for j, b := range order {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := clockwork.CompareVersions(a, b); got != want {
				t.Errorf("%s, %s: got %d, want %d", a, b, got, want)
			}
		}
	}
	if clockwork.CompareVersions("v1.0.0+linux", "1.0") != 0 || clockwork.CompareVersions("", "dev") != 0 {
		t.Error("builds, missing numbers and unknown versions do not differ")
	}
}

func TestDutiesOff(t *testing.T) {
	old := domain.DutyRule{MinVersion: "1.4.0", Disable: []domain.Role{domain.RoleKeeper, domain.RoleClockwork}}
	for _, c := range []struct {
		name          string
		rules         []domain.DutyRule
		host, version string
		want          []domain.Off
	}{
		{"no rule takes nothing", nil, "a", "1.0.0", nil},
		{"a node that is new enough keeps its roles", []domain.DutyRule{old}, "a", "v1.4.0", nil},
		{"an old node loses them", []domain.DutyRule{old}, "a", "1.4.0-rc.1",
			[]domain.Off{{Role: domain.RoleKeeper, Rule: 1, Why: "its version is 1.4.0-rc.1, want 1.4.0 or later"},
				{Role: domain.RoleClockwork, Rule: 1, Why: "its version is 1.4.0-rc.1, want 1.4.0 or later"}}},
		{"an unknown version is below every minimum", []domain.DutyRule{{MinVersion: "0.0.1", Disable: []domain.Role{domain.RoleRunner}}}, "a", "dev",
			[]domain.Off{{Role: domain.RoleRunner, Rule: 1, Why: "its version is unknown (dev), want 0.0.1 or later"}}},
		{"the whole host must match", []domain.DutyRule{{Host: "eu-.*", Disable: []domain.Role{domain.RoleRunner}}}, "not-eu-1", "1",
			[]domain.Off{{Role: domain.RoleRunner, Rule: 1, Why: `its host "not-eu-1" does not match eu-.*`}}},
		{"alternatives are matched as a whole", []domain.DutyRule{{Host: "a|b", Disable: []domain.Role{domain.RoleRunner}}}, "b", "1", nil},
		{"a host that must not match", []domain.DutyRule{{NotHost: "eu-.*", Disable: []domain.Role{domain.RoleGateway}}}, "eu-1", "1",
			[]domain.Off{{Role: domain.RoleGateway, Rule: 1, Why: `its host "eu-1" matches eu-.*`}}},
		{"rules add up, the first is named", []domain.DutyRule{{NotHost: "a", Disable: []domain.Role{domain.RoleRunner}},
			{Disable: []domain.Role{domain.RoleRunner, domain.RoleKeeper}}}, "a", "1",
			[]domain.Off{{Role: domain.RoleRunner, Rule: 1, Why: `its host "a" matches a`}, {Role: domain.RoleKeeper, Rule: 2, Why: "the rule is for every node"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := domain.Duties{Rules: c.rules}
			if err := clockwork.CheckDuties(d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, clockwork.RolesOff(d, c.host, c.version)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDutyRulesThatAreWrong(t *testing.T) {
	for _, r := range []domain.DutyRule{
		{},
		{Disable: []domain.Role{"boss"}},
		{MinVersion: "newest", Disable: []domain.Role{domain.RoleRunner}},
		{Host: "(", Disable: []domain.Role{domain.RoleRunner}},
		{NotHost: "[", Disable: []domain.Role{domain.RoleRunner}},
		{NotHost: "a)|(b", Disable: []domain.Role{domain.RoleRunner}},
	} {
		if err := clockwork.CheckDuties(domain.Duties{Rules: []domain.DutyRule{r}}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v", r, err)
		}
	}
}
