package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) archiveCommand() *cobra.Command {
	c := noun("archive", "Search, show and export what has ended", a.archiveSearch(), a.archiveShow(), a.archiveExport())
	c.Long = `Search, show and export what has ended: jobs with their results and logs, flows and messages, also what the board no longer has.
What has ended is in the archive a few seconds later.`
	return c
}

// instant reads a time: so long ago, a local day, or an instant with its zone.
// "" is 0.
//
// Errors: [domain.ErrInvalid].
func instant(flag, text string, now time.Time) (ms int64, err error) {
	if text == "" {
		return 0, nil
	}
	t, err := timetable.Since(text, now)
	if err != nil {
		return 0, fmt.Errorf("%s %w", flag, err)
	}
	return t.UnixMilli(), nil
}

func (a *app) archiveSearch() *cobra.Command {
	c := &cobra.Command{Use: "search [WORD]...", Short: "List what has ended, newest first", ValidArgsFunction: cobra.NoFileCompletions}
	c.Long = c.Short + `.
Each WORD must begin a word of the script, the text of a message, the result, the error or the log; capitals do not count.`
	c.Example = "  ramet archive search refused --status error --since 7d"
	return listing[api.ArchiveParams, api.ArchivePage, api.ArchiveRecord]{
		op: api.ArchiveSearch, of: records, without: []string{"text"},
		prepare: func(p *api.ArchiveParams, words []string) { p.Text = strings.Join(words, " ") },
		page: func(p *api.ArchivePage) paged[api.ArchiveRecord] {
			return paged[api.ArchiveRecord]{&p.Records, &p.Next, nil, p.Count}
		},
		rows: func(t *table, list []api.ArchiveRecord) {
			t.row("KEY", "WHAT", "STATUS", "REASON", "ENDED", "CALLER")
			for _, r := range list {
				what := strings.TrimSpace(r.Blueprint + " " + r.Trigger) // of a flow
				t.row(r.Key, cmp.Or(string(r.ScriptType), what), r.Status, r.Reason, clock(r.EndMs), r.Caller)
			}
		},
	}.into(a, c)
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
		if err := a.logLine(l, &logFlags{}); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) archiveExport() *cobra.Command {
	c := &cobra.Command{
		Use: "export [WORD]...", Short: "Write what has ended as JSON lines, newest first, whole and with logs", ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.Long = c.Short + `. Words and filters are as for search. It goes on page by page to the end; what ends meanwhile is left out.`
	c.Example = "  ramet archive export --since 2026-11-01 >november.jsonl"
	filters := flagsOf(c, api.ArchiveExport.Operation, records, "text")
	c.RunE = func(c *cobra.Command, words []string) error {
		var p api.ArchiveParams
		if err := filters.read(&p); err != nil {
			return err
		}
		if a.output == outYAML {
			return domain.Invalidf("-o yaml: an export is JSON lines")
		}
		p.Text = strings.Join(words, " ")
		return a.with(c.Context(), func(n *client.Client) error { return a.export(c.Context(), n, p.ArchiveFilter) })
	}
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
