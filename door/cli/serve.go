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
	f.Uint32Var(&runner, "runner-id", 0, "its runner's `number` (default: remembered, at first the next free one)")
	f.StringArrayVar(&buses, "bus", nil, "`URL` of a bus to other sites, or @FILE that holds it: nats: (embedded), nats://host:4222, "+
		"mycelium:http://127.0.0.1:8989; may be repeated ($RAMET_BUS, with spaces between)")
	f.StringVar(&streams, "stream", "", "`URL` of the event streams of sagas, or @FILE that holds it: nats: (embedded), nats://host:4222, or off "+
		"(default: embedded with the embedded board, else off; $RAMET_STREAM)")
	f.BoolVar(&mayLose, "may-lose", false, "allow streams that may lose in a power cut what they have acknowledged, "+
		"and a Redis that throws keys away when its memory is full")
	f.BoolVar(&acceptLoss, "accept-loss", false, "open a data folder whose log is damaged, without what lies behind the damage; it is listed and kept aside. "+
		"Or go on with another board than was at --board before (a Redis or etcd that was emptied), or with other event streams than sagas have read")
	f.StringToStringVar(&labels, "label", nil, "`name=value` by which jobs choose the node; may be repeated")
	f.StringArrayVar(&circles, "circle", nil, "`NAME[=CONTEXT]` of a circle to serve too; may be repeated")
	f.BoolVar(&dev, "dev", false, "to try things out: in a folder of its own, with samples and a worker, a link into the console, "+
		"and buttons there that cause faults")
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
	var o ServeOptions
	format, level := "text", slog.LevelInfo
	c.RunE = func(c *cobra.Command, args []string) error {
		if a.hooks.Serve == nil {
			return domain.Invalidf("this program cannot run a node")
		}
		if a.nodeGiven {
			return domain.Invalidf("--node is for commands that talk to a node; %s wants --data", c.Name())
		}
		if err := o.checkListen(); err != nil {
			return err
		}
		if o.Grace < 0 || o.Lease < 0 {
			return domain.Invalidf("--grace and --lease: want a positive duration such as 30s")
		}
		if err := prepare(&o, args); err != nil {
			return err
		}
		logger, err := a.logger(format, level)
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
	f.StringVar(&o.Listen, "listen", "", "`address` to listen on over TCP, host:port, or none (default: the loopback only, for the console)")
	f.StringVar(&o.RESP, "resp", "", "`address` to listen on for clients of Redis, host:port or unix:PATH (default: none)")
	f.StringVar(&o.TLSCert, "tls-cert", "", "certificate `file` (PEM) for --listen and --resp")
	f.StringVar(&o.TLSKey, "tls-key", "", "its key `file` (PEM)")
	f.StringVar(&o.Name, "name", "", "the node's `name` (default: remembered, at first the host's)")
	f.DurationVar(&o.Grace, "grace", 0, "how long what runs may go on at the end (default: the config's, "+domain.DefaultGrace.String()+")")
	f.DurationVar(&o.Lease, "lease", 0, "length of a lease (default: the config's, "+domain.DefaultLease.String()+")")
	f.StringVar(&format, "log-format", format, "text or json")
	f.TextVar(&level, "log-level", level, "debug, info, warn or error")
	return c
}

// checkListen checks the flags about TCP before anything is opened.
//
// Errors: [domain.ErrInvalid].
func (o ServeOptions) checkListen() error {
	if o.Listen == "" || o.Listen == ListenNone {
		if (o.TLSCert != "" || o.TLSKey != "") && o.RESP == "" {
			return domain.Invalidf("--tls-cert and --tls-key are for --listen, which is missing")
		}
		return nil
	}
	_, port, err := net.SplitHostPort(o.Listen)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return domain.Invalidf("--listen %q: want host:port or :port, for example :7480, or none", domain.HideURL(o.Listen))
	}
	return nil
}

// logger writes what happens to the standard error.
func (a *app) logger(format string, level slog.Level) (*slog.Logger, error) {
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(a.std.Err, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(bare(a.std.Err), o)), nil
	}
	return nil, domain.Invalidf("--log-format %q: want text or json", format)
}
