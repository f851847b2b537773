package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/blueprint/trial"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) blueprintCommand() *cobra.Command {
	c := noun("blueprint", "Check, store, compare and draw the templates of flows", a.blueprintApply(), a.blueprintCheck(), a.blueprintList(),
		a.blueprintShow(), a.blueprintVersions(), a.blueprintDiff(), a.blueprintGraph(), a.blueprintDelete(), a.blueprintSchema(), a.blueprintTest(),
		a.blueprintImport())
	c.Long = `Check, store, compare and draw the templates of flows. A blueprint's FILE is YAML or JSON, and - is what is piped in; what has no dot or slash is the
NAME of one that is stored.`
	return c
}

// isFile tells a file from the name of a blueprint, which has no such letters.
func isFile(arg string) bool { return arg == "-" || strings.ContainsAny(arg, `./\`) }

// readBlueprint reads a file. Scripts' files are read only next to one, not
// for what is piped in.
//
// Errors: *[blueprint.Error].
func (a *app) readBlueprint(file string) (*domain.Blueprint, error) {
	if file != "-" {
		return blueprint.ParseFile(file)
	}
	text, err := a.readInput(file, domain.MaxBlueprintBytes)
	if err != nil {
		return nil, err
	}
	return blueprint.Parse("stdin", text)
}

// faults writes an error of many lines as such, and leaves the last to say how
// many there are.
func (a *app) faults(err error) error {
	lines := []string{}
	document, answer := (*blueprint.Error)(nil), (*client.Error)(nil)
	switch {
	case errors.As(err, &document):
		lines = document.Lines()
	case errors.As(err, &answer) && len(answer.Problem.Faults) > 0:
		lines = (&blueprint.Error{Faults: answer.Problem.Faults}).Lines()
	}
	if len(lines) < 2 {
		return err
	}
	for _, line := range lines {
		fmt.Fprintln(a.std.Err, visible(line))
	}
	return domain.Invalidf("%d things are wrong", len(lines))
}

func (a *app) blueprintApply() *cobra.Command {
	c := &cobra.Command{
		Use: "apply FILE...", Short: "Store blueprints, each as the newest version of its name", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, files []string) error {
			list := make([]*domain.Blueprint, len(files))
			for i, file := range files {
				b, err := a.readBlueprint(file)
				if err != nil {
					return a.faults(err)
				}
				list[i] = b
			}
			return a.with(c.Context(), func(n *client.Client) error { return a.applyBlueprints(c.Context(), n, list) })
		},
	}
	c.Long = c.Short + `. Nothing is stored before all files are right. Where the newest version has the same content, it stays; flows that run
keep the version they were made from. A version in the file must be greater than the newest; without one it is the next.`
	return c
}

func (a *app) applyBlueprints(ctx context.Context, n *client.Client, list []*domain.Blueprint) error {
	out := []api.BlueprintApplied{}
	for _, b := range list {
		done, err := n.ApplyBlueprint(ctx, a.tenant(), b)
		if err != nil {
			return a.faults(err)
		}
		a.warn(b.Name, blueprint.Warnings(b))
		out = append(out, done)
	}
	return a.print(map[string]any{"blueprints": out}, func(t *table) {
		t.row("NAME", "VERSION", "HASH", "")
		for _, b := range out {
			what := "stored"
			if b.Existing {
				what = "unchanged"
			}
			t.row(b.Name, b.Version, b.Hash[:min(12, len(b.Hash))], what)
		}
	})
}

// checked is what check says of a file.
type checked struct {
	File   string         `json:"file"`
	Name   string         `json:"name,omitzero"`
	Steps  int            `json:"steps,omitzero"`
	States int            `json:"states,omitzero"`
	Hash   string         `json:"hash,omitzero"`
	Faults []domain.Fault `json:"faults,omitzero"`
	// Warnings are what is not wrong but may not be meant.
	Warnings []domain.Fault `json:"warnings,omitzero"`
}

func (a *app) blueprintCheck() *cobra.Command {
	c := &cobra.Command{
		Use: "check FILE...", Short: "Say what is wrong with blueprints, without a node", Args: cobra.MinimumNArgs(1),
		Example: "  ramet blueprint check nightly.yaml",
		RunE: func(_ *cobra.Command, files []string) error {
			return a.checkFiles(files, func(file string) (checked, string, error) {
				b, err := a.readBlueprint(file)
				if err == nil {
					if wrong := blueprint.Storable(b); wrong != nil {
						err = document.NewError(file, []domain.Fault{{Text: wrong.Error()}})
					}
				}
				if err != nil {
					return checked{}, "", err
				}
				return checked{Name: b.Name, Steps: len(b.Steps), Hash: blueprint.Hash(b), Warnings: blueprint.Warnings(b)}, fmt.Sprintf("%d steps", len(b.Steps)), nil
			})
		},
	}
	c.Long = c.Short + `. Each fault is a line, file:line:column: path: what is wrong.`
	return c
}

// checkFiles says what is wrong with files; read gives what is said of one, and
// what there is in it.
func (a *app) checkFiles(files []string, read func(file string) (_ checked, has string, err error)) error {
	all, says, lines := []checked{}, []string{}, []string{}
	for _, file := range files {
		c, has, err := read(file)
		wrong := (*document.Error)(nil)
		switch {
		case errors.As(err, &wrong):
			c.Faults = wrong.Faults
			lines = append(lines, wrong.Lines()...)
		case err != nil:
			return err
		}
		c.File = file
		all, says = append(all, c), append(says, has)
	}
	err := a.print(map[string]any{"files": all}, func(t *table) {
		for i, f := range all {
			if len(f.Faults) == 0 {
				t.row(f.File, f.Name, says[i], "right")
			}
		}
	})
	for _, f := range all {
		a.warn(f.File, f.Warnings)
	}
	switch {
	case err != nil || len(lines) == 0:
		return err
	case len(lines) == 1:
		return domain.Invalidf("%s", lines[0])
	}
	for _, line := range lines {
		fmt.Fprintln(a.std.Err, visible(line))
	}
	return domain.Invalidf("%d things are wrong", len(lines))
}

// warn writes warnings about what has a name.
func (a *app) warn(name string, list []domain.Fault) {
	for _, f := range list {
		sign := ": "
		if f.Line > 0 {
			sign = ":"
		}
		fmt.Fprintln(a.std.Err, visible(name+sign+f.String()+" (warning)"))
	}
}

func (a *app) blueprintList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the blueprints of a context", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				list, err := n.Blueprints(c.Context(), a.tenant())
				if err != nil {
					return err
				}
				return a.print(list, func(t *table) {
					t.row("NAME", "VERSION", "UPDATED", "BY", "SUMMARY")
					for _, b := range list.Blueprints {
						t.row(b.Name, b.Version, clock(b.UpdatedMs), b.By, b.Summary)
					}
				})
			})
		},
	}
}

// onBlueprint is a verb about one that is stored.
func (a *app) onBlueprint(use, short string, do func(ctx context.Context, n *client.Client, name string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if err := domain.ValidateName("blueprint", args[0]); err != nil {
				return err
			}
			return a.with(c.Context(), func(n *client.Client) error { return do(c.Context(), n, args[0]) })
		},
	}
}

func (a *app) blueprintShow() *cobra.Command {
	version := 0
	c := a.onBlueprint("show", "Show a blueprint as a file that can be applied again", func(ctx context.Context, n *client.Client, name string) error {
		s, err := n.Blueprint(ctx, a.tenant(), name, version)
		if err != nil {
			return err
		}
		if a.output != outTable {
			return a.print(s, nil)
		}
		s.Blueprint.Version = 0 // it is the next when it is applied again
		_, err = fmt.Fprintf(a.std.Out, "# version %d of %s, by actor %d\n%s", s.Version, clock(s.UpdatedMs), s.By, blueprint.YAML(&s.Blueprint))
		return err
	})
	c.Flags().IntVar(&version, "version", 0, "the `version`; 0 is the newest")
	return c
}

func (a *app) blueprintVersions() *cobra.Command {
	return a.onBlueprint("versions", "List the versions of a blueprint, newest first", func(ctx context.Context, n *client.Client, name string) error {
		list, err := n.BlueprintVersions(ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.print(list, func(t *table) {
			t.row("VERSION", "UPDATED", "BY", "HASH", "SUMMARY")
			for _, b := range list.Blueprints {
				t.row(b.Version, clock(b.UpdatedMs), b.By, b.Hash[:min(12, len(b.Hash))], b.Summary)
			}
		})
	})
}

func (a *app) blueprintDelete() *cobra.Command {
	return a.onBlueprint("delete", "Delete a blueprint with all versions; its flows go on", func(ctx context.Context, n *client.Client, name string) error {
		out, err := n.DeleteBlueprint(ctx, a.tenant(), name)
		if err != nil {
			return err
		}
		return a.print(out, func(t *table) { t.row(fmt.Sprintf("%s is deleted, versions: %d", out.Name, out.Versions)) })
	})
}

func (a *app) blueprintDiff() *cobra.Command {
	from, to := 0, 0
	c := &cobra.Command{
		Use: "diff NAME [FILE]", Short: "Say what differs between versions, or from the newest to a file", Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := domain.ValidateName("blueprint", args[0]); err != nil {
				return err
			}
			if len(args) == 1 {
				return a.with(c.Context(), func(n *client.Client) error {
					d, err := n.DiffBlueprint(c.Context(), a.tenant(), args[0], from, to)
					if err != nil {
						return err
					}
					return a.printChanges(d, d.Changes)
				})
			}
			if to != 0 {
				return domain.Invalidf("--to and a file: want one of them")
			}
			b, err := a.readBlueprint(args[1])
			if err != nil {
				return a.faults(err)
			}
			return a.with(c.Context(), func(n *client.Client) error {
				s, err := n.Blueprint(c.Context(), a.tenant(), args[0], from)
				if err != nil {
					return err
				}
				out := api.BlueprintChanges{From: s.DocumentEntry, To: domain.DocumentEntry{Name: b.Name, Hash: blueprint.Hash(b), Summary: b.Summary},
					Changes: append([]domain.DocumentChange{}, blueprint.Diff(&s.Blueprint, b)...)}
				return a.printChanges(out, out.Changes)
			})
		},
	}
	c.Flags().IntVar(&from, "from", 0, "the `version` that was; 0 is the one before, or with a file the newest")
	c.Flags().IntVar(&to, "to", 0, "the `version` that is; 0 is the newest")
	return c
}

// printChanges writes a difference; changes are those in it.
func (a *app) printChanges(diff any, changes []domain.DocumentChange) error {
	return a.print(diff, func(t *table) {
		if len(changes) == 0 {
			t.row("nothing differs")
		}
		for _, change := range changes {
			for line := range strings.SplitSeq(change.Text(), "\n") {
				t.wide(line)
			}
		}
	})
}

func (a *app) blueprintGraph() *cobra.Command {
	format, version := "", 0
	c := &cobra.Command{
		Use: "graph FILE|NAME", Short: "Draw the graph of a blueprint as Mermaid, DOT or SVG", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !isFile(args[0]) {
				return a.with(c.Context(), func(n *client.Client) error {
					s, err := n.Blueprint(c.Context(), a.tenant(), args[0], version)
					if err != nil {
						return err
					}
					return a.draw(blueprint.NewGraph(&s.Blueprint), format)
				})
			}
			b, err := a.readBlueprint(args[0])
			if err != nil {
				return a.faults(err)
			}
			return a.draw(blueprint.NewGraph(b), format)
		},
	}
	c.Flags().StringVar(&format, "format", "mermaid", "mermaid, dot or svg")
	c.Flags().IntVar(&version, "version", 0, "the `version` of one that is stored; 0 is the newest")
	c.Long = c.Short + `. With -o json or yaml it is the nodes and edges themselves.`
	c.Example = "  ramet blueprint graph nightly.yaml --format svg >nightly.svg"
	return c
}

// draw writes a graph.
func (a *app) draw(g *domain.Graph, format string) error {
	if a.output != outTable {
		return a.print(g, nil)
	}
	return blueprint.Draw(g, a.std.Out, format)
}

func (a *app) blueprintSchema() *cobra.Command {
	tests := false
	c := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of a blueprint's file, for editors", Args: cobra.NoArgs,
		Example: "  ramet blueprint schema >blueprint.schema.json",
		RunE: func(*cobra.Command, []string) error {
			schema := blueprint.Schema()
			if tests {
				schema = trial.Schema()
			}
			_, err := a.std.Out.Write(schema)
			return err
		},
	}
	c.Flags().BoolVar(&tests, "tests", false, "that of a file for ramet blueprint test")
	return c
}
