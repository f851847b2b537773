package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

// This file makes flags of the parameters that operations have behind the question mark of
// their address: what can be asked stands in package api, and here only how a person asks.

// things are what a command lists, or does something to.
type things struct {
	many  string // "jobs"
	where string // a condition on one of them
	since string // what --since and --until are about. Default: "made"
}

var (
	jobs        = things{many: "jobs", where: "job.losses > 0"}
	flows       = things{many: "flows", where: "flow.retried > 0"}
	messages    = things{many: "messages", where: "message.dst_actor == 20"}
	deadLetters = things{many: "dead letters", where: "letter.attempts > 3"}
	instances   = things{many: "instances", where: `state == "paying" && data.total > 100`}
	schedules   = things{many: "schedules", where: "schedule.paused == true"}
	records     = things{many: "records", where: "record.end_ms - record.begin_ms > 60000", since: "ended"}
)

// asking is how a parameter is asked for.
type asking struct {
	flag string // Default: the parameter's name
	help string // %[1]s is what is listed, %[2]s an example of a condition, %[3]s what a time is about
	// read makes what was typed after a flag what the address has. Default: as it is.
	read func(flag, text string) (string, error)
}

// askings has every parameter that commands take as a flag, by its name in the address.
var askings = map[string]asking{
	"status":    {help: "only %[1]s of that `status`"},
	"reason":    {help: "only %[1]s that ended so, by their `reason`"},
	"awaits":    {help: "only %[1]s that have not ended and wait for that: `what`"},
	"phase":     {help: "only %[1]s that have begun and are in that `phase`"},
	"type":      {help: "only %[1]s of that `type`"},
	"kind":      {help: "only %[1]s of that `kind`"},
	"caller":    {help: "only %[1]s of that `actor`"},
	"flow":      {help: "only %[1]s of that `flow`", read: flowNumber},
	"blueprint": {help: "only %[1]s of that `blueprint`"},
	"trigger":   {help: "only %[1]s of that `trigger`"},
	"box":       {help: "only %[1]s of that `box`"},
	"saga":      {help: "only %[1]s of that saga, by `name`"},
	"effect":    {help: "only %[1]s of that effect, by `name`"},
	"cause":     {help: "only %[1]s whose cause has that `text`"},
	"state":     {help: "only %[1]s in that `state` of the definition"},
	"where":     {help: "only %[1]s for which a Rhai `expression` holds, such as '%[2]s'"},
	"from_ms":   {flag: "since", help: "only what was %[3]s since a `time`: 90m or 7d ago, 2026-11-30, or 2026-11-30T08:00:00Z", read: milliseconds},
	"to_ms":     {flag: "until", help: "only what was %[3]s before a `time`", read: milliseconds},
	"before_ms": {flag: "before", help: "the same as --until", read: milliseconds},
	"text":      {help: "only what has that `text` somewhere in what the list shows of it; capitals do not count"},
	"sort":      {help: "the `order`"},
}

// byCommand are parameters that commands have in ways of their own.
var byCommand = []string{"count", "cursor", "limit", "dry_run"}

// wordsByType are the values that a parameter may have, by its type.
var wordsByType = map[reflect.Type][]string{
	reflect.TypeFor[domain.JobStatus]():     {"dispatched", "waiting_for_prerequisites", "started", "error", "finished"},
	reflect.TypeFor[domain.JobPhase]():      {"queued", "blocked", "running", "suspended", "retrying"},
	reflect.TypeFor[domain.FlowStatus]():    {"dispatched", "started", "error", "finished"},
	reflect.TypeFor[domain.FlowReason]():    {"succeeded", "failed", "errored", "cancelled", "stuck"},
	reflect.TypeFor[domain.FlowAwaits]():    {"jobs", "decision", "others"},
	reflect.TypeFor[domain.MessageStatus](): {"dispatched", "acknowledged", "processed", "error"},
	reflect.TypeFor[domain.MessageType]():   {"job", "chat", "mail", "result"},
	reflect.TypeFor[domain.ArchiveKind]():   {"job", "flow", "message"},
	reflect.TypeFor[domain.DeadKind]():      {"event", "saga", "work", "effect"},
}

// wordsOf are the values that a parameter may have; none where it may have any.
func wordsOf(f reflect.StructField) []string {
	switch f.Tag.Get("query") {
	case "sort":
		return []string{api.SortNewest, api.SortOldest, api.SortEnded}
	case "box":
		return []string{"sent", "received"}
	}
	return wordsByType[f.Type]
}

// flags are those that a command has of an operation's parameters.
type flags struct {
	op   *api.Operation
	list []*flag
}

// flag is one of them. Where the command has a flag of its own for the parameter, which is
// for one thing as for all, that is own.
type flag struct {
	own *pflag.Flag

	asking
	param string
	field []int
	words []string
	text  string // as it was typed
}

// flagsOf adds flags for the parameters of an operation, but for those named in without.
func flagsOf(c *cobra.Command, o *api.Operation, of things, without ...string) *flags {
	fs := &flags{op: o}
	for _, f := range api.FieldsOf(reflect.TypeOf(o.NewParams()).Elem()) {
		param := f.Tag.Get("query")
		if param == "" || slices.Contains(byCommand, param) || slices.Contains(without, param) {
			continue
		}
		if own := c.Flags().Lookup(param); own != nil {
			fs.list = append(fs.list, &flag{asking: asking{flag: param}, param: param, field: f.Index, own: own})
			continue
		}
		name := param
		if f.Type == reflect.TypeFor[domain.MessageType]() {
			name = "kind" // --type is a script's
		}
		how, known := askings[name]
		if !known {
			panic(fmt.Sprintf("BUG: the command line does not know how to ask for %s of %s", param, o.Name))
		}
		how.flag = cmp.Or(how.flag, name)
		one := &flag{asking: how, param: param, field: f.Index, words: wordsOf(f)}
		help := strings.ReplaceAll(how.help, "%[1]s", of.many)
		help = strings.NewReplacer("%[2]s", of.where, "%[3]s", cmp.Or(of.since, "made")).Replace(help)
		if len(one.words) > 0 {
			help += ": " + orList(one.words)
			completes(c, one.add(c, help), one.words...)
		} else {
			one.add(c, help)
		}
		fs.list = append(fs.list, one)
	}
	return fs
}

// add gives the flag to a command, and returns its name.
func (f *flag) add(c *cobra.Command, help string) string {
	c.Flags().StringVar(&f.text, f.flag, "", help)
	return f.flag
}

// given reports whether any was, but for the command's own.
func (fs *flags) given() bool {
	return slices.ContainsFunc(fs.list, func(f *flag) bool { return f.text != "" })
}

// named lets --flow name a flow by its blueprint and trigger, too, as verbs about one flow do.
func (fs *flags) named(a *app, c *cobra.Command) {
	at := slices.IndexFunc(fs.list, func(f *flag) bool { return f.param == "flow" })
	if at < 0 {
		return
	}
	f, run := fs.list[at], c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		blueprint, trigger, named := strings.Cut(f.text, "/")
		if named {
			err := a.with(c.Context(), func(n *client.Client) error {
				id, err := n.FlowNamed(c.Context(), a.tenant(), blueprint, trigger)
				f.text = domain.FlowKey(id)
				return err
			})
			if err != nil {
				return err
			}
		}
		return run(c, args)
	}
}

// read sets what was given in params, a pointer to parameters of the operation.
//
// Errors: [domain.ErrInvalid].
func (fs *flags) read(params any) error {
	for _, f := range fs.list {
		if f.own != nil && f.own.Changed {
			f.text = f.own.Value.String()
		}
		if f.text == "" {
			continue
		}
		text, name := f.text, "--"+f.flag
		if len(f.words) > 0 && !slices.Contains(f.words, text) {
			meant := ""
			if near := domain.Nearest(text, f.words); near != "" {
				meant = fmt.Sprintf("; did you mean %s?", near)
			}
			return domain.Invalidf("%s %q: want %s%s", name, text, orList(f.words), meant)
		}
		if f.asking.read != nil {
			var err error
			if text, err = f.asking.read(name, text); err != nil {
				return err
			}
		}
		if err := api.SetParam(reflect.ValueOf(params).Elem().FieldByIndex(f.field), name, text); err != nil {
			return err
		}
	}
	return nil
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func flowNumber(flag, text string) (string, error) {
	id, err := domain.ParseFlowKey(text)
	if err != nil {
		return "", domain.Invalidf("%s %q: want its number, flow:<number>, or <blueprint>/<trigger>", flag, text)
	}
	return fmt.Sprint(uint32(id)), nil
}

func milliseconds(flag, text string) (string, error) {
	ms, err := instant(flag, text, time.Now())
	return fmt.Sprint(ms), err
}
