package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/saga/sagatest"
)

func (a *app) sagaCommand() *cobra.Command {
	c := noun("saga", "Check, store, run and look into sagas", a.sagaApply(), a.sagaCheck(), a.sagaTest(), a.sagaList(), a.sagaShow(), a.sagaVersions(),
		a.sagaDiff(), a.sagaDelete(), a.sagaSchema(), a.sagaInstances(), a.sagaHistory(), a.sagaExplain(), a.sagaPause(), a.sagaResume(), a.sagaLag(),
		a.sagaMigrate(), a.sagaReplay(), a.sagaRewind())
	c.Long = `Check, store, run and look into sagas: state machines over events. A saga's FILE is YAML or JSON, and - is what is piped in; what has no dot or
slash is the NAME of one that is stored. CORRELATION is the id by which a saga knows an instance.`
	return c
}

// readSaga reads a file. Scripts' files are read only next to one, not for what
// is piped in.
//
// Errors: *[document.Error].
func (a *app) readSaga(file string) (*domain.SagaDefinition, error) {
	d, _, err := a.lintSaga(file)
	return d, err
}

// lintSaga is readSaga, with what may not be meant in it.
func (a *app) lintSaga(file string) (*domain.SagaDefinition, []domain.Fault, error) {
	if file != "-" {
		return definition.LintFile(file)
	}
	text, err := a.readInput(file, domain.MaxSagaBytes)
	if err != nil {
		return nil, nil, err
	}
	return definition.Lint("stdin", text)
}

func (a *app) sagaApply() *cobra.Command {
	from := ""
	c := &cobra.Command{
		Use: "apply FILE...", Short: "Store sagas, each as the newest version of its name, and have them served", Args: cobra.MinimumNArgs(1),
		Example: "  ramet saga apply order.yaml\n  ramet saga apply audit.yaml --from start\n  ramet saga apply audit.yaml --from 48h",
		RunE: func(c *cobra.Command, files []string) error {
			if ago, err := time.ParseDuration(from); err == nil && ago > 0 {
				from = time.Now().Add(-ago).UTC().Format(time.RFC3339Nano)
			}
			list := make([]*domain.SagaDefinition, len(files))
			for i, file := range files {
				d, err := a.readSaga(file)
				if err != nil {
					return a.faults(err)
				}
				list[i] = d
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.applySagas(c.Context(), n, list, domain.SagaFrom(from)) })
		},
	}
	c.Flags().StringVar(&from, "from", "", "`where` a new saga begins to read: now (the default), start, an instant, 2h ago, "+
		"or AGGREGATE_EVENTS:120 (behind that)")
	completes(c, "from", "now", "start")
	c.Long = c.Short + `. Nothing is stored before all files are right. Where the newest version has the same content, it stays; instances that live
keep the version they began with, until they are migrated. A version in the file must be greater than the newest; without one it is the next.
--from counts for a saga that is new, and for streams that it did not read before; what one that exists has read, it reads again only by ramet saga rewind.`
	return c
}

// completes gives a flag the words that it may have.
func completes(c *cobra.Command, flag string, words ...cobra.Completion) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("BUG: " + err.Error())
	}
}

func (a *app) applySagas(ctx context.Context, n *client.Client, list []*domain.SagaDefinition, from domain.SagaFrom) error {
	out := []api.SagaApplied{}
	for _, d := range list {
		done, err := n.ApplySaga(ctx, a.tenant(), d, from)
		if err != nil {
			return a.faults(err)
		}
		out = append(out, done)
		if a.output == outTable {
			a.warn(d.Name, done.Warnings)
		}
	}
	return a.print(map[string]any{"sagas": out}, func(t *table) {
		t.row("NAME", "VERSION", "HASH", "")
		for _, s := range out {
			what := "stored"
			if s.Existing {
				what = "unchanged"
			}
			t.row(s.Name, s.Version, short(s.Hash), what)
		}
	})
}

func (a *app) sagaCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check FILE...", Short: "Say what is wrong with sagas; no node is needed", Args: cobra.MinimumNArgs(1),
		Example: "  ramet saga check order.yaml\n  ramet saga check order.yaml refund.yaml",
		RunE: func(c *cobra.Command, files []string) error {
			node := &effectsLook{a: a}
			defer node.close()
			return a.checkFiles(files, func(file string) (checked, string, error) {
				d, warnings, err := a.lintSaga(file)
				if err != nil {
					return checked{}, "", err
				}
				return checked{Name: d.Name, States: len(d.States), Hash: definition.Hash(d), Warnings: append(warnings, node.missing(c.Context(), d)...)},
					fmt.Sprintf("%d states", len(d.States)), nil
			})
		},
	}
	c.Long = c.Short + `. Each fault is a line, file:line:column: path: what is wrong. What is not wrong but may not be meant is a warning: so are effects that
no node has, where a node answers; where none does, that this was not looked at.`
	return c
}

// effectsLook asks a node, if one answers, for the effects of sagas that no node has.
type effectsLook struct {
	a    *app
	node *link // nil: not asked yet, or there is none
	err  error // why there is none
}

// missing are warnings of effects, as an apply has them, or of that they were not looked at.
func (l *effectsLook) missing(ctx context.Context, d *domain.SagaDefinition) []domain.Fault {
	if len(d.Effects) == 0 && (d.Compensation == nil || len(d.Compensation.Effects) == 0) {
		return nil
	}
	if l.node == nil && l.err == nil {
		l.node, l.err = l.a.reachNow(ctx)
	}
	err := l.err
	if err == nil {
		var done api.SagaChecked
		p := api.ApplySagaParams{Context: l.a.tenant(), SagaDefinition: *d}
		if done, err = client.Call(ctx, l.node.Client, api.SagaCheck, p); err == nil {
			return done.Effects
		}
	}
	return []domain.Fault{{Path: "effects", Text: "whether a node has them was not looked at: " + err.Error()}}
}

func (l *effectsLook) close() {
	if l.node != nil {
		_ = l.node.close()
	}
}

func (a *app) sagaTest() *cobra.Command {
	quiet := false
	c := &cobra.Command{
		Use: "test FILE...", Short: "Run the tests of a saga's author, without a node", Args: cobra.MinimumNArgs(1),
		Example: "  ramet saga test order-test.yaml",
		RunE: func(_ *cobra.Command, files []string) error {
			reports, failed := []sagatest.Report{}, 0
			for _, file := range files {
				r, err := sagatest.RunFile(file)
				if err != nil {
					return a.faults(err)
				}
				failed += r.Failed()
				reports = append(reports, r)
				if a.output == outTable {
					if err := r.Text(a.std.Out, quiet); err != nil {
						return err
					}
				}
			}
			if a.output != outTable {
				if err := a.print(map[string]any{"files": reports}, nil); err != nil {
					return err
				}
			}
			if failed > 0 {
				return &exitError{code: exitFailed, text: fmt.Sprintf("%d cases failed", failed)}
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "show only cases that fail")
	c.Long = c.Short + `. A file names the saga's file, and has cases: events, results of effects and times that pass, each with what is expected then.
Exit code: 0 all are as expected, 1 some are not.`
	return c
}

func (a *app) sagaList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sagas of a context", Args: cobra.NoArgs,
		Example: "  ramet saga list",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Sagas(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("NAME", "VERSION", "UPDATED", "BY", "SUMMARY")
					for _, s := range list.Sagas {
						t.row(s.Name, s.Version, clock(s.UpdatedMs), s.By, s.Summary)
					}
				})
			})
		},
	}
}

// onSaga is a verb about one that is stored. args are behind its name.
func (a *app) onSaga(use, short, example string, do func(ctx context.Context, n *client.Client, name string, args []string) error) *cobra.Command {
	words := strings.Fields(use)
	least := 1
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "[") {
			least++
		}
	}
	return &cobra.Command{
		Use: words[0] + " NAME" + strings.TrimPrefix(use, words[0]), Short: short, Args: cobra.RangeArgs(least, len(words)),
		ValidArgsFunction: cobra.NoFileCompletions,
		Example:           "  ramet saga " + example,
		RunE: func(c *cobra.Command, args []string) error {
			if err := domain.ValidateName("saga", args[0]); err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error { return do(c.Context(), n, args[0], args[1:]) })
		},
	}
}

func (a *app) sagaShow() *cobra.Command {
	version := 0
	c := a.onSaga("show [CORRELATION]", "Show a saga as a file that can be applied again, or one of its instances", "show order\n  ramet saga show order o-1",
		func(ctx context.Context, n *client.Client, name string, args []string) error {
			if len(args) > 0 {
				return a.showInstance(ctx, n, name, args[0])
			}
			s, err := n.Saga(ctx, a.tenant(), name, version)
			if err != nil {
				return err
			}
			if a.output != outTable {
				return a.print(s, nil)
			}
			s.Definition.Version = 0 // it is the next when it is applied again
			_, err = fmt.Fprintf(a.std.Out, "# version %d of %s, by actor %d\n%s", s.Version, clock(s.UpdatedMs), s.By, definition.YAML(s.Definition))
			return err
		})
	c.Flags().IntVar(&version, "version", 0, "the `version`; 0 is the newest")
	return c
}

func (a *app) sagaVersions() *cobra.Command {
	return a.onSaga("versions", "List the versions of a saga, newest first", "versions order",
		func(ctx context.Context, n *client.Client, name string, _ []string) error {
			list, err := n.SagaVersions(ctx, a.tenant(), name)
			if err != nil {
				return err
			}
			return a.print(list, func(t *table) {
				t.row("VERSION", "UPDATED", "BY", "HASH", "SUMMARY")
				for _, s := range list.Sagas {
					t.row(s.Version, clock(s.UpdatedMs), s.By, short(s.Hash), s.Summary)
				}
			})
		})
}

func (a *app) sagaDelete() *cobra.Command {
	force := false
	c := a.onSaga("delete", "Delete a saga with all its versions and instances", "delete order",
		func(ctx context.Context, n *client.Client, name string, _ []string) error {
			out, err := n.DeleteSaga(ctx, a.tenant(), name, force)
			if errors.Is(err, domain.ErrConflict) && !force {
				return fmt.Errorf("%w (--force)", err)
			}
			if err != nil {
				return err
			}
			return a.print(out, func(t *table) {
				t.row(fmt.Sprintf("%s is deleted, versions: %d, instances: %d, dead letters: %d", out.Saga, out.Versions, out.Instances, out.DeadLetters))
			})
		})
	c.Flags().BoolVar(&force, "force", false, "with instances that have not ended, whose work is not done, and all dead letters of it")
	return c
}

func (a *app) sagaDiff() *cobra.Command {
	from, to := 0, 0
	c := a.onSaga("diff [FILE]", "Say what differs between versions, or from the newest to a file", "diff order\n  ramet saga diff order order.yaml",
		func(ctx context.Context, n *client.Client, name string, args []string) error {
			if len(args) == 0 {
				d, err := n.DiffSaga(ctx, a.tenant(), name, from, to)
				if err != nil {
					return err
				}
				return a.printChanges(d, d.Changes)
			}
			if to != 0 {
				return domain.Invalidf("--to and a file: want one of them")
			}
			d, err := a.readSaga(args[0])
			if err != nil {
				return a.faults(err)
			}
			s, err := n.Saga(ctx, a.tenant(), name, from)
			if err != nil {
				return err
			}
			out := api.SagaChanges{From: s.DocumentEntry, To: domain.DocumentEntry{Name: d.Name, Hash: definition.Hash(d), Summary: d.Summary},
				Changes: definition.Diff(s.Definition, d)}
			return a.printChanges(out, out.Changes)
		})
	c.ValidArgsFunction = nil // a file
	c.Flags().IntVar(&from, "from", 0, "the `version` that was; 0 is the one before, or with a file the newest")
	c.Flags().IntVar(&to, "to", 0, "the `version` that is; 0 is the newest")
	return c
}

func (a *app) sagaSchema() *cobra.Command {
	tests := false
	c := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of a saga's file, for editors", Args: cobra.NoArgs,
		Example: "  ramet saga schema >saga.schema.json",
		RunE: func(*cobra.Command, []string) error {
			schema := definition.Schema()
			if tests {
				schema = sagatest.Schema()
			}
			_, err := a.std.Out.Write(schema)
			return err
		},
	}
	c.Flags().BoolVar(&tests, "tests", false, "that of a file for ramet saga test")
	return c
}
