package cli

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ramet-run/ramet/domain"
)

// ListenNone is what --listen says where a node is to be reached by its socket alone.
const ListenNone = "none"

func (a *app) serveCommand() *cobra.Command {
	var runner uint32
	var labels map[string]string
	var circles, buses []string
	var streams string
	var mayLose, acceptLoss, dev bool
	var c *cobra.Command
	c = a.serving(&cobra.Command{
		Use: "serve", Short: "Run a node until it is told to stop", Args: cobra.NoArgs,
		Long: `Run a node on --data until it gets SIGTERM or Ctrl-C; it then lets running jobs go on for --grace.

It always listens on a socket in its data folder, for this user, and on the loopback, where ` + "`ramet console`" + ` leads a browser in. --listen names another
address over TCP, where every request needs a token; --listen none leaves TCP away.`,
		Example: "  ramet serve --data /var/lib/ramet\n  ramet serve --board redis://localhost:6379 --listen :7480\n  ramet serve --circle friends",
	}, func(o *ServeOptions, _ []string) (err error) {
		o.RunnerID, o.Labels, o.Buses = domain.RunnerID(runner), labels, buses
		a.fromVariable(c, "stream", &streams)
		if !c.Flags().Changed("bus") {
			o.Buses = strings.Fields(a.variable("bus"))
		}
		o.Stream, o.MayLose, o.AcceptLoss, o.Dev = streams, mayLose, acceptLoss, dev
		if o.Dev {
			if err := a.forDev(o); err != nil {
				return err
			}
		}
		if err := o.Labels.Validate(); err != nil {
			return fmt.Errorf("--label: %w", err)
		}
		o.Circles, err = a.servedCircles(circles)
		return err
	})
	f := c.Flags()
	f.Uint32Var(&runner, "runner-id", 0, "")
	f.StringArrayVar(&buses, "bus", nil, "")
	f.StringVar(&streams, "stream", "", "")
	f.BoolVar(&mayLose, "may-lose", false, "")
	f.BoolVar(&acceptLoss, "accept-loss", false, "")
	f.StringToStringVar(&labels, "label", nil, "")
	f.StringArrayVar(&circles, "circle", nil, "")
	f.BoolVar(&dev, "dev", false, "")
	describe(f)
	return c
}

// forDev settles what a node for development is: with a board of its own, which its samples
// and faults concern alone, and reached from this machine only.
//
// Errors: [domain.ErrInvalid].
func (a *app) forDev(o *ServeOptions) error {
	if a.board != "" {
		return domain.Invalidf("--dev wants a board of its own: leave --board away")
	}
	if o.Listen != "" {
		host, _, err := net.SplitHostPort(o.Listen)
		if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return domain.Invalidf("--dev is for this machine only: --listen 127.0.0.1:PORT, or leave it away")
		}
	}
	if !a.dataGiven && os.Getenv("RAMET_DATA") == "" {
		a.data += "-dev"
	}
	o.Opened = func(url string) {
		fmt.Fprintf(a.std.Err, "\nThe console, for one browser, within two minutes:\n\n  %s\n\nCommands find this node with\n\n  export RAMET_DATA=%s\n\n",
			url, a.data)
	}
	return nil
}

// serving makes c a command that runs a node. prepare fills in what the flags
// and arguments of c say.
func (a *app) serving(c *cobra.Command, prepare func(o *ServeOptions, args []string) error) *cobra.Command {
	c.Annotations = map[string]string{ownNode: "yes"}
	var o ServeOptions
	format, level := "text", slog.LevelInfo
	o.LogLevel = &slog.LevelVar{}
	c.RunE = func(c *cobra.Command, args []string) error {
		if a.hooks.Serve == nil {
			return domain.Invalidf("this program cannot run a node")
		}
		if a.nodeGiven {
			return domain.Invalidf("--node is for commands that talk to a node; %s wants --data", c.Name())
		}
		if err := CheckAddress("--listen", o.Listen); err != nil {
			return err
		}
		if o.Grace < 0 || o.Lease < 0 {
			return domain.Invalidf("--grace and --lease: want a positive duration such as 30s")
		}
		if err := prepare(&o, args); err != nil {
			return err
		}
		o.LogLevel.Set(level)
		logger, err := a.logger(format, o.LogLevel)
		if err != nil {
			return err
		}
		o.DataDir, o.Socket, o.BoardURL, o.ConfigFile = a.data, SocketPath(a.data), a.board, a.config
		o.ArchiveURL, o.Logger, o.KeyFile, o.Isolation = a.archive, logger, a.key, a.isolation
		if err := makeDirs(o.DataDir, o.Socket); err != nil {
			return err
		}
		return a.hooks.Serve(c.Context(), o)
	}
	f := c.Flags()
	f.StringVar(&o.Listen, "listen", "", "")
	f.StringVar(&o.RESP, "resp", "", "")
	f.StringVar(&o.TLSCert, "tls-cert", "", "")
	f.StringVar(&o.TLSKey, "tls-key", "", "")
	f.StringVar(&o.Name, "name", "", "")
	f.DurationVar(&o.Grace, "grace", 0, "")
	f.DurationVar(&o.Lease, "lease", 0, "")
	describe(f)
	f.StringVar(&format, "log-format", format, "text or json")
	f.TextVar(&level, "log-level", level, "debug, info, warn or error")
	return c
}

// CheckListen checks what is said about TCP, by flags and config file together, before
// anything is opened.
//
// Errors: [domain.ErrInvalid].
func (o ServeOptions) CheckListen() error {
	if (o.Listen == "" || o.Listen == ListenNone) && (o.TLSCert != "" || o.TLSKey != "") && o.RESP == "" {
		return domain.Invalidf("--tls-cert and --tls-key are for --listen, which is missing")
	}
	return CheckAddress("--listen", o.Listen)
}

// CheckAddress checks what is to be listened on; what says what asks for it.
//
// Errors: [domain.ErrInvalid].
func CheckAddress(what, address string) error {
	if address == "" || address == ListenNone {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return domain.Invalidf("%s %q: want host:port or :port, for example :7480, or none", what, domain.HideURL(address))
	}
	return nil
}

// logger writes what happens to the standard error.
func (a *app) logger(format string, level slog.Leveler) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(a.std.Err, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(bare(a.std.Err), o)), nil
	}
	return nil, domain.Invalidf("--log-format %q: want text or json", format)
}
