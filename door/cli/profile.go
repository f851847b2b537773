package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/client/failover"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/internal/whole"
)

// profile is where commands go and as whom, under a name.
type profile struct {
	Node    string `yaml:"node,omitempty" json:"node,omitempty"`
	Data    string `yaml:"data,omitempty" json:"data,omitempty"`
	Key     string `yaml:"key,omitempty" json:"key,omitempty"`
	Context string `yaml:"context,omitempty" json:"context,omitempty"`
}

// profiles are a person's.
type profiles struct {
	// Current is the one that is used where none is named; "": none.
	Current  string             `yaml:"current,omitempty"`
	Profiles map[string]profile `yaml:"profiles"`
}

// noProfile is what `profile use` calls none.
const noProfile = "none"

// withoutProfile marks commands about profiles themselves.
const withoutProfile = "without_profile"

// profilesFile is where profiles are kept, for their user alone.
func profilesFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", domain.Invalidf("profiles: %v", err)
	}
	return filepath.Join(dir, "ramet", "profiles.yaml"), nil
}

// readProfiles reads them; where there is no file there are none.
func readProfiles() (p profiles, err error) {
	path, err := profilesFile()
	if err != nil {
		return p, err
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, nil
	case err != nil:
		return p, fileError(err)
	}
	if err := intake.YAML(text, &p, intake.Limits{}); err != nil {
		return p, domain.Invalidf("profiles: %s: %v", path, err)
	}
	return p, nil
}

// write puts them in the place of what was there, whole or not at all.
func (p profiles) write() error {
	path, err := profilesFile()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fileError(err)
	}
	if err := whole.Write(path, text, 0o600); err != nil {
		return fileError(err)
	}
	return nil
}

// named is the profile of a name.
//
// Errors: [domain.ErrNotFound] with what may be meant.
func (p profiles) named(name string) (profile, error) {
	one, ok := p.Profiles[name]
	if ok {
		return one, nil
	}
	if near := domain.Nearest(name, slices.Collect(maps.Keys(p.Profiles))); near != "" {
		return one, domain.NotFoundf("there is no profile %q; did you mean %q?", name, near)
	}
	return one, domain.NotFoundf("there is no profile %q; `ramet profile list` shows those that there are", name)
}

// useProfile has the command go where its profile says. What is typed goes before a
// profile, one that is named with --profile before the environment, and that before one
// that is merely in use.
func (a *app) useProfile(c *cobra.Command) error {
	typed := c.Flags().Changed("profile")
	for p := c; p != nil; p = p.Parent() {
		switch {
		case p.Annotations[withoutProfile]+p.Annotations[ownNode] == "":
		case typed:
			return domain.Invalidf("--profile is for commands that talk to a node; `%s` wants --data", c.CommandPath())
		default:
			return nil
		}
	}
	elsewhere := c.Flags().Changed("node") || c.Flags().Changed("data")
	if !typed && (elsewhere || os.Getenv("RAMET_NODE") != "" || os.Getenv("RAMET_DATA") != "") {
		return nil
	}
	all, err := readProfiles()
	name := cmp.Or(a.profile, all.Current)
	if err != nil || name == "" || name == noProfile {
		return err
	}
	p, err := all.named(name)
	if err != nil {
		return err
	}
	use := func(flag string, value *string, is string) {
		if is != "" && !c.Flags().Changed(flag) {
			*value = is
		}
	}
	if !elsewhere {
		a.node = p.Node
		use("data", &a.data, p.Data)
	}
	use("key", &a.key, p.Key)
	use("context", &a.context, p.Context)
	return nil
}

func (a *app) profileCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the profiles; the one in use has a *", Args: cobra.NoArgs,
		Example: "  ramet profile list",
		RunE: func(*cobra.Command, []string) error {
			all, err := readProfiles()
			if err != nil {
				return err
			}
			type shown struct {
				Name string `json:"name"`
				Used bool   `json:"used"`
				profile
			}
			out := struct {
				Profiles []shown `json:"profiles"`
			}{Profiles: []shown{}}
			for _, name := range slices.Sorted(maps.Keys(all.Profiles)) {
				out.Profiles = append(out.Profiles, shown{name, name == all.Current, all.Profiles[name]})
			}
			return a.print(out, func(t *table) {
				t.row("USED", "PROFILE", "NODE", "CONTEXT", "KEY")
				for _, p := range out.Profiles {
					used := ""
					if p.Used {
						used = "*"
					}
					t.row(used, p.Name, cmp.Or(p.Node, p.Data), p.Context, p.Key)
				}
			})
		},
	}
	c := noun("profile", "Keep nodes, keys and contexts under names", a.profileAdd(), list, a.profileUse(), a.profileRemove())
	c.Long = `Keep nodes, keys and contexts under names, in a file of your own. A command goes where --profile says, else where $RAMET_NODE or $RAMET_DATA
say, else where $RAMET_PROFILE or the profile in use say. What is typed (--node, --data, --key, --context) goes before all of them.`
	c.Annotations = map[string]string{withoutProfile: "yes"}
	return c
}

func (a *app) profileAdd() *cobra.Command {
	return &cobra.Command{
		Use: "add NAME", Short: "Keep --node or --data, --key and --context as they are typed under a name", Args: cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		Example:           "  ramet profile add prod --node https://ramet.example.com:7480#node-1 --key ~/keys/me.key --context sales\n  ramet profile use prod",
		RunE: func(c *cobra.Command, args []string) (err error) {
			name := args[0]
			if err := domain.ValidateName("profile", name); err != nil {
				return err
			}
			var p profile
			for flag, value := range map[string]*string{"node": &p.Node, "data": &p.Data, "key": &p.Key, "context": &p.Context} {
				if f := c.Flags().Lookup(flag); f.Changed {
					*value = f.Value.String()
				}
			}
			if p == (profile{}) {
				return domain.Invalidf("profile %q would say nothing: give --node or --data, --key, --context", name)
			}
			for _, n := range failover.Addresses(p.Node) {
				u, err := url.Parse(n.URL)
				if p.Node != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil) {
					return domain.Invalidf("--node %q: want http:// or https://, a host and its port, as in https://host:7480#name", domain.HideURL(n.URL))
				}
			}
			for _, path := range []*string{&p.Data, &p.Key} { // commands are given elsewhere, too
				if *path != "" {
					if *path, err = filepath.Abs(*path); err != nil {
						return fileError(err)
					}
				}
			}
			if err := a.checkKey(); err != nil {
				return err
			}
			all, err := readProfiles()
			if err != nil {
				return err
			}
			if _, there := all.Profiles[name]; there || name == noProfile {
				return domain.Conflictf("there is a profile %q; `ramet profile remove %s` first, or choose another name", name, name)
			}
			if all.Profiles == nil {
				all.Profiles = map[string]profile{}
			}
			all.Profiles[name] = p
			return all.write()
		},
	}
}

func (a *app) profileUse() *cobra.Command {
	return &cobra.Command{
		Use: "use NAME", Short: "Have commands use a profile where none is named; none is no profile", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeProfiles,
		Example:           "  ramet profile use prod\n  ramet profile use none",
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := readProfiles()
			if err != nil {
				return err
			}
			if all.Current = args[0]; all.Current == noProfile {
				all.Current = ""
			} else if _, err := all.named(all.Current); err != nil {
				return err
			}
			return all.write()
		},
	}
}

func (a *app) profileRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Forget a profile; its key file stays", Args: cobra.ExactArgs(1),
		ValidArgsFunction: completeProfiles,
		Example:           "  ramet profile remove prod",
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := readProfiles()
			if err != nil {
				return err
			}
			if _, err := all.named(args[0]); err != nil {
				return err
			}
			delete(all.Profiles, args[0])
			if all.Current == args[0] {
				all.Current = ""
			}
			return all.write()
		},
	}
}

// completeProfiles has a shell complete names of profiles.
func completeProfiles(_ *cobra.Command, args []string, begun string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	all, err := readProfiles()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, name := range slices.Sorted(maps.Keys(all.Profiles)) {
		if strings.HasPrefix(name, begun) {
			names = append(names, cobra.CompletionWithDesc(name, fmt.Sprint(cmp.Or(all.Profiles[name].Node, all.Profiles[name].Data))))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
