package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// flowFlags are those by which a flow is made.
type flowFlags struct {
	trigger  string
	version  int
	params   []string
	env      []string
	priority int
	after    string
	onError  string
	skip     []string
	noCache  bool
	steps    []string
}

func (f *flowFlags) add(c *cobra.Command) {
	f.addShared(c)
	c.Flags().IntVar(&f.version, "version", 0, "the `version` of a stored blueprint; 0 is the newest")
	c.Flags().StringArrayVar(&f.env, "env", nil, "an environment variable, `NAME=VALUE`; may be repeated")
	c.Flags().IntVar(&f.priority, "priority", 0, "1 to 9, goes over the blueprint's")
}

// addShared adds those that are not flags of a single script too.
func (f *flowFlags) addShared(c *cobra.Command) {
	c.Flags().StringVar(&f.trigger, "trigger", "", "the flow's `name` beside its blueprint's: one flow is made of both, ever")
	c.Flags().StringArrayVar(&f.params, "param", nil, "a parameter, `NAME=VALUE`; may be repeated")
	c.Flags().StringVar(&f.after, "after", "", "`when` it may begin: 2026-12-24T18:00:00Z, or 90s from now")
	c.Flags().StringVar(&f.onError, "on-error", "", "abort or continue; goes over the blueprint's")
	c.Flags().StringArrayVar(&f.skip, "skip", nil, "a `step` to skip, which must allow it; may be repeated")
	c.Flags().BoolVar(&f.noCache, "no-cache", false, "run every step, also one whose result is kept from an earlier flow")
	c.Flags().StringArrayVar(&f.steps, "step", nil,
		"a change of a step, `NAME.FIELD=VALUE`: size, window, start, end, count, endless, retries, timeout, may_fail, after, params.<name>; may be repeated")
}

// Flags of `ramet run` that only make sense for a flow, and for a script.
var (
	flowOnly = []string{"trigger", "param", "after", "on-error", "skip", "no-cache", "step"}
	jobOnly  = []string{"affinity", "at", "depends", "for-runner", "id", "not-before", "final-exit-code", "prerequisite", "retries", "retry-on", "secret",
		"timeout", "type"}
)

// input is what the flags ask for.
//
// Errors: [domain.ErrInvalid].
func (f *flowFlags) input() (in api.FlowInput, err error) {
	in = api.FlowInput{Trigger: f.trigger, Version: f.version, Priority: f.priority, OnError: domain.OnError(f.onError), Skip: f.skip,
		NoCache: f.noCache}
	if in.Params, err = pairs("param", f.params); err != nil {
		return in, err
	}
	if in.EnvVars, err = pairs("env", f.env); err != nil {
		return in, err
	}
	if f.after != "" {
		if in.After, err = parseAfter(f.after, time.Now()); err != nil {
			return in, err
		}
	}
	in.Steps, err = parseChanges(f.steps)
	return in, err
}

// parseAfter reads an instant, or a span from now.
func parseAfter(text string, now time.Time) (domain.Instant, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return domain.Instant(now.Add(d).UnixMilli()), nil
	}
	at, err := domain.ParseInstant(text)
	if err != nil {
		return 0, domain.Invalidf("--after: %v, or 90s from now", err)
	}
	return at, nil
}

// parseChanges reads NAME.FIELD=VALUE flags.
//
// Errors: [domain.ErrInvalid].
func parseChanges(list []string) (map[string]domain.StepChange, error) {
	steps := map[string]domain.StepChange{}
	for _, text := range list {
		left, value, ok1 := strings.Cut(text, "=")
		step, field, ok2 := strings.Cut(left, ".")
		if !ok1 || !ok2 || step == "" {
			return nil, domain.Invalidf("--step %q: want NAME.FIELD=VALUE, such as load.window=100", text)
		}
		c := steps[step]
		if err := setChange(&c, field, value); err != nil {
			return nil, domain.Invalidf("--step %q: %v", text, err)
		}
		steps[step] = c
	}
	return steps, nil
}

var changeFields = []string{"size", "window", "start", "end", "count", "endless", "retries", "timeout", "may_fail", "after"}

func setChange(c *domain.StepChange, field, value string) (err error) {
	number := func() (n int64) {
		var perr error
		if n, perr = strconv.ParseInt(value, 10, 64); perr != nil {
			err = domain.Invalidf("%q is no whole number", value)
		}
		return n
	}
	// counted is a number of which 0 would say that nothing is asked for.
	counted := func() int64 {
		n := number()
		if err == nil && n == 0 {
			err = domain.Invalidf("want 1 or more")
		}
		return n
	}
	truth := func() *bool {
		b, perr := strconv.ParseBool(value)
		if perr != nil {
			err = domain.Invalidf("%q: want true or false", value)
		}
		return &b
	}
	if name, is := strings.CutPrefix(field, "params."); is {
		c.Params = maps.Clone(c.Params)
		if c.Params == nil {
			c.Params = map[string]string{}
		}
		c.Params[name] = value
		return nil
	}
	switch field {
	case "size":
		c.Size = counted()
	case "window":
		c.Window = int(counted())
	case "count":
		c.Count = int(counted())
	case "start":
		n := number()
		c.Start = &n
	case "end":
		n := number()
		c.End = &n
	case "retries":
		n := int(number())
		c.Retries = &n
	case "endless":
		c.Endless = truth()
	case "may_fail":
		c.MayFail = truth()
	case "timeout":
		if c.Timeout, err = domain.ParseSpan(value); err == nil && c.Timeout == 0 {
			err = domain.Invalidf("want a span of 1s or more")
		}
	case "after":
		c.After, err = parseAfter(value, time.Now())
	default:
		return domain.Invalidf("%q is nothing that can be changed%s", field, guess(field, changeFields))
	}
	return err
}

// flowInput is the flow that a command names: by a file of a blueprint or of
// jobs, or by a stored blueprint's name.
func (a *app) flowInput(arg string, f *flowFlags) (api.FlowInput, error) {
	in, err := f.input()
	if err != nil {
		return in, err
	}
	if !isFile(arg) {
		if err := domain.ValidateName("blueprint", arg); err != nil {
			return in, err
		}
		in.Blueprint = arg
		return in, nil
	}
	kind, text, err := a.documentKind(arg)
	if err != nil {
		return in, err
	}
	if in.Version != 0 {
		return in, domain.Invalidf("--version is for stored blueprints; %s is a file", arg)
	}
	if kind == kindJobs || kind == "" && arg != "-" {
		in.Jobs, err = parseJobs(arg, filepath.Dir(arg), text)
		return in, err
	}
	if arg == "-" {
		in.Plan, err = blueprint.ParsePlan("stdin", text)
	} else {
		in.Plan, err = blueprint.ParsePlanFile(arg)
	}
	return in, err
}

// What a file holds.
const (
	kindScript    = "script"
	kindJobs      = "jobs"
	kindBlueprint = "blueprint"
)

// documentKind tells a blueprint from a list of jobs by its fields, and both
// from a script by the file's extension; "" where it is neither.
func (a *app) documentKind(file string) (kind string, text []byte, err error) {
	if file != "-" && !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(file))) {
		return kindScript, nil, nil
	}
	text, err = a.readInput(file, maxJobsFile)
	if err != nil {
		return "", nil, err
	}
	return kindOf(file, text), text, nil
}

// kindOf says what a document holds.
func kindOf(file string, text []byte) string {
	root, err := readDocument(file, text, "a blueprint, or a list of jobs")
	if err != nil || root.Kind != yaml.MappingNode {
		return ""
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch root.Content[i].Value {
		case "jobs":
			return kindJobs
		case "steps", "name":
			return kindBlueprint
		}
	}
	return ""
}
