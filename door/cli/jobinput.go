package cli

import (
	"cmp"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// jobFlags are those by which a job is made of a script's file.
type jobFlags struct {
	scriptType string
	env        []string
	secrets    []string
	timeout    time.Duration
	retries    uint8
	retryOn    []string
	retryExits []int
	finalExits []int
	retryDelay time.Duration
	retryMost  time.Duration
	retryBy    float64
	retryPart  float64
	priority   int
	affinity   map[string]string
	at         string
	artifacts  []string
	id         uint32
	depends    []uint
	needs      []string
	notBefore  string
	runner     uint32
}

// single are the flags that only make sense for one script: a jobs file says
// the same for each of its jobs.
var single = []string{"secret", "timeout", "retries", "retry-on", "retry-exit-code", "final-exit-code", "retry-delay", "retry-max-delay", "retry-factor",
	"retry-jitter", "priority", "id", "depends", "prerequisite", "not-before", "for-runner", "affinity", "at",
	"artifact"}

func (f *jobFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.scriptType, "type", "", "the script's `type`: shell, python, node, v, ... (default: by extension or #! line)")
	c.Flags().StringArrayVar(&f.env, "env", nil, "an environment variable, `NAME=VALUE`; may be repeated")
	c.Flags().StringArrayVar(&f.secrets, "secret", nil, "a secret of the context as an environment variable, `VARIABLE=SECRET`; may be repeated; see ramet secret")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "how long the script may run, in whole seconds (default: the node's, 1h)")
	c.Flags().Uint8Var(&f.retries, "retries", 0, "how often it is tried again after it failed")
	c.Flags().StringSliceVar(&f.retryOn, "retry-on", nil, "the `ends` that are tried again: errored, failed (default: both)")
	c.Flags().IntSliceVar(&f.retryExits, "retry-exit-code", nil, "exit `codes` after which it is tried again, besides what --retry-on says")
	c.Flags().DurationVar(&f.retryDelay, "retry-delay", 0, "the `pause` before the second attempt, in whole seconds (default: the node's)")
	c.Flags().DurationVar(&f.retryMost, "retry-max-delay", 0, "the longest `pause` between attempts, in whole seconds (default: 1h, where "+
		"there is a delay of its own)")
	c.Flags().Float64Var(&f.retryBy, "retry-factor", 0, "by `what` each pause is longer than the one before, 1 to 100 (default 2)")
	c.Flags().Float64Var(&f.retryPart, "retry-jitter", domain.DefaultJitter, "which `part` of a pause chance may take off it, 0 to 1")
	c.Flags().IntSliceVar(&f.finalExits, "final-exit-code", nil, "exit `codes` after which it is not tried again")
	c.Flags().StringToStringVar(&f.affinity, "affinity", nil, "`labels` that a node must have to run it, as zone=eu,disk=ssd")
	c.Flags().StringVar(&f.at, "at", "", "`where` it runs, if not here: a context, as 7; one of another site, as 7@acme; or runner:20")
	c.Flags().StringArrayVar(&f.artifacts, "artifact", nil, "a file that it leaves, a `PATH` in its work folder, with * and **; may be repeated")
	c.Flags().IntVar(&f.priority, "priority", 0, "1 to 9, tried highest first; 0 is the plain queue")
	c.Flags().Uint32Var(&f.id, "id", 0, "the job's `number`; 0 is the next free one")
	numbersVar(c.Flags(), &f.depends, "depends", "`ids` of the caller's jobs that must finish before it")
	c.Flags().StringArrayVar(&f.needs, "prerequisite", nil, "`what` must be met before: file:PATH, a URL, tcp:HOST:PORT, job:1:7, or a name; may be repeated")
	c.Flags().StringVar(&f.notBefore, "not-before", "", "`when` it may begin: 2026-12-24T18:00:00Z, or 90s from now")
	c.Flags().Uint32Var(&f.runner, "for-runner", 0, "the `number` of the only runner that may take it")
}

// jobs reads the file that a command names: a script, or a list of jobs.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound].
func (a *app) jobs(c *cobra.Command, file string, f *jobFlags) ([]api.JobInput, error) {
	env, err := f.environment()
	if err != nil {
		return nil, err
	}
	text, err := a.readInput(file, maxJobsFile)
	if err != nil {
		return nil, err
	}
	if !f.isList(file, text) {
		return f.script(file, text, env)
	}
	for _, name := range single {
		if c.Flags().Changed(name) {
			return nil, domain.Invalidf("--%s is for a single script; write %q into %s", name, name, file)
		}
	}
	jobs, err := parseJobs(file, filepath.Dir(file), text)
	for i := range jobs {
		if len(env) > 0 {
			all := maps.Clone(env)
			for name, value := range jobs[i].EnvVars {
				if _, given := all[name]; !given {
					all[name] = value
				}
			}
			jobs[i].EnvVars = all
		}
	}
	return jobs, err
}

// retry is what the flags say of the next attempts beside how many there are.
func (f *jobFlags) retry() (*domain.Retry, error) {
	r := domain.Retry{Factor: f.retryBy, ExitCodes: f.retryExits, FinalExitCodes: f.finalExits}
	for flag, d := range map[string]time.Duration{"retry-delay": f.retryDelay, "retry-max-delay": f.retryMost} {
		if d < 0 || d%time.Second != 0 || d > domain.MaxRetryDelay*time.Second {
			return nil, domain.Invalidf("--%s %v: want whole seconds up to a day, for example 90s", flag, d)
		}
	}
	r.Delay, r.MaxDelay = domain.Span(f.retryDelay/time.Second), domain.Span(f.retryMost/time.Second)
	if f.retryPart != domain.DefaultJitter {
		r.Jitter = &f.retryPart
	}
	for _, on := range f.retryOn {
		r.On = append(r.On, domain.RetryOn(on))
	}
	return r.Rules(), nil
}

// isList reports whether a file has jobs, not a script.
func (f *jobFlags) isList(file string, text []byte) bool {
	if f.scriptType != "" {
		return false
	}
	if file == "-" {
		return !strings.HasPrefix(string(text), "#!")
	}
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(file)))
}

func (f *jobFlags) script(file string, text []byte, env map[string]string) ([]api.JobInput, error) {
	t := domain.ScriptType(f.scriptType)
	if t == "" {
		t = domain.GuessScriptType(file, string(text))
	}
	if t == "" {
		return nil, domain.Invalidf("%s; give --type, for example --type shell", domain.Typeless(file, string(text)))
	}
	if err := checkSize(file, len(text)); err != nil {
		return nil, err
	}
	if f.timeout < 0 || f.timeout%time.Second != 0 || f.timeout > domain.MaxTimeout*time.Second {
		return nil, domain.Invalidf("--timeout %v: want whole seconds up to 30 days, for example 90s", f.timeout)
	}
	notBefore, err := f.begin(time.Now())
	if err != nil {
		return nil, err
	}
	secrets, err := pairs("secret", f.secrets)
	if err != nil {
		return nil, err
	}
	j := domain.Job{ID: domain.JobID(f.id), Script: string(text), ScriptType: t, EnvVars: env, Secrets: secrets, Timeout: uint32(f.timeout / time.Second),
		Retries: f.retries, Priority: f.priority, Prerequisites: f.needs, NotBefore: notBefore, ForRunner: domain.RunnerID(f.runner), Affinity: f.affinity,
		At: f.at, Artifacts: f.artifacts}
	if j.Retry, err = f.retry(); err != nil {
		return nil, err
	}
	for _, id := range f.depends {
		if id > math.MaxUint32 {
			return nil, domain.Invalidf("--depends %d: want ids of jobs", id)
		}
		j.Dependends = append(j.Dependends, domain.JobID(id))
	}
	check := j
	check.CallerID = domain.Operator
	if err := cmp.Or(check.Validate(), checkText(&check)); err != nil {
		return nil, domain.Invalidf("%s: %v", file, err)
	}
	return []api.JobInput{{Job: j}}, nil
}

// begin reads --not-before, in Unix milliseconds; 0 is at once.
func (f *jobFlags) begin(now time.Time) (int64, error) {
	if f.notBefore == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(f.notBefore); err == nil && d >= 0 {
		return now.Add(d).UnixMilli(), nil
	}
	at, err := time.Parse(time.RFC3339, f.notBefore)
	if err != nil || at.UnixMilli() < 0 {
		return 0, domain.Invalidf("--not-before %q: want a time such as 2026-12-24T18:00:00Z, or a duration such as 90s", f.notBefore)
	}
	return at.UnixMilli(), nil
}

func (f *jobFlags) environment() (map[string]string, error) {
	env := make(map[string]string, len(f.env))
	for _, e := range f.env {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return nil, domain.Invalidf("--env %q: want NAME=VALUE", e)
		}
		env[name] = value
	}
	return env, domain.ValidateEnv(env)
}

// isBare reports whether a job's key is its number alone.
func isBare(s string) bool { return !strings.Contains(s, ":") }

// parseKey reads a job's key as people type it: job:1:7, 1:7, or 7 for a job
// of the operator; see ownJob.
//
// Errors: [domain.ErrInvalid].
func parseKey(s string) (domain.JobKey, error) {
	if isBare(s) {
		if key, err := domain.ParseJobKey("1:" + s); err == nil {
			return key, nil
		}
		return domain.JobKey{}, domain.Invalidf("job %q: want job:<caller>:<id>, <caller>:<id> or <id>, for example 1:7", s)
	}
	return domain.ParseJobKey(s)
}
