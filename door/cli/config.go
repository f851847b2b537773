package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/setting"
)

// describe gives the flags of a set that say nothing of themselves the words of the table
// of settings.
func describe(f *pflag.FlagSet) {
	f.VisitAll(func(one *pflag.Flag) {
		if one.Usage != "" {
			return
		}
		shown := one.DefValue != "" && one.DefValue != "0" && one.DefValue != "0s" && one.DefValue != "false" && one.DefValue != "[]"
		one.Usage = setting.ByFlag(one.Name).Usage(shown)
	})
}

func (a *app) configCommand() *cobra.Command {
	example := &cobra.Command{
		Use: "example", Short: "Print a config file with every setting, each as a remark", Args: cobra.NoArgs,
		Example: "  ramet config example > ramet.yaml",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.std.Out, setting.ExampleFile())
			return err
		},
	}
	c := noun("config", "Show and check what a node would be started with", a.configShow(), a.configCheck(), example)
	c.Annotations = map[string]string{ownNode: "yes"}
	return c
}

// configFlags gives a command the flags of `ramet serve` that are settings. Like there
// they go before environment and file.
func configFlags(c *cobra.Command) {
	f := c.Flags()
	for _, s := range setting.All() {
		switch {
		case s.Flag == "" || s.Key == "" || s.Flag == "board" || s.Flag == "archive" || s.Flag == "isolation": // those are every command's
			continue
		case s.Kind == setting.Switch:
			f.Bool(s.Flag, false, "")
		case s.Kind == setting.List, s.Kind == setting.Map:
			f.StringArray(s.Flag, nil, "")
		case s.Kind == setting.Duration:
			f.Duration(s.Flag, 0, "")
		case s.Kind == setting.Number:
			f.Uint32(s.Flag, 0, "")
		default:
			f.String(s.Flag, "", "")
		}
	}
	describe(f)
}

// given are the settings that flags give.
func given(c *cobra.Command) (list []setting.Given) {
	for _, s := range setting.All() {
		f := c.Flags().Lookup(s.Flag)
		if s.Key == "" || f == nil || !f.Changed {
			continue
		}
		text := f.Value.String()
		if several, ok := f.Value.(pflag.SliceValue); ok {
			text = strings.Join(several.GetSlice(), " ")
		}
		list = append(list, setting.Given{Flag: s.Flag, Text: text})
	}
	return list
}

// errNoConfig is for programs that are no node.
func errNoConfig() error {
	return domain.Invalidf("this program cannot run a node, and reads no config file")
}

func (a *app) configShow() *cobra.Command {
	var changed bool
	c := &cobra.Command{
		Use: "show", Short: "Show every setting, and where its value comes from", Args: cobra.NoArgs,
		Long: `Show what a node would be started with: every setting and where its value comes from. A flag goes before the environment, that before
the file, and that before the default. Give the flags that you give to ` + "`ramet serve`" + `. Passwords are hidden.`,
		Example: "  ramet config show --config /etc/ramet/ramet.yaml\n  ramet config show --changed --grace 1m -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			if a.hooks.Config == nil {
				return errNoConfig()
			}
			read, err := a.hooks.Config(a.config, a.lookUp, given(c))
			if faults := (setting.Faults)(nil); errors.As(err, &faults) {
				return fmt.Errorf("%w; `ramet config check` says it line by line", err)
			} else if err != nil {
				return err
			}
			out := struct {
				Settings []setting.Value `json:"settings"`
			}{Settings: []setting.Value{}}
			for _, v := range read.Values() {
				if !changed || v.Source != "default" {
					out.Settings = append(out.Settings, v)
				}
			}
			return a.print(out, func(t *table) {
				t.row("SETTING", "VALUE", "SOURCE")
				for _, v := range out.Settings {
					t.row(v.Key, v.Value, v.Source)
				}
			})
		},
	}
	configFlags(c)
	c.Flags().BoolVar(&changed, "changed", false, "only those that are not as they are by default")
	return c
}

func (a *app) configCheck() *cobra.Command {
	return &cobra.Command{
		Use: "check [FILE]", Short: "Say all that is wrong with a config file, with the place", Args: cobra.MaximumNArgs(1),
		Long: `Say all that is wrong with a config file (by default that of --config), and with variables of the environment that stand for lines of it.
What a node of this machine would refuse to open, such as URLs and certificates, is looked at, too; nobody is called. It needs no node and changes
nothing. With a fault it ends with code 2.`,
		Example: "  ramet config check /etc/ramet/ramet.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if a.hooks.CheckConfig == nil {
				return errNoConfig()
			}
			file := a.config
			if len(args) > 0 {
				file = args[0]
			}
			err := a.hooks.CheckConfig(file, a.lookUp)
			out := struct {
				File   string         `json:"file,omitempty"`
				Faults setting.Faults `json:"faults"`
			}{file, setting.Faults{}}
			if err != nil && !errors.As(err, &out.Faults) {
				return err
			}
			out.Faults = append(out.Faults, unknownVariables(os.Environ())...)
			if err := a.print(out, func(t *table) {
				for _, f := range out.Faults {
					t.wide(f)
				}
			}); err != nil {
				return err
			}
			if n := len(out.Faults); n > 0 {
				return &exitError{code: exitCode(domain.ErrInvalid), text: fmt.Sprintf("faults: %d", n)}
			}
			return nil
		},
	}
}

// unknownVariables are faults of variables of the environment that are nearly called like
// one that is a setting: RAMET_LAESE does nothing, and says nothing.
func unknownVariables(environ []string) (faults setting.Faults) {
	var known []string
	for _, s := range setting.All() {
		if v := s.Variable(); v != "" {
			known = append(known, v)
		}
	}
	for _, line := range environ {
		name, _, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(name, "RAMET_") {
			continue
		}
		if near := domain.Nearest(name, known); near != "" && near != name && len(near)-len(name) <= 2 {
			faults = append(faults, setting.Fault{Place: "$" + name, Text: fmt.Sprintf("no setting has this variable; did you mean $%s?", near)})
		}
	}
	return faults
}
