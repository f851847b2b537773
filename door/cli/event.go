package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/internal/pause"
)

const (
	// eventBatch bounds the events that are published at once, in bytes: the
	// node takes 8 MiB.
	eventBatch = 4 << 20
	// eventTries is how often a batch is published that the node may not have
	// taken. Under the same ids, nothing is stored twice.
	eventTries = 5
)

func (a *app) eventCommand() *cobra.Command {
	return noun("event", "Publish events for sagas", a.eventPublish())
}

// eventFlags are those by which one event is made.
type eventFlags struct {
	in        api.EventInput
	aggregate string
	payload   string
	meta      []string
	at        string
	file      string
	skip      int
}

func (a *app) eventPublish() *cobra.Command {
	var f eventFlags
	c := &cobra.Command{
		Use: "publish TYPE | publish --file FILE|-", Short: "Publish an event, or many from a file of JSON lines", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		Example: `  ramet event publish OrderPlaced --aggregate Order/7 --payload '{"total": 12.5}'
  ramet event publish Nudge --saga order --correlation 7
  ramet event publish --file events.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 0) == (f.file == "") {
				return domain.Invalidf("what is to be published? want the TYPE of one event, or --file with many")
			}
			if f.file != "" {
				return a.publishFile(c, &f)
			}
			f.in.Type = args[0]
			in, err := a.eventInput(&f)
			if err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error {
				id, err := n.PublishEvent(c.Context(), a.tenant(), in)
				if err != nil {
					return err
				}
				return a.print(map[string]string{"event_id": id}, func(t *table) { t.wide(id) })
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.aggregate, "aggregate", "", "`TYPE/ID` of the aggregate whose event it is")
	fl.StringVar(&f.in.Saga, "saga", "", "`name` of the saga, for an event for one instance")
	fl.StringVar(&f.in.Correlation, "correlation", "", "`id` of that instance; of an aggregate's event, the correlation id")
	fl.StringVar(&f.payload, "payload", "", "`JSON` of the payload, @FILE, or - for what is piped in")
	fl.StringVar(&f.in.ID, "id", "", "`id` of the event: published again under it, it is the same (default: one is made)")
	fl.StringArrayVar(&f.meta, "meta", nil, "metadata, `NAME=VALUE`; may be repeated")
	fl.IntVar(&f.in.SchemaVersion, "schema-version", 0, "`version` of the payload's schema (default: 1)")
	fl.StringVar(&f.at, "time", "", "`when` it happened, as 2026-12-24T18:00:00Z (default: now)")
	fl.StringVar(&f.file, "file", "", "`file` of events, a JSON object a line, with the fields event_type, aggregate_type, aggregate_id, saga, "+
		"correlation_id, payload, metadata, event_id, schema_version, timestamp_ms; - is what is piped in")
	fl.IntVar(&f.skip, "skip", 0, "leave out so many `lines` of the file: those that an earlier run has published")
	c.Long = c.Short + `. It returns once they are stored. Events of a file are stored in its order; what breaks off says
up to which line all are stored, and of which lines that is not known. A line with an event_id can be published again: it is stored once.`
	return c
}

// eventInput is the event that the flags ask for.
//
// Errors: [domain.ErrInvalid].
func (a *app) eventInput(f *eventFlags) (in api.EventInput, err error) {
	in = f.in
	if f.skip != 0 {
		return in, domain.Invalidf("--skip is for --file")
	}
	if f.aggregate != "" {
		var ok bool
		if in.AggregateType, in.AggregateID, ok = strings.Cut(f.aggregate, "/"); !ok || in.AggregateType == "" || in.AggregateID == "" {
			return in, domain.Invalidf("--aggregate %q: want TYPE/ID, such as Order/7", f.aggregate)
		}
	}
	switch {
	case f.aggregate == "" && in.Saga == "":
		return in, domain.Invalidf("whose event is it? want --aggregate TYPE/ID, or --saga NAME with --correlation ID")
	case f.aggregate != "" && in.Saga != "":
		return in, domain.Invalidf("--aggregate and --saga: want one of them")
	case in.Saga != "" && in.Correlation == "":
		return in, domain.Invalidf("--correlation: which instance of saga %s?", in.Saga)
	}
	if in.Payload, err = a.jsonFlag("payload", f.payload); err != nil {
		return in, err
	}
	if in.Metadata, err = pairs("meta", f.meta); err != nil {
		return in, err
	}
	if f.at != "" {
		at, err := domain.ParseInstant(f.at)
		if err != nil {
			return in, domain.Invalidf("--time: %v", err)
		}
		in.TimeMs = int64(at)
	}
	return in, nil
}

// jsonFlag reads a flag of JSON: itself, @FILE, or what is piped in.
//
// Errors: [domain.ErrInvalid]; those of [domain.FileErrorf].
func (a *app) jsonFlag(name, text string) (json.RawMessage, error) {
	data := []byte(text)
	path, isFile := strings.CutPrefix(text, "@")
	if isFile || text == "-" {
		var err error
		if data, err = a.readInput(path, domain.MaxEventBytes); err != nil {
			return nil, err
		}
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		return nil, nil
	}
	var v json.RawMessage
	if err := intake.Decode(data, &v, intake.Limits{Bytes: domain.MaxEventBytes}); err != nil {
		return nil, domain.Invalidf("--%s: %v; want JSON, such as '{\"total\": 12.5}'", name, err)
	}
	return v, nil
}

// publishFile publishes the lines of a file.
func (a *app) publishFile(c *cobra.Command, f *eventFlags) error {
	for _, name := range []string{"aggregate", "saga", "correlation", "payload", "id", "meta", "schema-version", "time"} {
		if c.Flags().Changed(name) {
			return domain.Invalidf("--%s is for one event; those of --file say it themselves", name)
		}
	}
	in := a.std.In
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return fileError(err)
		}
		defer file.Close()
		in = file
	}
	p := &publisher{a: a, name: f.file, lines: bufio.NewScanner(in), skip: f.skip, done: f.skip}
	p.lines.Buffer(nil, 2*domain.MaxEventBytes)
	return a.with(c.Context(), func(n *client.Client) error {
		p.n = n
		if err := p.run(c.Context()); err != nil {
			return err
		}
		return a.print(map[string]int{"published": p.stored}, func(t *table) { t.wide(fmt.Sprintf("%d events are published", p.stored)) })
	})
}

// publisher publishes a file in batches.
type publisher struct {
	a      *app
	n      *client.Client
	name   string
	lines  *bufio.Scanner
	skip   int // lines
	line   int // that was read last
	done   int // line up to which all is stored, or was left out
	stored int // events

	batch    []api.EventInput
	bytes    int
	nameless int // events of the batch whose lines have no event_id
}

func (p *publisher) run(ctx context.Context) error {
	for p.lines.Scan() {
		p.line++
		text := bytes.TrimSpace(p.lines.Bytes())
		if len(text) == 0 || p.line <= p.skip {
			continue
		}
		if len(p.batch) == api.MaxEvents || p.bytes+len(text) > eventBatch {
			if err := p.flush(ctx, p.line-1); err != nil {
				return err
			}
		}
		ev := api.EventInput{}
		if err := intake.Decode(text, &ev, intake.Limits{Bytes: 2 * domain.MaxEventBytes}); err != nil {
			return p.stop(domain.Invalidf("%s:%d: %s", p.name, p.line, intake.Text(err)))
		}
		if ev.ID == "" {
			ev.ID = rand.Text() // so that what is tried twice is stored once
			p.nameless++
		}
		p.batch, p.bytes = append(p.batch, ev), p.bytes+len(text)
	}
	if err := p.lines.Err(); err != nil {
		return p.stop(domain.Invalidf("%s:%d: %v", p.name, p.line+1, err))
	}
	return p.flush(ctx, p.line)
}

// flush publishes what has gathered, up to a line.
func (p *publisher) flush(ctx context.Context, line int) error {
	var err error
	doubt := false // the node may have stored some of a batch that it has not confirmed
	for try := 0; len(p.batch) > 0; try++ {
		if _, err = p.n.PublishEvents(ctx, p.a.tenant(), p.batch); err == nil {
			break
		}
		doubt = doubt || !storesNothing(err)
		if !errors.Is(err, domain.ErrUnavailable) || try+1 >= eventTries {
			break
		}
		if stopped := pause.For(ctx, time.Duration(1<<try)*250*time.Millisecond); stopped != nil {
			err = stopped
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("%s, lines %d to %d: %w", p.name, p.done+1, line, err)
		if doubt {
			err = fmt.Errorf("%w; %s", err, p.doubt(line))
		}
		return p.stop(err)
	}
	p.done, p.stored = line, p.stored+len(p.batch)
	p.batch, p.bytes, p.nameless = nil, 0, 0
	return nil
}

// storesNothing reports whether the node refused a batch before it stored any of it.
func storesNothing(err error) bool {
	return errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrForbidden) || errors.Is(err, domain.ErrNotFound)
}

// doubt says what is not known of the lines up to line, and what can be done about it.
func (p *publisher) doubt(line int) string {
	text := fmt.Sprintf("of lines %d to %d any may be stored already, or none; ", p.done+1, line)
	if p.nameless == 0 {
		return text + "each has an event_id, so they can be published again: what is stored is not stored twice"
	}
	return text + fmt.Sprintf("%d of them have no event_id: published again, such a line may be stored twice, one with an event_id is not", p.nameless)
}

// stop says how far it came.
func (p *publisher) stop(err error) error {
	if p.stored == 0 {
		return err
	}
	return fmt.Errorf("%w; the events of the first %d lines are published: go on with --skip %d", err, p.done, p.done)
}
