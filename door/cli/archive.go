package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) archiveCommand() *cobra.Command {
	c := noun("archive", "Search, show and export what has ended", a.archiveSearch(), a.archiveShow(), a.archiveExport())
	c.Long = `Search, show and export what has ended: jobs with their results and logs, flows and messages, also what the board no longer has.
What has ended is in the archive a few seconds later.`
	return c
}

// archiveFlags are the filters that search and export have.
type archiveFlags struct {
	kind, status, reason, typ, blueprint, trigger, since, until, where string
	caller                                                             uint32
}

func (f *archiveFlags) add(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.kind, "kind", "", "only that `kind`: job, flow or message")
	s.StringVar(&f.status, "status", "", "only what ended with that `status`: finished, processed (messages) or error")
	s.StringVar(&f.reason, "reason", "", "only what ended for that `reason`, such as timeout; of messages refused, delivery, ack or result")
	s.StringVar(&f.typ, "type", "", "only scripts of that `type`")
	s.StringVar(&f.blueprint, "blueprint", "", "only flows of that `blueprint`")
	s.StringVar(&f.trigger, "trigger", "", "only flows with that `trigger`")
	s.Uint32Var(&f.caller, "caller", 0, "only what that `actor` asked for")
	s.StringVar(&f.since, "since", "", "only what ended since a `time`: 90m or 7d ago, 2026-11-30, or 2026-11-30T08:00:00Z")
	s.StringVar(&f.where, "where", "", "only that for which a Rhai `expression` holds, such as 'record.end_ms - record.begin_ms > 60000'")
	s.StringVar(&f.until, "until", "", "only what ended before a `time`")
}

// filter is what the flags and the words of a search ask for.
//
// Errors: [domain.ErrInvalid].
func (f *archiveFlags) filter(words []string, now time.Time) (api.ArchiveFilter, error) {
	out := api.ArchiveFilter{Kind: domain.ArchiveKind(f.kind), Status: f.status, Reason: f.reason, Type: domain.ScriptType(f.typ), Blueprint: f.blueprint,
		Trigger: f.trigger, Caller: domain.ActorID(f.caller), Text: strings.Join(words, " "), Where: f.where}
	var err error
	if out.FromMs, err = instant("--since", f.since, now); err != nil {
		return out, err
	}
	out.ToMs, err = instant("--until", f.until, now)
	return out, err
}

// instant reads a time: so long ago, a local day, or an instant with its zone.
// "" is 0.
//
// Errors: [domain.ErrInvalid].
func instant(flag, text string, now time.Time) (ms int64, err error) {
	if text == "" {
		return 0, nil
	}
	if n, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseUint(n, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(days)).UnixMilli(), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d).UnixMilli(), nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMilli(), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t.UnixMilli(), nil
	}
	return 0, domain.Invalidf("%s %q: want 90m or 7d (ago), a day such as 2026-11-30, or 2026-11-30T08:00:00Z", flag, text)
}

func (a *app) archiveSearch() *cobra.Command {
	var flags archiveFlags
	var limit int
	c := &cobra.Command{
		Use: "search [WORD]...", Short: "List what has ended, newest first", ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, words []string) error {
			f, err := flags.filter(words, time.Now())
			if err != nil {
				return err
			}
			if limit < 1 {
				return domain.Invalidf("--limit %d: want 1 or more", limit)
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.search(c.Context(), n, f, limit) })
		},
	}
	c.Long = c.Short + `.
Each WORD must begin a word of the script, the text of a message, the result, the error or the log; capitals do not count.`
	c.Example = "  ramet archive search refused --status error --since 7d"
	flags.add(c)
	c.Flags().IntVar(&limit, "limit", 100, "how many at the most")
	return c
}

// search collects pages up to limit records.
func (a *app) search(ctx context.Context, c *client.Client, f api.ArchiveFilter, limit int) error {
	all := api.ArchivePage{Records: []api.ArchiveRecord{}}
	for {
		f.Cursor, f.Limit = all.Next, min(limit-len(all.Records), archive.MaxPage)
		page, err := c.SearchArchive(ctx, a.tenant(), f)
		if err != nil {
			return err
		}
		all.Records, all.Next = append(all.Records, page.Records...), page.Next
		if all.Next == "" || len(all.Records) >= limit {
			break
		}
	}
	if all.Next != "" && a.output == outTable {
		defer a.complain(fmt.Sprintf("there are more; --limit is %d", limit))
	}
	return a.print(all, func(t *table) {
		t.row("KEY", "WHAT", "STATUS", "REASON", "ENDED", "CALLER")
		for _, r := range all.Records {
			what := strings.TrimSpace(r.Blueprint + " " + r.Trigger) // of a flow
			t.row(r.Key, cmp.Or(string(r.ScriptType), what), r.Status, r.Reason, clock(r.EndMs), r.Caller)
		}
	})
}

func (a *app) archiveShow() *cobra.Command {
	var endMs int64
	var logs bool
	c := &cobra.Command{
		Use: "show KEY", Short: "Show what has ended", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			key := args[0]
			if job, err := parseKey(key); err == nil {
				key = job.String()
			}
			return a.with(c.Context(), func(n *client.Client) error {
				r, err := n.Archived(c.Context(), a.tenant(), key, endMs)
				if err != nil {
					return err
				}
				return a.archived(r, logs)
			})
		},
	}
	c.Long = c.Short + ". A KEY is as search shows it; of a job <caller>:<id> or <id> will do."
	c.Flags().Int64Var(&endMs, "end", 0, "the end in Unix `milliseconds`, where a key has several (default: the newest)")
	c.Flags().BoolVar(&logs, "logs", false, "show what it said too")
	return c
}

func (a *app) archived(r api.ArchiveRecord, logs bool) error {
	err := a.print(r, func(t *table) {
		if r.Job != nil {
			jobTable(t, r.Job)
			return
		}
		if r.Message != nil {
			messageTable(t, &api.MessageView{Message: *r.Message})
			return
		}
		var v domain.FlowView
		if r.Kind == domain.ArchiveFlow && json.Unmarshal(r.Body, &v) == nil {
			flowTable(t, &v)
			return
		}
		t.field(string(r.Kind), r.Key)
		t.field("status", r.Status)
		t.field("reason", r.Reason)
		t.field("blueprint", r.Blueprint)
		t.field("trigger", r.Trigger)
		t.field("began", clock(r.BeginMs))
		t.field("ended", clock(r.EndMs))
		t.field("caller", r.Caller)
	})
	if err != nil || a.output != outTable || !logs {
		return err
	}
	for _, l := range r.Logs {
		a.logLine(l)
	}
	return nil
}

func (a *app) archiveExport() *cobra.Command {
	var flags archiveFlags
	c := &cobra.Command{
		Use: "export [WORD]...", Short: "Write what has ended as JSON lines, newest first, whole and with logs", ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, words []string) error {
			f, err := flags.filter(words, time.Now())
			if err != nil {
				return err
			}
			if a.output == outYAML {
				return domain.Invalidf("-o yaml: an export is JSON lines")
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.export(c.Context(), n, f) })
		},
	}
	c.Long = c.Short + `. Words and filters are as for search. It goes on page by page to the end; what ends meanwhile is left out.`
	c.Example = "  ramet archive export --since 2026-11-01 >november.jsonl"
	flags.add(c)
	return c
}

// export writes each record as a line.
func (a *app) export(ctx context.Context, c *client.Client, f api.ArchiveFilter) error {
	lines := json.NewEncoder(bare(a.std.Out))
	lines.SetEscapeHTML(false)
	for {
		page, err := c.ExportArchive(ctx, a.tenant(), f)
		if err != nil {
			return err
		}
		for _, r := range page.Records {
			if err := lines.Encode(r); err != nil {
				return err
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return nil
		}
	}
}
