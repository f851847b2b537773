package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/doctor"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// maxDutyFile bounds a file of rules.
const maxDutyFile = 1 << 20

func (a *app) dutyCommand() *cobra.Command {
	show := a.dutyVerb("show", "Show the rules by which nodes lose roles", cobra.NoArgs, func(c *cobra.Command, n *client.Client, _ []string) (api.Duty, error) {
		return n.Duty(c.Context())
	})
	set := a.dutyVerb("set FILE|-", "Put the rules of a file in place of those before", cobra.ExactArgs(1),
		func(c *cobra.Command, n *client.Client, args []string) (api.Duty, error) {
			var rules domain.Duties
			text, err := a.readInput(args[0], maxDutyFile)
			if err == nil {
				err = decodeFile(args[0], text, &rules)
			}
			if err != nil {
				return api.Duty{}, err
			}
			return n.SetDuty(c.Context(), rules)
		})
	clear := a.dutyVerb("clear", "Take all rules away: every node has all its roles", cobra.NoArgs,
		func(c *cobra.Command, n *client.Client, _ []string) (api.Duty, error) {
			return n.ClearDuty(c.Context())
		})
	c := noun("duty", "Take roles from nodes, by version or host", show, set, clear)
	c.Long = `Take roles from nodes, by version or host; what runs goes on. A file of rules:

  rules:
    - min_version: 1.4.0             # nodes that are older ...
      disable: [keeper, clockwork]   # ... lose these roles
    - not_host: "build-.*"           # a regular expression for the whole name
      disable: [runner]

Roles: runner, keeper, clockwork, supervisor, gateway, saga, effect.`
	return c
}

func (a *app) dutyVerb(use, short string, args cobra.PositionalArgs, do func(*cobra.Command, *client.Client, []string) (api.Duty, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				d, err := do(c, n, args)
				if err != nil {
					return err
				}
				return a.print(d, func(t *table) { dutyTable(t, d) })
			})
		},
	}
}

func dutyTable(t *table, d api.Duty) {
	t.row("RULE", "MIN VERSION", "HOST", "NOT HOST", "DISABLE")
	for i, r := range d.Rules {
		roles := make([]string, len(r.Disable))
		for j, role := range r.Disable {
			roles[j] = string(role)
		}
		t.row(i+1, r.MinVersion, r.Host, r.NotHost, strings.Join(roles, ", "))
	}
	for _, o := range d.Off {
		t.wide("this node is without " + string(o.Role) + ": " + doctor.OffText(o))
	}
}

// decodeFile reads a file of YAML or JSON whose fields have the names that
// they have in JSON.
//
// Errors: [domain.ErrInvalid] naming the file.
func decodeFile(name string, text []byte, into any) error {
	root, err := readDocument(name, text, "fields with names")
	if err != nil {
		return err
	}
	var v any
	if err := root.Decode(&v); err != nil {
		return domain.Invalidf("%s: %s", name, yamlText(err))
	}
	if _, ok := v.(map[string]any); !ok {
		return domain.Invalidf("%s: want fields with names", name)
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return domain.Invalidf("%s: %v", name, err)
	}
	if err := intake.Decode(plain, into, intake.Limits{Bytes: maxJobsFile}); err != nil {
		return domain.Invalidf("%s: %s", name, intake.Text(err))
	}
	return nil
}
