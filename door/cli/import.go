package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/whole"
	"github.com/ramet-run/ramet/migrate"
)

func (a *app) importCommand() *cobra.Command {
	folder := ""
	c := &cobra.Command{
		Use: "import FORMAT FILE|-", Short: "Turn what another program runs by into blueprints and schedules", Args: cobra.ExactArgs(2),
		Example: "  crontab -l | ramet import crontab -\n  ramet import dagu nightly.yaml --write blueprints",
		RunE: func(_ *cobra.Command, args []string) error {
			return a.importAs(args[0], args[1], folder)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return migrate.Formats(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().StringVar(&folder, "write", "", "write each into a file of its own in that `folder`, and nothing over what is there")
	c.Long = c.Short + `. FORMAT is crontab (of a user), crontab-system (of /etc, whose lines name a user), dagu, github-actions, conductor (JSON), or
tascreed (JSON). What was not understood, and what means something else here, is said on standard error, by line. No node is needed: look at what comes out,
and apply it.`
	return c
}

func (a *app) blueprintImport() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Turn a job define of TasCreed (JSON) into a blueprint; see ramet import", Args: cobra.ExactArgs(1),
		Example: "  ramet blueprint import define.json >nightly.yaml",
		RunE:    func(_ *cobra.Command, args []string) error { return a.importAs("tascreed", args[0], "") },
	}
}

// importAs imports a file of a format.
func (a *app) importAs(format, file, folder string) error {
	text, err := a.readInput(file, migrate.MaxBytes)
	if err != nil {
		return err
	}
	in, err := migrate.Import(format, file, text)
	if err != nil {
		return a.faults(err)
	}
	for _, n := range in.Notes {
		where := ""
		if n.Line > 0 {
			where = fmt.Sprintf("%s:%d: ", file, n.Line)
		}
		a.complain(visible(where + n.Text))
	}
	switch {
	case folder != "":
		return a.writeImported(in, folder)
	case a.output != outTable:
		return a.print(in, nil)
	}
	for i, b := range in.Blueprints {
		if i > 0 {
			fmt.Fprintln(a.std.Out, "---")
		}
		if _, err := a.std.Out.Write(blueprint.YAML(b)); err != nil {
			return err
		}
	}
	for i := range in.Schedules {
		if _, err := fmt.Fprintf(a.std.Out, "--- # a schedule\n%s", scheduleText(&in.Schedules[i])); err != nil {
			return err
		}
	}
	return nil
}

// scheduleText is a schedule as a file that can be applied.
func scheduleText(s *domain.Schedule) []byte {
	shown := struct {
		Name      string `json:"name"`
		Blueprint string `json:"blueprint"`
		Cron      string `json:"cron"`
		Zone      string `json:"zone,omitzero"`

		Overlap domain.Overlap `json:"overlap,omitzero"`
		CatchUp *domain.Span   `json:"catch_up,omitzero"`
	}{s.Name, s.Blueprint, s.Cron, s.Zone, s.Overlap, s.CatchUp}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(shown); err != nil {
		panic("BUG: a schedule cannot be written as JSON: " + err.Error())
	}
	return document.YAML(text.Bytes())
}

// writeImported writes files into a folder: what is there stays as it is.
func (a *app) writeImported(in *migrate.Imported, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fileError(err)
	}
	write := func(name string, text []byte) error {
		path := filepath.Join(folder, name)
		err := whole.Create(path, text, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return domain.Conflictf("%s is there already, and nothing is written over it; move it away, or choose another folder", path)
		} else if err != nil {
			return fileError(err)
		}
		fmt.Fprintln(a.std.Out, path)
		return nil
	}
	for _, b := range in.Blueprints {
		if err := write(b.Name+".yaml", blueprint.YAML(b)); err != nil {
			return err
		}
	}
	order := "apply them: ramet blueprint apply"
	for _, b := range in.Blueprints {
		order += " " + filepath.Join(folder, b.Name+".yaml")
	}
	for i := range in.Schedules {
		s := &in.Schedules[i]
		if i == 0 {
			order += ", and only then ramet schedule apply"
		}
		order += " " + filepath.Join(folder, s.Name+".schedule.yaml")
		if err := write(s.Name+".schedule.yaml", scheduleText(s)); err != nil {
			return err
		}
	}
	a.complain(visible(order))
	return nil
}
