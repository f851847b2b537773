package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/intake"
)

// This file shows whether somebody has changed an audit log. It looks itself, at the lines
// as they lie on the board or in a file: the node is not asked for its opinion.

// auditChains are the two chains of a log, in the order in which they are looked at.
var auditChains = []domain.AuditOutcome{domain.AuditDone, domain.AuditDenied}

// exportForm is the form of an export: lines of JSON. An auditFile stands before the lines
// of each chain, and one with End behind them.
const exportForm = 1

// auditFile is what stands in an export beside the lines themselves.
type auditFile struct {
	// Form is exportForm; in it, a line of the log is told from these.
	Form    int                 `json:"ramet_audit_log,omitzero"`
	Context domain.TenantID     `json:"context"`
	Outcome domain.AuditOutcome `json:"outcome"`
	// Head is what the board said of the chain, when it was begun with or, at the End, when
	// its last lines were read.
	Head  domain.AuditHead `json:"head"`
	Lines int              `json:"lines,omitzero"`
	End   bool             `json:"end,omitzero"`
}

// maxExportLine bounds the lines of an export, in bytes.
const maxExportLine = 64 << 10

// auditSink takes the chains of a log, one after the other.
type auditSink interface {
	begin(tenant domain.TenantID, outcome domain.AuditOutcome, head domain.AuditHead) error
	line(text string) error
	end(head domain.AuditHead) error
}

// readChains reads the chains of a log from a node.
func readChains(ctx context.Context, n *client.Client, tenant domain.TenantID, to auditSink) error {
	for _, outcome := range auditChains {
		p := api.AuditChainPart{Outcome: outcome}
		for first := true; first || p.From > 0; first = false {
			page, err := n.AuditChain(ctx, tenant, p)
			if err != nil {
				return err
			}
			if first {
				err = to.begin(tenant, outcome, page.Head)
			}
			for _, line := range page.Lines {
				err = errors.Join(err, to.line(line))
			}
			if p.From = page.Next; p.From == 0 {
				err = errors.Join(err, to.end(page.Head))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readExport reads them from an export.
//
// Errors: [domain.ErrInvalid] for what is none; *exitError for one that was cut or changed.
func readExport(name string, from io.Reader, to auditSink) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxExportLine)
	open, at, count, seen := auditFile{}, 0, 0, 0
	for lines.Scan() {
		at++
		text := lines.Text()
		var mark auditFile
		if err := intake.Read([]byte(text), &mark, intake.Limits{Bytes: maxExportLine}); err != nil || mark.Form == 0 {
			if open.Form == 0 {
				return domain.Invalidf("%s:%d: this is no line of an audit log's export: want what `ramet audit log export` writes", name, at)
			}
			count++
			if err := to.line(text); err != nil {
				return err
			}
			continue
		}
		if mark.Form != exportForm {
			return domain.Invalidf("%s:%d: an export of form %d: this program reads form %d; use the one that wrote it, or a newer one", name, at, mark.Form, exportForm)
		}
		switch {
		case mark.End && open.Form == 0, !mark.End && open.Form != 0, mark.End && (mark.Outcome != open.Outcome || mark.Lines != count):
			return changedExport("%s:%d: lines of the export are missing, or were put there", name, at)
		case mark.End:
			open = auditFile{}
			if err := to.end(mark.Head); err != nil {
				return err
			}
		default:
			open, count, seen = mark, 0, seen+1
			if err := to.begin(mark.Context, mark.Outcome, mark.Head); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return domain.Invalidf("%s:%d: %v", name, at+1, err)
	}
	if open.Form != 0 || seen != len(auditChains) {
		return changedExport("%s:%d: the export was cut here: want the end of %d chains", name, at, len(auditChains))
	}
	return nil
}

// changedExport says that an export is not as it was written: that is what was looked for,
// and no misuse of the command.
func changedExport(format string, args ...any) error {
	return &exitError{exitFailed, "CHANGED  " + fmt.Sprintf(format, args...)}
}

// auditExporter writes an export.
type auditExporter struct {
	to    *bufio.Writer
	mark  auditFile
	count int
}

func (x *auditExporter) put(m auditFile) error {
	text, err := json.Marshal(m)
	if err == nil {
		_, err = x.to.Write(append(text, '\n'))
	}
	return err
}

func (x *auditExporter) begin(tenant domain.TenantID, outcome domain.AuditOutcome, head domain.AuditHead) error {
	x.mark, x.count = auditFile{Form: exportForm, Context: tenant, Outcome: outcome, Head: head}, 0
	return x.put(x.mark)
}

func (x *auditExporter) line(text string) error {
	x.count++
	_, err := x.to.WriteString(strings.ReplaceAll(text, "\n", " ") + "\n") // no line of ours has one
	return err
}

func (x *auditExporter) end(head domain.AuditHead) error {
	x.mark.Head, x.mark.Lines, x.mark.End = head, x.count, true
	return x.put(x.mark)
}

// auditCheck looks whether the chains are as they were written.
type auditCheck struct {
	trusted []string
	now     *identity.AuditVerifier
	report  auditReport
}

// auditReport is what was found.
type auditReport struct {
	Context domain.TenantID              `json:"context"`
	Whole   bool                         `json:"whole"`
	Chains  domain.List[auditOfChain]    `json:"chains"`
	Keys    domain.List[auditSigner]     `json:"keys"`
	Faults  domain.List[auditChainFault] `json:"faults"`
}

type auditOfChain struct {
	Outcome   domain.AuditOutcome `json:"outcome"`
	Lines     int                 `json:"lines"`
	First     int64               `json:"first,omitzero"`
	Last      int64               `json:"last,omitzero"`
	Dropped   int64               `json:"dropped,omitzero"`
	Unchained int                 `json:"unchained,omitzero"`
	Hash      string              `json:"hash,omitzero"`
}

type auditSigner struct {
	Key  string `json:"key"`
	Node string `json:"node"`
}

type auditChainFault struct {
	Outcome domain.AuditOutcome `json:"outcome"`
	Seq     int64               `json:"seq"`
	Text    string              `json:"text"`
}

func (k *auditCheck) begin(tenant domain.TenantID, outcome domain.AuditOutcome, head domain.AuditHead) error {
	k.report.Context = tenant
	k.report.Chains = append(k.report.Chains, auditOfChain{Outcome: outcome})
	k.now = identity.NewAuditVerifier(tenant, outcome, head, k.trusted...)
	return nil
}

func (k *auditCheck) line(text string) error { k.now.Line(text); return nil }

func (k *auditCheck) end(head domain.AuditHead) error {
	found, c := k.now.Done(head), &k.report.Chains[len(k.report.Chains)-1]
	c.Lines, c.First, c.Last, c.Dropped, c.Unchained, c.Hash = found.Lines, found.First, found.Last, found.Dropped, found.Unchained, head.Hash
	for _, key := range slices.Sorted(maps.Keys(found.Keys)) {
		if s := (auditSigner{key, found.Keys[key]}); !slices.Contains(k.report.Keys, s) {
			k.report.Keys = append(k.report.Keys, s)
		}
	}
	for _, f := range found.Faults {
		k.report.Faults = append(k.report.Faults, auditChainFault{c.Outcome, f.Seq, f.Text})
	}
	return nil
}

// chainWords are what the chains are called.
var chainWords = map[domain.AuditOutcome]string{domain.AuditDone: "what was done", domain.AuditDenied: "what was denied"}

func (r auditReport) table(t *table) {
	for _, c := range r.Chains {
		text := "no lines"
		if c.Lines > 0 {
			text = fmt.Sprintf("%d line(s), %d to %d", c.Lines, c.First, c.Last)
		}
		if c.Dropped > 0 {
			text += fmt.Sprintf("; %d older ones were cut by a node", c.Dropped)
		}
		if c.Unchained > 0 {
			text += fmt.Sprintf("; %d of before they were chained, for which nobody can answer", c.Unchained)
		}
		t.wide(chainWords[c.Outcome]+":", text)
		if c.Hash != "" {
			t.wide("", fmt.Sprintf("line %d is %s", c.Last, c.Hash))
		}
	}
	for _, s := range r.Keys {
		t.wide("signed by", s.Key+" as "+s.Node)
	}
	for _, f := range r.Faults {
		t.wide("CHANGED", chainWords[f.Outcome]+": "+f.Text)
	}
	if r.Whole {
		t.wide("whole:", "nothing was changed, put in or taken out")
	}
}

func (a *app) auditVerify() *cobra.Command {
	var ofNode bool
	var keys []string
	c := &cobra.Command{
		Use: "verify [FILE]", Short: "Show whether somebody has changed the audit log", Args: cobra.MaximumNArgs(1),
		Example: "  ramet audit log verify\n  ramet audit log export --of-node > audit.jsonl; ramet audit log verify audit.jsonl",
		RunE: func(c *cobra.Command, args []string) error {
			for _, key := range keys {
				if err := domain.ValidatePubkey(key); err != nil {
					return domain.Invalidf("--signer %q: %v", key, err)
				}
			}
			check := &auditCheck{trusted: keys}
			err := a.eachChain(c.Context(), args, ofNode, check)
			if err != nil {
				return err
			}
			check.report.Whole = len(check.report.Faults) == 0
			if err := a.print(check.report, check.report.table); err != nil {
				return err
			}
			if !check.report.Whole {
				return &exitError{exitFailed, "the audit log is not as it was written"}
			}
			return nil
		},
	}
	c.Long = c.Short + `, or an export of it: each line has a
number and the hash of the one before, and nodes sign for all up to the last. It is looked at
here, line by line; the node is not asked. What it says is the last line can be noted, with
its hash: who can write on the board and has a node's key could write all anew.
Exit code: 0 nothing was changed, 1 something was, or is missing.`
	c.Flags().BoolVar(&ofNode, "of-node", false, "what concerns no context: actors, contexts, refused tokens")
	c.Flags().StringArrayVar(&keys, "signer", nil, "believe only signatures by that public `key` of a node, as `ramet info` shows it; more than once for several")
	return c
}

// eachChain reads the chains from the file that is named, or from the node.
func (a *app) eachChain(ctx context.Context, args []string, ofNode bool, to auditSink) error {
	if len(args) == 1 {
		f, err := os.Open(args[0])
		if err != nil {
			return domain.FileErrorf(err, "read an export: %v", err)
		}
		defer f.Close()
		return readExport(args[0], f, to)
	}
	return a.with(ctx, func(n *client.Client) error {
		tenant := a.tenant()
		if ofNode {
			tenant = 0
		}
		return readChains(ctx, n, tenant, to)
	})
}

func (a *app) auditExport() *cobra.Command {
	var ofNode bool
	c := &cobra.Command{
		Use: "export", Short: "Write the audit log as lines of JSON, which `ramet audit log verify FILE` can look at anywhere", Args: cobra.NoArgs,
		Example: "  ramet audit log export > audit.jsonl",
		RunE: func(c *cobra.Command, _ []string) error {
			// No line of ours acts on a terminal: what a page takes out of others is a fault anyway.
			x := &auditExporter{to: bufio.NewWriter(a.std.Out)}
			if err := a.eachChain(c.Context(), nil, ofNode, x); err != nil {
				return err
			}
			return x.to.Flush()
		},
	}
	c.Long = c.Short + ".\nThe lines are those of the board, byte for byte."
	c.Flags().BoolVar(&ofNode, "of-node", false, "what concerns no context: actors, contexts, refused tokens")
	return c
}
