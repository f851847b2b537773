package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

const (
	// maxJobsFile bounds a jobs file; its scripts can be files of their own.
	maxJobsFile = 64 << 20 // bytes
	// maxJobsValues bounds its values: 100,000 jobs, or steps, of forty each.
	maxJobsValues = 4_000_000
	// maxJobs bounds how many jobs one file has.
	maxJobs = 10_000
)

// fileJob is one job of a jobs file: what a caller may ask for, with the
// names that [domain.Job] has in JSON.
type fileJob struct {
	ID                  domain.JobID      `yaml:"id"`
	CallerID            domain.ActorID    `yaml:"caller_id"`
	ContextID           domain.TenantID   `yaml:"context_id"`
	Script              string            `yaml:"script"`
	ScriptType          domain.ScriptType `yaml:"script_type"`
	Timeout             fileSpan          `yaml:"timeout"`
	Retries             uint8             `yaml:"retries"`
	Retry               *fileRetry        `yaml:"retry"`
	EnvVars             map[string]string `yaml:"env_vars"`
	Secrets             map[string]string `yaml:"secrets"`
	Prerequisites       []string          `yaml:"prerequisites"`
	Dependends          []domain.JobID    `yaml:"dependends"`
	Depends             []domain.JobID    `yaml:"depends"` // another spelling of Dependends
	Priority            int               `yaml:"priority"`
	NotBefore           fileInstant       `yaml:"not_before"`
	ForRunner           domain.RunnerID   `yaml:"for_runner"`
	PrerequisiteTimeout fileSpan          `yaml:"prerequisite_timeout"`
	TraceID             string            `yaml:"trace_id"`
	Affinity            domain.Labels     `yaml:"affinity"`
	At                  string            `yaml:"at"`
	Artifacts           []string          `yaml:"artifacts"`
	// File is read into Script; its path is relative to the jobs file.
	File string `yaml:"file"`
}

// fileSpan is a span of time in seconds, and fileInstant an instant in Unix milliseconds,
// both also as blueprints write them.
type (
	fileSpan    uint32
	fileInstant int64
)

func (s *fileSpan) UnmarshalYAML(n *yaml.Node) error {
	v, err := domain.ParseSpan(n.Value)
	*s = fileSpan(v)
	return atLine(n, err)
}

func (i *fileInstant) UnmarshalYAML(n *yaml.Node) error {
	v, err := domain.ParseInstant(n.Value)
	*i = fileInstant(v)
	return atLine(n, err)
}

func atLine(n *yaml.Node, err error) error {
	if err != nil {
		err = fmt.Errorf("line %d: %w", n.Line, err)
	}
	return err
}

// fileRetry is which ends of a job are tried again, and when: a [domain.Retry].
type fileRetry struct {
	Max            int              `yaml:"max"`
	Delay          fileSpan         `yaml:"delay"`
	Factor         float64          `yaml:"factor"`
	MaxDelay       fileSpan         `yaml:"max_delay"`
	Jitter         *float64         `yaml:"jitter"`
	On             []domain.RetryOn `yaml:"on"`
	ExitCodes      []int            `yaml:"exit_codes"`
	FinalExitCodes []int            `yaml:"final_exit_codes"`
}

func (r *fileRetry) retry() *domain.Retry {
	if r == nil {
		return nil
	}
	return &domain.Retry{Max: r.Max, Delay: domain.Span(r.Delay), Factor: r.Factor, MaxDelay: domain.Span(r.MaxDelay), Jitter: r.Jitter, On: r.On,
		ExitCodes: r.ExitCodes, FinalExitCodes: r.FinalExitCodes}
}

// fileRetryFields are the names above.
var fileRetryFields = []string{"max", "delay", "factor", "max_delay", "jitter", "on", "exit_codes", "final_exit_codes"}

// fileJobFields are the names above.
var fileJobFields = []string{
	"id", "caller_id", "context_id", "script", "script_type", "timeout", "retries", "retry", "env_vars", "secrets", "prerequisites", "dependends", "depends",
	"priority", "not_before", "for_runner", "prerequisite_timeout", "trace_id", "affinity", "at", "artifacts",
	"file",
}

// rametFields are fields of a job's record that nobody hands in.
var rametFields = []string{
	"result", "created_at", "updated_at", "status", "reason", "error", "exit_code", "attempt", "runner_id", "flow_id",
}

// parseJobs reads a jobs file: YAML or JSON with a list "jobs". name is the
// file's, for errors; dir is what the paths in it are relative to.
//
// Errors: [domain.ErrInvalid] with file and line; those of [domain.FileErrorf]
// for a script's file.
func parseJobs(name, dir string, text []byte) ([]api.JobInput, error) {
	p := jobsParser{name: name, dir: dir, seen: map[domain.JobKey]int{}}
	root, err := readDocument(name, text, "a list of jobs under `jobs:`")
	if err != nil {
		return nil, err
	}
	return p.document(root)
}

// readDocument reads the one YAML or JSON document of a file; want says what
// it should have.
//
// Errors: [domain.ErrInvalid] with file and line.
func readDocument(name string, text []byte, want string) (*yaml.Node, error) {
	root, err := intake.Parse(text, intake.Limits{Bytes: maxJobsFile, Values: maxJobsValues})
	if root == nil && err == nil {
		return nil, domain.Invalidf("%s is empty; want %s", name, want)
	}
	if err != nil {
		return nil, domain.Invalidf("%s: %v", name, err)
	}
	if twice := (*intake.Error)(nil); errors.As(intake.Unique(root), &twice) {
		return nil, domain.Invalidf("%s:%d: %s", name, twice.Line, twice.Text)
	}
	return root, nil
}

// jobsParser goes through one jobs file.
type jobsParser struct {
	name, dir string
	seen      map[domain.JobKey]int // the line of each job with an id
}

func (p *jobsParser) invalid(n *yaml.Node, format string, args ...any) error {
	return domain.Invalidf("%s:%d: %s", p.name, n.Line, fmt.Sprintf(format, args...))
}

func (p *jobsParser) document(root *yaml.Node) ([]api.JobInput, error) {
	if root.Kind != yaml.MappingNode {
		return nil, p.invalid(root, "want a list of jobs under `jobs:`")
	}
	if err := p.fields(root, []string{"jobs"}, nil); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 || root.Content[1].Kind != yaml.SequenceNode || len(root.Content[1].Content) == 0 {
		return nil, p.invalid(root, "want a list of at least one job under `jobs:`")
	}
	items := root.Content[1].Content
	if len(items) > maxJobs {
		return nil, p.invalid(root, "%d jobs, the limit is %d", len(items), maxJobs)
	}
	jobs := make([]api.JobInput, 0, len(items))
	for _, item := range items {
		j, err := p.job(item)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// fields refuses names that are not known.
func (p *jobsParser) fields(n *yaml.Node, known, ours []string) error {
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		switch name := key.Value; {
		case slices.Contains(ours, name):
			return p.invalid(key, "field %q is set by ramet; leave it out", name)
		case !slices.Contains(known, name):
			return p.invalid(key, "unknown field %q%s", name, guess(name, known))
		}
	}
	return nil
}

func (p *jobsParser) job(n *yaml.Node) (api.JobInput, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return api.JobInput{}, p.invalid(n, "want a job with fields such as `script_type:` and `file:`")
	}
	if err := p.fields(n, fileJobFields, rametFields); err != nil {
		return api.JobInput{}, err
	}
	if err := p.retryFields(n); err != nil {
		return api.JobInput{}, err
	}
	var f fileJob
	if err := n.Decode(&f); err != nil {
		return api.JobInput{}, domain.Invalidf("%s: %s", p.name, yamlText(err))
	}
	if err := p.fill(n, &f); err != nil {
		return api.JobInput{}, err
	}
	j := api.JobInput{Job: domain.Job{
		ID: f.ID, CallerID: f.CallerID, ContextID: f.ContextID, Script: f.Script, ScriptType: f.ScriptType, Timeout: uint32(f.Timeout),
		Retries: f.Retries, Retry: f.Retry.retry(), EnvVars: f.EnvVars, Secrets: f.Secrets, Prerequisites: f.Prerequisites, Dependends: f.Dependends,
		Priority:  f.Priority,
		NotBefore: int64(f.NotBefore), ForRunner: f.ForRunner, PrerequisiteTimeout: uint32(f.PrerequisiteTimeout), TraceID: f.TraceID, Affinity: f.Affinity,
		At: f.At, Artifacts: f.Artifacts,
	}}
	// What the node would refuse is refused here, where the line is known. A
	// job without a caller is its submitter's.
	check := j.Job
	check.CallerID = cmp.Or(check.CallerID, domain.Operator)
	if err := cmp.Or(check.Validate(), checkText(&check)); err != nil {
		return api.JobInput{}, p.invalid(n, "%v", err)
	}
	return j, nil
}

// retryFields refuses names in a job's `retry:` that are not known.
func (p *jobsParser) retryFields(job *yaml.Node) error {
	for i := 0; i+1 < len(job.Content); i += 2 {
		n := job.Content[i+1]
		for n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if job.Content[i].Value != "retry" || n.Kind != yaml.MappingNode {
			continue
		}
		if err := p.fields(n, fileRetryFields, nil); err != nil {
			return err
		}
	}
	return nil
}

// fill brings in what a job's file says, and resolves the two spellings.
func (p *jobsParser) fill(n *yaml.Node, f *fileJob) error {
	switch {
	case f.File != "" && f.Script != "":
		return p.invalid(n, "script and file: want one of them")
	case f.Depends != nil && f.Dependends != nil:
		return p.invalid(n, "dependends and depends are the same field; want one of them")
	case f.Depends != nil:
		f.Dependends = f.Depends
	}
	if key := (domain.JobKey{Caller: f.CallerID, ID: f.ID}); f.ID != 0 {
		if line, twice := p.seen[key]; twice {
			return p.invalid(n, "job %d stands at line %d already", f.ID, line)
		}
		p.seen[key] = n.Line
	}
	if f.File != "" {
		file := f.File
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.dir, file)
		}
		text, err := readScript(file)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", p.name, n.Line, err)
		}
		f.Script = text
		f.ScriptType = cmp.Or(f.ScriptType, domain.GuessScriptType(file, text))
	}
	if f.ScriptType == "" {
		if f.File != "" {
			return p.invalid(n, "%s; want script_type, for example shell", domain.Typeless(f.File, f.Script))
		}
		return p.invalid(n, "want script_type, for example shell or python")
	}
	return nil
}

// valueType is how the parser names that of a value.
var valueType = regexp.MustCompile(`!!\w+ `)

// yamlText is a parser's error on one line, without words of its own.
func yamlText(err error) string {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	text, _, _ = strings.Cut(text, "\n")
	for was, is := range map[string]string{"!!seq into": "a list into", "!!map into": "fields into",
		"domain.JobID": "a job's id", "domain.ActorID": "an actor's id", "domain.RunnerID": "a runner's id", "domain.TenantID": "a context's id",
		"domain.ScriptType": "a script type", "uint32": "a number from 0 to 4294967295", "uint8": "a number from 0 to 255"} {
		text = strings.ReplaceAll(text, was, is)
	}
	return valueType.ReplaceAllString(text, "")
}

// readScript reads a script's file.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid].
func readScript(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fileError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, domain.MaxScriptBytes+1))
	if err != nil {
		return "", fileError(err)
	}
	return string(text), checkSize(file, len(text))
}

// checkText refuses a job that would reach the node as another: what is not UTF-8
// is no text of JSON, whose writer puts U+FFFD in its place.
//
// Errors: [domain.ErrInvalid].
func checkText(j *domain.Job) error {
	if i := strings.IndexFunc(j.Script, func(r rune) bool { return r == utf8.RuneError }); i >= 0 && !utf8.ValidString(j.Script) {
		return domain.Invalidf("script is not UTF-8, near line %d: convert it, for example with `iconv -f latin1 -t utf-8`", strings.Count(j.Script[:i], "\n")+1)
	}
	for name, value := range j.EnvVars {
		if !utf8.ValidString(value) {
			return domain.Invalidf("variable %s is not UTF-8; encode it, as base64 for example", name)
		}
	}
	for _, p := range j.Prerequisites {
		if !utf8.ValidString(p) {
			return domain.Invalidf("prerequisite %q is not UTF-8", p)
		}
	}
	return nil
}

func checkSize(name string, n int) error {
	if n > domain.MaxScriptBytes {
		return domain.Invalidf("%s is longer than a script may be, %d bytes", name, domain.MaxScriptBytes)
	}
	return nil
}
