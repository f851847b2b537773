package blueprint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// ConcurrencyKey is the key of a flow with these params.
//
// Errors: [domain.ErrInvalid].
func ConcurrencyKey(c *domain.Concurrency, params map[string]string) (string, error) {
	return keyOf("concurrency.key", c.Key, params)
}

// BroughtKey begins the keys of flows by plans that messages have brought: no other has one like it.
const BroughtKey = "@message:"

// keyOf is what a key of flows is with the values of its params; field is where it stands.
func keyOf(field, text string, params map[string]string) (string, error) {
	filled, err := template.FillVariables(map[string]string{"key": strings.ReplaceAll(text, "${params.", "${")}, params)
	if err != nil {
		return "", err
	}
	key := filled["key"]
	switch missing := template.First(key); {
	case missing != "" && !strings.Contains(strings.Join(valuesOf(params), "\n"), missing):
		return "", domain.Invalidf("%s: the flow has no param %s; give it a value under params", field, strings.Trim(missing, "${}"))
	case len(key) > domain.MaxConcurrencyKey || key == "" || strings.IndexByte(key, 0) >= 0:
		return "", domain.Invalidf("%s %.80q: want 1 to %d bytes with the values of its params", field, key, domain.MaxConcurrencyKey)
	case strings.HasPrefix(key, BroughtKey):
		return "", domain.Invalidf("%s %.80q begins with %s, as those of flows do that came in messages; take another", field, key, BroughtKey)
	}
	return key, nil
}

func valuesOf(m map[string]string) []string {
	list := make([]string, 0, len(m))
	for _, v := range m {
		list = append(list, v)
	}
	return list
}

// concurrency finds what is wrong with it.
func (c *checker) concurrency() {
	con := c.b.Concurrency
	if con == nil {
		return
	}
	c.sharedKey("concurrency.key", con.Key)
	if con.Max < 0 || con.Max > domain.MaxConcurrency {
		c.fault("concurrency.max", "%d: want 1 to %d", con.Max, domain.MaxConcurrency)
	}
	if w := con.WhenFull; w != "" && w != domain.FullWait && w != domain.FullSkip && w != domain.FullCancelOld {
		c.fault("concurrency.when_full", "%q: want wait, skip or cancel_old%s", w, meant(string(w),
			[]string{string(domain.FullWait), string(domain.FullSkip), string(domain.FullCancelOld)}))
	}
}

// sharedKey finds what is wrong with a key of flows, also params that no flow of the blueprint
// can have: a request may give only those that something in it has or names.
func (c *checker) sharedKey(field, key string) {
	if key == "" {
		c.fault(field, "want the name of what flows share, as crm or customer-${params.customer}")
	} else if len(key) > domain.MaxConcurrencyKey || strings.IndexByte(key, 0) >= 0 {
		c.fault(field, "%d bytes, the limit is %d", len(key), domain.MaxConcurrencyKey)
	}
	known := slices.Collect(maps.Keys(c.b.Params))
	for i := range c.b.Inputs {
		known = append(known, c.b.Inputs[i].Name)
	}
	for _, name := range template.Parse(key).Names() {
		name = strings.TrimPrefix(name, template.NameParams+".")
		if slices.Contains(known, name) || slices.ContainsFunc(c.b.Steps, func(s domain.Step) bool { return mentions(&s, name) }) || hooksMention(c.b.On, name) {
			continue
		}
		text := "give it a value under params"
		if near := domain.Nearest(name, known); near != "" {
			text = fmt.Sprintf("did you mean %q?", near)
		}
		c.fault(field, "the blueprint has no param %q; %s", name, text)
	}
}

// RateKey is the key of a flow with these params.
//
// Errors: [domain.ErrInvalid].
func RateKey(r *domain.Rate, params map[string]string) (string, error) {
	return keyOf("rate.key", r.Key, params)
}

// rate finds what is wrong with it.
func (c *checker) rate() {
	if c.b.Rate == nil {
		return
	}
	c.sharedKey("rate.key", c.b.Rate.Key)
	if n := c.b.Rate.PerMinute; n < 1 || n > domain.MaxRate {
		c.fault("rate.per_minute", "%d: want 1 to %d", n, domain.MaxRate)
	}
}
