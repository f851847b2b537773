package cli

import (
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func (a *app) consoleCommand() *cobra.Command {
	open := false
	c := &cobra.Command{
		Use: "console", Short: "Make a link by which a browser signs in to the node's console, once", Args: cobra.NoArgs,
		Annotations: map[string]string{oneNode: "yes"},
		Long: `Make a link by which a browser signs in to the node's console, as who asks: the operator on the node's own machine, else the actor of --key.
It is good for two minutes and for one browser.`,
		Example: "  ramet console\n  ramet console --open\n  ramet console --node https://host:7480#nina --key alice.key",
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(n *client.Client) error {
				link, err := n.ConsoleLink(c.Context())
				if err != nil {
					return err
				}
				if link.URL, err = a.reachable(link.URL); err != nil {
					return err
				}
				if open {
					if err := openBrowser(link.URL); err != nil {
						a.complain(err.Error())
					}
				}
				if a.output == outTable {
					_, err := fmt.Fprintln(a.std.Out, link.URL) // whole, to be clicked and copied
					return err
				}
				return a.print(link, nil)
			})
		},
	}
	c.Flags().BoolVar(&open, "open", false, "open it in this machine's browser")
	return c
}

// linkPath is what every link of a console ends with. Nothing else is printed, and opened,
// that a node says.
var linkPath = regexp.MustCompile(`^(https?://[0-9A-Za-z.:\[\]-]+)?(/console/enter\?link=[0-9a-f]{64})$`)

// reachable is the link as it is reached from here: by the address of --node, where that is
// how this command reached the node.
//
// Errors: [domain.ErrUnavailable] where the node has no address for browsers, or none that
// is a console's.
func (a *app) reachable(url string) (string, error) {
	parts := linkPath.FindStringSubmatch(url)
	switch {
	case parts == nil:
		return "", domain.Unavailablef("the node answers with %q, which is no link to a console", url)
	case a.node != "":
		base, _, _ := strings.Cut(a.node, "#")
		return strings.TrimRight(base, "/") + parts[2], nil
	case parts[1] == "":
		return "", domain.Unavailablef("the node listens nowhere that a browser reaches: start it without --listen none, or with --listen HOST:PORT")
	}
	return url, nil
}

// openBrowser asks the desktop to show a page. What was started outlives the command.
func openBrowser(url string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if err := exec.Command(program, url).Start(); err != nil {
		return domain.Unavailablef("open a browser: %v; open the link by hand", err)
	}
	return nil
}
