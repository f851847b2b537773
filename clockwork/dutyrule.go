package clockwork

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// checkDuties checks all rules.
//
// Errors: [domain.ErrInvalid] naming the rule.
func checkDuties(d domain.Duties) error {
	if len(d.Rules) > domain.MaxDutyRules {
		return domain.Invalidf("%d rules, the limit is %d", len(d.Rules), domain.MaxDutyRules)
	}
	for i, r := range d.Rules {
		if err := checkDutyRule(r); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

// checkDutyRule checks one rule.
//
// Errors: [domain.ErrInvalid].
func checkDutyRule(r domain.DutyRule) error {
	if len(r.Disable) == 0 {
		return domain.Invalidf("disable is empty: want one or more of %s", roleWords())
	}
	for _, role := range r.Disable {
		if !slices.Contains(domain.Roles, role) {
			return domain.Invalidf("disable: %q is no role; want %s", role, roleWords())
		}
	}
	if r.MinVersion != "" {
		if _, ok := parseVersion(r.MinVersion); !ok {
			return domain.Invalidf("min_version %q: want a version such as 1.4.0 or v1.4.0-rc.1", r.MinVersion)
		}
	}
	for name, text := range map[string]string{"host": r.Host, "not_host": r.NotHost} {
		if _, err := hostPattern(text); err != nil {
			return domain.Invalidf("%s: %v", name, err)
		}
	}
	return nil
}

func roleWords() string {
	words := make([]string, len(domain.Roles))
	for i, r := range domain.Roles {
		words[i] = string(r)
	}
	return strings.Join(words, ", ")
}

// hostPattern matches whole host names.
func hostPattern(text string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(text); err != nil { // "a)|(b" is none, but would be with what is put around it
		return nil, err
	}
	return regexp.Compile(`^(?:` + text + `)$`)
}

// unmet says which condition of a rule a node does not meet; "" is that it meets all.
func unmet(r domain.DutyRule, host, version string) string {
	switch {
	case r.MinVersion == "" && r.Host == "" && r.NotHost == "":
		return "the rule is for every node"
	case r.MinVersion != "" && compareVersions(version, r.MinVersion) < 0:
		if _, known := parseVersion(version); !known {
			return fmt.Sprintf("its version is unknown (%s), want %s or later", version, r.MinVersion)
		}
		return fmt.Sprintf("its version is %s, want %s or later", version, r.MinVersion)
	}
	if p, err := hostPattern(r.Host); r.Host != "" && err == nil && !p.MatchString(host) {
		return fmt.Sprintf("its host %q does not match %s", host, r.Host)
	}
	if p, err := hostPattern(r.NotHost); r.NotHost != "" && err == nil && p.MatchString(host) {
		return fmt.Sprintf("its host %q matches %s", host, r.NotHost)
	}
	return ""
}

// rolesOff lists the roles that a node loses, each by the first rule that takes it.
func rolesOff(d domain.Duties, host, version string) []domain.Off {
	var off []domain.Off
	for i, r := range d.Rules {
		why := unmet(r, host, version)
		if why == "" {
			continue
		}
		for _, role := range r.Disable {
			if !slices.ContainsFunc(off, func(o domain.Off) bool { return o.Role == role }) {
				off = append(off, domain.Off{Role: role, Rule: i + 1, Why: why})
			}
		}
	}
	return off
}

// compareVersions compares two versions as semver.org does; a "v" before them
// and what follows "+" does not count, missing numbers are 0. What is no
// version is below every one that is.
func compareVersions(a, b string) int {
	v, okV := parseVersion(a)
	w, okW := parseVersion(b)
	if !okV || !okW {
		return boolInt(okV) - boolInt(okW)
	}
	return cmp.Or(slices.Compare(v.numbers[:], w.numbers[:]), comparePre(v.pre, w.pre))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

type parsedVersion struct {
	numbers [3]uint64
	pre     string // behind the "-"
}

var versionPattern = regexp.MustCompile(`^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`)

func parseVersion(text string) (v parsedVersion, ok bool) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return v, false
	}
	for i := range v.numbers {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseUint(m[i+1], 10, 64)
		if err != nil {
			return v, false
		}
		v.numbers[i] = n
	}
	v.pre = m[4]
	return v, true
}

// comparePre compares what stands behind the "-": nothing is the highest, and
// numbers are below words.
//
// Source: semver.org 2.0.0, 11.
func comparePre(a, b string) int {
	if a == "" || b == "" {
		return boolInt(a == "") - boolInt(b == "")
	}
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		m, errM := strconv.ParseUint(as[i], 10, 64)
		n, errN := strconv.ParseUint(bs[i], 10, 64)
		c := cmp.Compare(as[i], bs[i])
		switch {
		case errM == nil && errN == nil:
			c = cmp.Compare(m, n)
		case errM == nil || errN == nil:
			c = boolInt(errM != nil) - boolInt(errN != nil)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}
